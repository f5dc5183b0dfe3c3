package server

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/internal/sys/seqpacket"
	"github.com/tandem-mc/tandem/proxy/internal/protocol"
)

// receiveVisitor serves a visit to its end; what goes wrong is told to the visitor. It holds up
// commands: during a visit the daemon replaces the peers, and the checker waits for that.
func (s *Server) receiveVisitor(socket int) error {
	defer unix.Close(socket)
	s.reaping.Lock() // the peers may be dead for a while
	defer s.reaping.Unlock()
	for {
		m, err := protocol.ReceiveVisit(socket)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("a visit of the daemon: %w", err)
		}
		text := "" // of an error, as much as a message takes
		if err := s.obey(socket, m); err != nil {
			text = err.Error()[:min(len(err.Error()), protocol.MaxVisitMessage-1)]
		}
		if err := seqpacket.Send(socket, append([]byte{protocol.VisitDone}, text...), nil); err != nil &&
			!errors.Is(err, unix.EPIPE) {
			return fmt.Errorf("a visit of the daemon: %w", err)
		}
	}
}

// obey carries out one message of a visit. It takes over the descriptors, or closes them. See
// package protocol for what the messages mean, and their order.
func (s *Server) obey(socket int, m protocol.VisitMessage) error {
	switch {
	case m.Kind == protocol.VisitLook:
		sys.CloseAll(m.FDs)
		return tellLast(socket)
	case m.Kind == protocol.VisitShow:
		sys.CloseAll(m.FDs)
		return errors.Join(tellLast(socket), s.show(socket))
	case m.Kind == protocol.VisitReap:
		sys.CloseAll(m.FDs)
		if err := s.reapAll(); err != nil {
			return err
		}
		return giveAfter(m.PID)
	case m.Kind == protocol.VisitFrom:
		sys.CloseAll(m.FDs)
		return giveAfter(m.PID)
	case m.Kind == protocol.VisitEnter && len(m.FDs) == 2+len(m.IDs):
		// The network and the channel come first, and sockets after them.
		err := s.enter(m.FDs[0], m.FDs[1])
		sys.CloseAll(m.FDs[:2])
		if err != nil {
			sys.CloseAll(m.FDs[2:])
			return err
		}
		return s.adopt(m.IDs, m.FDs[2:])
	case m.Kind == protocol.VisitAdopt && len(m.FDs) == len(m.IDs):
		return s.adopt(m.IDs, m.FDs)
	}
	sys.CloseAll(m.FDs)
	return fmt.Errorf("a message of kind %q with %d descriptors", m.Kind, len(m.FDs))
}

// adopt takes over sockets, and closes those that it does not take. They are those of a checkpoint,
// with the IDs that they had. Those before the first that cannot be taken stay.
func (s *Server) adopt(ids []protocol.ID, fds []int) error {
	for n, id := range ids {
		if _, exists := s.sockets[id]; exists || len(s.sockets) >= protocol.MaxSockets {
			sys.CloseAll(fds[n:])
			return fmt.Errorf("socket %d cannot be adopted: there is one already, or %d in all", id,
				len(s.sockets))
		}
		s.sockets[id] = fds[n]
	}
	return nil
}

// tellLast says which process ID was given last. It is a part of every checkpoint: see giveAfter.
func tellLast(socket int) error {
	last, err := lastGiven()
	if err != nil {
		return err
	}
	return seqpacket.Send(socket, binary.BigEndian.AppendUint32([]byte{protocol.VisitLast}, uint32(last)),
		nil)
}

// giveAfter has the next process get an ID as if this one had been given last; 0 leaves that as it
// is.
func giveAfter(last int) error {
	if last == 0 {
		return nil
	}
	return setLastGiven(last)
}

// show sends all sockets, in as many messages as they need. The daemon reads the state of each
// connection from them, and keeps that with the checkpoint.
func (s *Server) show(socket int) error {
	message, fds := []byte{protocol.VisitSockets}, []int(nil)
	for id, fd := range s.sockets {
		message, fds = binary.BigEndian.AppendUint32(message, uint32(id)), append(fds, fd)
		if len(fds) == protocol.MaxRights { // the message is full
			if err := seqpacket.Send(socket, message, fds); err != nil {
				return err
			}
			message, fds = message[:1], fds[:0]
		}
	}
	if len(fds) == 0 {
		return nil
	}
	return seqpacket.Send(socket, message, fds)
}

// reapAll waits for the end of the peers, whose pids will be needed. The daemon has
// killed them before.
func (s *Server) reapAll() error {
	for _, pid := range s.peers {
		if _, err := sys.Retry(func() (int, error) { return unix.Wait4(pid, nil, 0, nil) }); err != nil &&
			err != unix.ECHILD {
			return fmt.Errorf("reap peer process %d: %w", pid, err)
		}
	}
	for { // and those of who was left behind, or what a process group is named by
		if pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil); err != unix.EINTR && pid <= 0 {
			return nil
		}
	}
}

// enter leaves everything behind that belongs to what ended with the peers: it closes the sockets,
// enters another network, and takes another channel in the place of its own. The launcher enters
// the network, too, since it starts peers there.
func (s *Server) enter(network, channel int) error {
	s.Close()
	enter := func() error { return unix.Setns(network, unix.CLONE_NEWNET) }
	err := enter()
	if err == nil && s.launcher != nil {
		err = s.launcher.do(enter)
	}
	if err != nil {
		return fmt.Errorf("enter a network namespace: %w", err)
	}
	if err := unix.Dup3(channel, s.channel, unix.O_CLOEXEC); err != nil {
		return fmt.Errorf("take another channel: %w", err)
	}
	return nil
}

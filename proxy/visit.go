package proxy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/internal/sys/seqpacket"
)

// A visit lets the daemon see and exchange the sockets of a proxy that goes on while its
// peers go back. The daemon sends, as the checker would, a command whose descriptor is one
// end of a socket pair; what is said over that is the visit, which ends when it is closed.
//
// Messages are one byte for what they are, and socket ids (4 bytes each, big endian) whose
// sockets travel beside them, or a process ID (as long).
const (
	visitLook    = 'L' // -> visitLast, then visitDone
	visitShow    = 'S' // -> visitLast, visitSockets any number of times, then visitDone
	visitReap    = 'R' // the peers are dead or dying; and as visitFrom
	visitFrom    = 'F' // with the process ID after which others are to be given, or 0
	visitEnter   = 'E' // with a network namespace, a channel in it, and sockets: leave what there is
	visitAdopt   = 'A' // with sockets
	visitLast    = 'l' // with the process ID that was given last
	visitSockets = 's'
	visitDone    = 'd' // and, if it failed, the reason
)

// maxRights is how many descriptors one message carries: the kernel's limit is 253.
const maxRights = 250

// visitPatience bounds how long either side waits for the other.
const visitPatience = 10 * time.Second

// Visitor is the daemon's side of a visit.
type Visitor struct{ socket int }

// Visit begins a visit over a descriptor of the checker's end of the command channel.
func Visit(channel int) (*Visitor, error) {
	pair, err := seqpacket.Pair()
	if err != nil {
		return nil, err
	}
	defer unix.Close(pair[1])
	patience := unix.NsecToTimeval(visitPatience.Nanoseconds())
	err = unix.SetsockoptTimeval(pair[0], unix.SOL_SOCKET, unix.SO_RCVTIMEO, &patience)
	if err == nil {
		err = seqpacket.Send(channel, command{op: opVisit}.encode(), pair[1:])
	}
	if err != nil {
		unix.Close(pair[0])
		return nil, fmt.Errorf("visit the proxy: %w", err)
	}
	return &Visitor{socket: pair[0]}, nil
}

// End ends the visit, and returns when the proxy has closed its end of it, too: CRIU, if it
// saves the group next, knows nothing of that.
func (v *Visitor) End() error {
	err := unix.Shutdown(v.socket, unix.SHUT_WR)
	if err == nil {
		var m visitMessage
		if m, err = receiveVisit(v.socket); err == nil {
			sys.CloseAll(m.fds)
			err = fmt.Errorf("a message of kind %q at the end of a visit", m.kind)
		}
		if err == io.EOF {
			err = nil
		}
	}
	return errors.Join(err, v.Close())
}

// Close ends the visit; the proxy serves the checker again.
func (v *Visitor) Close() error { return unix.Close(v.socket) }

// Sockets returns a descriptor of every socket of the proxy, which the caller closes, and the process ID that was given last
// in the group: from there on the kernel looks for the next one.
func (v *Visitor) Sockets() (sockets map[ID]int, last int, err error) { return v.ask(visitShow) }

// Last returns the process ID that was given last in the group.
func (v *Visitor) Last() (int, error) {
	_, last, err := v.ask(visitLook)
	return last, err
}

func (v *Visitor) ask(kind byte) (sockets map[ID]int, last int, err error) {
	sockets = map[ID]int{}
	fail := func(err error) (map[ID]int, int, error) {
		for _, fd := range sockets {
			unix.Close(fd)
		}
		return nil, 0, fmt.Errorf("ask the proxy for its sockets: %w", err)
	}
	if err := seqpacket.Send(v.socket, []byte{kind}, nil); err != nil {
		return fail(err)
	}
	for {
		m, err := receiveVisit(v.socket)
		if err != nil {
			return fail(err)
		}
		switch {
		case m.kind == visitLast && len(m.fds) == 0:
			last = m.pid
		case m.kind == visitSockets && len(m.ids) == len(m.fds):
			for n, id := range m.ids {
				sockets[id] = m.fds[n]
			}
		case m.kind == visitSockets:
			sys.CloseAll(m.fds)
			return fail(fmt.Errorf("%d sockets with %d ids", len(m.fds), len(m.ids)))
		default:
			sys.CloseAll(m.fds)
			if err := m.outcome(); err != nil {
				return fail(err)
			}
			return sockets, last, nil
		}
	}
}

// Reap returns when the peers, which must be dying, have ended, and with all that has ended their pids are free. The next
// process gets an ID as if this one had been given last; 0 leaves that as it is.
func (v *Visitor) Reap(last int) error {
	return v.tell("wait for the end of its peers", binary.BigEndian.AppendUint32([]byte{visitReap}, uint32(last)), nil)
}

// Enter has the proxy close its sockets, go over to a network namespace and to another channel,
// of which these are descriptors, and take over sockets.
func (v *Visitor) Enter(network, channel int, sockets map[ID]int) error {
	return v.give("go over to another network", visitEnter, []int{network, channel}, sockets)
}

// Adopt gives sockets to the proxy, which must have none with these ids.
func (v *Visitor) Adopt(sockets map[ID]int) error {
	return v.give("take over sockets", visitAdopt, nil, sockets)
}

// give sends descriptors and sockets, in several messages if one does not hold them all.
func (v *Visitor) give(what string, kind byte, fds []int, sockets map[ID]int) error {
	message := []byte{kind}
	flush := func() error {
		if len(fds) == 0 {
			return nil
		}
		err := v.tell(what, message, fds)
		message, fds = []byte{visitAdopt}, fds[:0]
		return err
	}
	for id, fd := range sockets {
		message, fds = binary.BigEndian.AppendUint32(message, uint32(id)), append(fds, fd)
		if len(fds) == maxRights {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// SetLast has the next process get an ID as if this one had been given last.
func (v *Visitor) SetLast(last int) error {
	return v.tell("choose process IDs", binary.BigEndian.AppendUint32([]byte{visitFrom}, uint32(last)), nil)
}

func (v *Visitor) tell(what string, message []byte, fds []int) error {
	err := seqpacket.Send(v.socket, message, fds)
	if err == nil {
		var m visitMessage
		if m, err = receiveVisit(v.socket); err == nil {
			sys.CloseAll(m.fds)
			err = m.outcome()
		}
	}
	if err != nil {
		return fmt.Errorf("have the proxy %s: %w", what, err)
	}
	return nil
}

// visitMessage is a message of a visit, decoded.
type visitMessage struct {
	kind byte
	ids  []ID
	pid  int    // of visitLast, visitReap and visitFrom
	text string // of visitDone
	fds  []int
}

// outcome is what a visitDone says.
func (m visitMessage) outcome() error {
	switch {
	case m.kind != visitDone:
		return fmt.Errorf("an unexpected message of kind %q", m.kind)
	case m.text != "":
		return errors.New(m.text)
	}
	return nil
}

// maxVisitMessage holds a kind and as many ids as there are descriptors, or a reason.
const maxVisitMessage = 1 + 4*maxRights

func decodeVisit(b []byte) (m visitMessage, err error) {
	if len(b) == 0 || len(b) > maxVisitMessage {
		return m, fmt.Errorf("a message of %d bytes in a visit", len(b))
	}
	m.kind = b[0]
	switch rest := b[1:]; m.kind {
	case visitDone:
		m.text = string(rest)
	case visitSockets, visitAdopt, visitEnter:
		if len(rest)%4 != 0 {
			return m, fmt.Errorf("socket ids of %d bytes in a visit", len(rest))
		}
		for ; len(rest) > 0; rest = rest[4:] {
			m.ids = append(m.ids, ID(binary.BigEndian.Uint32(rest)))
		}
	case visitLast, visitReap, visitFrom:
		if len(rest) != 4 {
			return m, fmt.Errorf("a process ID of %d bytes in a visit", len(rest))
		}
		m.pid = int(binary.BigEndian.Uint32(rest))
	case visitLook, visitShow:
		if len(rest) > 0 {
			return m, fmt.Errorf("%d bytes after a message of kind %q in a visit", len(rest), m.kind)
		}
	default:
		return m, fmt.Errorf("a message of kind %q in a visit", m.kind)
	}
	return m, nil
}

// receiveVisit reads a message of a visit; io.EOF is its end.
func receiveVisit(socket int) (visitMessage, error) {
	b, fds, err := receiveRights(socket, maxVisitMessage, maxRights)
	if err != nil {
		return visitMessage{}, err
	}
	m, err := decodeVisit(b)
	if err != nil {
		sys.CloseAll(fds)
		return m, err
	}
	m.fds = fds
	return m, nil
}

// receiveRights receives one message of a SEQPACKET socket, with its descriptors.
func receiveRights(socket, size, most int) ([]byte, []int, error) {
	b := make([]byte, size+1) // one more, to see that a message is too long
	n, fds, err := seqpacket.Receive(socket, b, most, 0)
	return b[:n], fds, err
}

// receiveVisitor serves a visit to its end; what goes wrong is told to the visitor.
func (s *server) receiveVisitor(socket int) error {
	defer unix.Close(socket)
	s.reaping.Lock() // the peers may be dead for a while
	defer s.reaping.Unlock()
	for {
		m, err := receiveVisit(socket)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("a visit of the daemon: %w", err)
		}
		text := ""
		if err := s.obey(socket, m); err != nil {
			text = err.Error()[:min(len(err.Error()), maxVisitMessage-1)]
		}
		if err := seqpacket.Send(socket, append([]byte{visitDone}, text...), nil); err != nil && !errors.Is(err, unix.EPIPE) {
			return fmt.Errorf("a visit of the daemon: %w", err)
		}
	}
}

func (s *server) obey(socket int, m visitMessage) error {
	switch {
	case m.kind == visitLook:
		sys.CloseAll(m.fds)
		return tellLast(socket)
	case m.kind == visitShow:
		sys.CloseAll(m.fds)
		return errors.Join(tellLast(socket), s.show(socket))
	case m.kind == visitReap:
		sys.CloseAll(m.fds)
		if err := s.reapAll(); err != nil {
			return err
		}
		return giveAfter(m.pid)
	case m.kind == visitFrom:
		sys.CloseAll(m.fds)
		return giveAfter(m.pid)
	case m.kind == visitEnter && len(m.fds) == 2+len(m.ids):
		err := s.enter(m.fds[0], m.fds[1])
		sys.CloseAll(m.fds[:2])
		if err != nil {
			sys.CloseAll(m.fds[2:])
			return err
		}
		return s.adopt(m.ids, m.fds[2:])
	case m.kind == visitAdopt && len(m.fds) == len(m.ids):
		return s.adopt(m.ids, m.fds)
	}
	sys.CloseAll(m.fds)
	return fmt.Errorf("a message of kind %q with %d descriptors", m.kind, len(m.fds))
}

// adopt takes over sockets, and closes those that it does not take.
func (s *server) adopt(ids []ID, fds []int) error {
	for n, id := range ids {
		if _, exists := s.sockets[id]; exists || len(s.sockets) >= MaxSockets {
			sys.CloseAll(fds[n:])
			return fmt.Errorf("socket %d cannot be adopted: there is one already, or %d in all", id, len(s.sockets))
		}
		s.sockets[id] = fds[n]
	}
	return nil
}

// tellLast says which process ID was given last.
func tellLast(socket int) error {
	last, err := lastGiven()
	if err != nil {
		return err
	}
	return seqpacket.Send(socket, binary.BigEndian.AppendUint32([]byte{visitLast}, uint32(last)), nil)
}

// giveAfter has the next process get an ID as if this one had been given last; 0 leaves that as it is.
func giveAfter(last int) error {
	if last == 0 {
		return nil
	}
	return setLastGiven(last)
}

func (s *server) show(socket int) error {
	message, fds := []byte{visitSockets}, []int(nil)
	for id, fd := range s.sockets {
		message, fds = binary.BigEndian.AppendUint32(message, uint32(id)), append(fds, fd)
		if len(fds) == maxRights {
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

// reapAll waits for the end of the peers, whose pids will be needed.
func (s *server) reapAll() error {
	for _, pid := range s.peers {
		if _, err := sys.Retry(func() (int, error) { return unix.Wait4(pid, nil, 0, nil) }); err != nil && err != unix.ECHILD {
			return fmt.Errorf("reap peer process %d: %w", pid, err)
		}
	}
	for { // and those of who was left behind, or what a process group is named by
		if pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil); err != unix.EINTR && pid <= 0 {
			return nil
		}
	}
}

// enter leaves everything behind that belongs to what ended with the peers.
func (s *server) enter(network, channel int) error {
	for id, fd := range s.sockets {
		unix.Close(fd)
		delete(s.sockets, id)
	}
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

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
	"github.com/tandem-mc/tandem/proxy/internal/protocol"
)

// visitTimeout bounds how long either side waits for the other.
const visitTimeout = 10 * time.Second

// Visitor is the daemon's side of a visit.
type Visitor struct{ socket int }

// Visit begins a visit over a descriptor of the checker's end of the command channel. Until it
// ends, the proxy carries out no commands.
func Visit(channel int) (*Visitor, error) {
	pair, err := seqpacket.Pair()
	if err != nil {
		return nil, err
	}
	defer unix.Close(pair[1])
	patience := unix.NsecToTimeval(visitTimeout.Nanoseconds())
	err = unix.SetsockoptTimeval(pair[0], unix.SOL_SOCKET, unix.SO_RCVTIMEO, &patience)
	if err == nil {
		err = seqpacket.Send(channel, protocol.Request{Op: protocol.OpVisit}.Encode(), pair[1:])
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
		var m protocol.VisitMessage
		if m, err = protocol.ReceiveVisit(v.socket); err == nil {
			sys.CloseAll(m.FDs)
			err = fmt.Errorf("a message of kind %q at the end of a visit", m.Kind)
		}
		if err == io.EOF {
			err = nil
		}
	}
	return errors.Join(err, v.Close())
}

// Close ends the visit; the proxy serves the checker again.
func (v *Visitor) Close() error { return unix.Close(v.socket) }

// Sockets returns a descriptor of every socket of the proxy, which the caller closes, and the
// process ID that was given last in the group: from there on the kernel looks for the next one.
func (v *Visitor) Sockets() (sockets map[ID]int, last int, err error) {
	return v.ask(protocol.VisitShow)
}

// Last returns the process ID that was given last in the group.
func (v *Visitor) Last() (int, error) {
	_, last, err := v.ask(protocol.VisitLook)
	return last, err
}

// ask sends a message of a kind, and gathers the sockets and the process ID of its answer.
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
		m, err := protocol.ReceiveVisit(v.socket)
		if err != nil {
			return fail(err)
		}
		switch {
		case m.Kind == protocol.VisitLast && len(m.FDs) == 0:
			last = m.PID
		case m.Kind == protocol.VisitSockets && len(m.IDs) == len(m.FDs):
			for n, id := range m.IDs {
				sockets[id] = m.FDs[n]
			}
		case m.Kind == protocol.VisitSockets:
			sys.CloseAll(m.FDs)
			return fail(fmt.Errorf("%d sockets with %d ids", len(m.FDs), len(m.IDs)))
		default:
			sys.CloseAll(m.FDs)
			if err := m.Outcome(); err != nil {
				return fail(err)
			}
			return sockets, last, nil
		}
	}
}

// Reap returns when the peers, which must be dying, have ended, and with all that has ended their
// pids are free. The next process gets an ID as if this one had been given last; 0 leaves that as
// it is.
func (v *Visitor) Reap(last int) error {
	return v.tell("wait for the end of its peers",
		binary.BigEndian.AppendUint32([]byte{protocol.VisitReap}, uint32(last)), nil)
}

// Enter has the proxy close its sockets, go over to a network namespace and to another channel,
// of which these are descriptors, and take over sockets.
func (v *Visitor) Enter(network, channel int, sockets map[ID]int) error {
	return v.give("go over to another network", protocol.VisitEnter, []int{network, channel}, sockets)
}

// Adopt gives sockets to the proxy, which must have none with these ids.
func (v *Visitor) Adopt(sockets map[ID]int) error {
	return v.give("take over sockets", protocol.VisitAdopt, nil, sockets)
}

// give sends descriptors and sockets, in several messages if one does not hold them all.
func (v *Visitor) give(what string, kind byte, fds []int, sockets map[ID]int) error {
	message := []byte{kind}
	flush := func() error {
		if len(fds) == 0 {
			return nil
		}
		err := v.tell(what, message, fds)
		message, fds = []byte{protocol.VisitAdopt}, fds[:0]
		return err
	}
	for id, fd := range sockets {
		message, fds = binary.BigEndian.AppendUint32(message, uint32(id)), append(fds, fd)
		if len(fds) == protocol.MaxRights {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// SetLast has the next process get an ID as if this one had been given last.
func (v *Visitor) SetLast(last int) error {
	return v.tell("choose process IDs", binary.BigEndian.AppendUint32([]byte{protocol.VisitFrom},
		uint32(last)), nil)
}

// tell sends a message and waits until it is carried out. What says what that is, for errors.
func (v *Visitor) tell(what string, message []byte, fds []int) error {
	err := seqpacket.Send(v.socket, message, fds)
	if err == nil {
		var m protocol.VisitMessage
		if m, err = protocol.ReceiveVisit(v.socket); err == nil {
			sys.CloseAll(m.FDs)
			err = m.Outcome()
		}
	}
	if err != nil {
		return fmt.Errorf("have the proxy %s: %w", what, err)
	}
	return nil
}

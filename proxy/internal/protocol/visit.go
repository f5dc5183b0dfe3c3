package protocol

import (
	"encoding/binary"
	"errors"
	"fmt"

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
	VisitLook = 'L' // -> VisitLast, then VisitDone
	VisitShow = 'S' // -> VisitLast, VisitSockets any number of times, then VisitDone
	VisitReap = 'R' // the peers are dead or dying; and as VisitFrom
	VisitFrom = 'F' // with the process ID after which others are to be given, or 0
	// With a network namespace, a channel in it, and sockets: leave what there is.
	VisitEnter   = 'E'
	VisitAdopt   = 'A' // with sockets
	VisitLast    = 'l' // with the process ID that was given last
	VisitSockets = 's'
	VisitDone    = 'd' // and, if it failed, the reason
)

// MaxRights is how many descriptors one message carries.
const MaxRights = seqpacket.MaxSent

// VisitMessage is a message of a visit, decoded.
type VisitMessage struct {
	Kind byte
	IDs  []ID
	PID  int    // of VisitLast, VisitReap and VisitFrom
	Text string // of VisitDone
	FDs  []int  // which came beside it, and belong to whoever has received it
}

// Outcome is what a VisitDone says.
func (m VisitMessage) Outcome() error {
	switch {
	case m.Kind != VisitDone:
		return fmt.Errorf("an unexpected message of kind %q", m.Kind)
	case m.Text != "":
		return errors.New(m.Text)
	}
	return nil
}

// MaxVisitMessage holds a kind and as many ids as there are descriptors, or a reason.
const MaxVisitMessage = 1 + 4*MaxRights

// DecodeVisit reads a message of a visit, beside which descriptors may have come. How many
// descriptors there have to be is checked where the message is carried out.
func DecodeVisit(b []byte) (m VisitMessage, err error) {
	if len(b) == 0 || len(b) > MaxVisitMessage {
		return m, fmt.Errorf("a message of %d bytes in a visit", len(b))
	}
	m.Kind = b[0]
	switch rest := b[1:]; m.Kind {
	case VisitDone:
		m.Text = string(rest)
	case VisitSockets, VisitAdopt, VisitEnter:
		if len(rest)%4 != 0 {
			return m, fmt.Errorf("socket ids of %d bytes in a visit", len(rest))
		}
		for ; len(rest) > 0; rest = rest[4:] {
			m.IDs = append(m.IDs, ID(binary.BigEndian.Uint32(rest)))
		}
	case VisitLast, VisitReap, VisitFrom:
		if len(rest) != 4 {
			return m, fmt.Errorf("a process ID of %d bytes in a visit", len(rest))
		}
		m.PID = int(binary.BigEndian.Uint32(rest))
	case VisitLook, VisitShow:
		if len(rest) > 0 {
			return m, fmt.Errorf("%d bytes after a message of kind %q in a visit", len(rest), m.Kind)
		}
	default:
		return m, fmt.Errorf("a message of kind %q in a visit", m.Kind)
	}
	return m, nil
}

// ReceiveVisit reads a message of a visit; io.EOF is its end.
func ReceiveVisit(socket int) (VisitMessage, error) {
	b, fds, err := ReceiveMessage(socket, MaxVisitMessage, MaxRights)
	if err != nil {
		return VisitMessage{}, err
	}
	m, err := DecodeVisit(b)
	if err != nil {
		sys.CloseAll(fds)
		return m, err
	}
	m.FDs = fds
	return m, nil
}

// ReceiveMessage receives one message of a SEQPACKET socket, with at most so many descriptors. It
// may be one byte longer than size: whoever decodes it says then what is wrong.
func ReceiveMessage(socket, size, most int) ([]byte, []int, error) {
	b := make([]byte, size+1) // one more, to see that a message is too long
	n, fds, err := seqpacket.Receive(socket, b, most, 0)
	return b[:n], fds, err
}

package iocache

import (
	"fmt"

	"github.com/tandem-mc/tandem/internal/invariant"
)

// connState is what has become of a connection: a set of flags. It decides which inputs reach the
// peers and what a reaction may say. An input that reaches nobody never becomes an edge, so that
// executions which differ only in such inputs meet in the same place.
type connState uint8

const (
	refused   connState = 1 << iota // connect failed
	shut                            // the SUT has ended its stream
	closed                          // the SUT has closed both directions
	peerEnded                       // the peer has ended its stream
	reset                           // the peer has reset the connection
	listening                       // it is a listener
)

// gone says that nothing sent can reach the peer any more.
func (s connState) gone() bool { return s&(refused|closed|reset) != 0 }

// deliver returns the state after a delivery, or what makes it impossible.
func (s connState) deliver(d Delivery) (connState, string) {
	switch {
	case s&refused != 0:
		return s, "was refused"
	case s&listening != 0:
		return s, "is a listener"
	case s&closed != 0:
		return s, "is closed"
	case s&reset != 0:
		return s, "was reset"
	case s&peerEnded != 0 && (len(d.Data) > 0 || d.End == EOF):
		return s, "was ended by the peer"
	}
	switch d.End {
	case EOF:
		s |= peerEnded
	case Reset:
		s |= reset
	}
	return s, ""
}

// place is what decides which inputs can be given there.
type place struct {
	kind  Kind // of the input that led there; 0: the root
	conns []connState
}

// mustAccept panics unless in is an input that the SUT can give here at all.
func (n place) mustAccept(in *Input) {
	if objection := n.objection(in); objection != "" {
		invariant.Failf("iocache: %s", objection)
	}
}

// objection says why the SUT cannot give an input here; empty if it can.
func (n place) objection(in *Input) string {
	switch in.Kind {
	case Connect, Listen:
		if in.Name != "" && (in.Conn != 0 || n.kind != 0 && n.kind != Choose) {
			return fmt.Sprintf("%s %d begins a tree of its own, so it is number 0, and not below other "+
				"inputs", in.Kind, in.Conn)
		}
		if in.Conn != len(n.conns) {
			return fmt.Sprintf("%s %d is out of order: the next connection is "+
				"%d", in.Kind, in.Conn, len(n.conns))
		}
	case Send, Shutdown, Close:
		switch {
		case in.Conn < 0 || in.Conn >= len(n.conns):
			return fmt.Sprintf("%s on connection %d, but only %d were opened", in.Kind, in.Conn, len(n.conns))
		case in.Kind != Close && n.conns[in.Conn]&listening != 0:
			return fmt.Sprintf("%s on connection %d, which is a listener", in.Kind, in.Conn)
		}
	case Choose:
		if n.kind != 0 || in.Conn < 0 {
			return fmt.Sprintf("behaviour %d is chosen, which is from 0 on, and the first input", in.Conn)
		}
	case Pass:
		if in.Conn != 0 {
			return fmt.Sprintf("time passes for the group, and not for connection %d", in.Conn)
		}
		if in.Most < 0 {
			return fmt.Sprintf("time cannot pass for at most %v", in.Most)
		}
	default:
		return fmt.Sprintf("unknown kind of input %d", in.Kind)
	}
	return ""
}

// reaches says whether the group can notice the input.
func (n place) reaches(in *Input) bool {
	if in.Opens() || in.Kind == Choose || in.Kind == Pass {
		return true
	}
	state := n.conns[in.Conn]
	if state.gone() {
		return false
	}
	switch in.Kind {
	case Send:
		return len(in.Data) > 0 && state&shut == 0
	case Shutdown:
		return state&shut == 0
	default:
		return true
	}
}

// plausible checks that r can be a reaction to in.
func (n place) plausible(in Input, r Reaction) error {
	if r.Refused < 0 || r.Refused != 0 && !in.Opens() {
		return fmt.Errorf("iocache: %v cannot be refused with errno %d: only a connect or listen can, "+
			"with a positive one",
			in, r.Refused)
	}
	if !n.reaches(&in) {
		if !r.Empty() {
			return fmt.Errorf("iocache: %v cannot reach the peers, so they cannot react with %v", in, r)
		}
		return nil
	}
	if t := r.Time; t != (Time{}) && in.Kind != Pass || t.Passed < 0 || t.Due < 0 || t.Peer < 0 ||
		in.Most > Once && t.Passed > in.Most {
		return fmt.Errorf("iocache: after %v so much time cannot have passed: %+v", in, t)
	}
	conns := make([]connState, len(n.conns), len(n.conns)+1)
	copy(conns, n.conns)
	conns = apply(conns, in, r.Refused)
	for _, l := range r.Opened {
		if l < 0 || l >= len(conns) || conns[l]&(listening|closed) != listening {
			return fmt.Errorf("iocache: after %v the group has opened a connection at %d, where nobody "+
				"listens", in, l)
		}
		conns = append(conns, 0)
	}
	for i, e := range r.Ended {
		if e.Peer < 0 || e.Status < 0 || i > 0 && e.Peer <= r.Ended[i-1].Peer {
			return fmt.Errorf("iocache: after %v peer %d has ended with status %d: list each once, in "+
				"order", in, e.Peer, e.Status)
		}
	}
	for _, d := range r.Deliveries {
		if d.Conn < 0 || d.Conn >= len(conns) {
			return fmt.Errorf("iocache: after %v a delivery names connection %d, but only %d were opened",
				in, d.Conn, len(conns))
		}
		if d.End > Reset {
			return fmt.Errorf("iocache: after %v a delivery has the unknown end %d", in, d.End)
		}
		state, objection := conns[d.Conn].deliver(d)
		if objection != "" && (len(d.Data) > 0 || d.End != StillOpen) {
			return fmt.Errorf("iocache: after %v connection %d cannot receive %d bytes, end %v: it %s; "+
				"deliver each byte and each end once", in, d.Conn, len(d.Data), d.End, objection)
		}
		conns[d.Conn] = state
	}
	return nil
}

// apply changes the states by an input that reaches the group.
func apply(conns []connState, in Input, errno int) []connState {
	switch in.Kind {
	case Connect, Listen:
		state := connState(0)
		switch {
		case errno != 0:
			state = refused
		case in.Kind == Listen:
			state = listening
		}
		return append(conns, state)
	case Shutdown:
		conns[in.Conn] |= shut
	case Close:
		conns[in.Conn] |= closed
	}
	return conns
}

// advance returns the states after an input and its reaction, and whether they are others than
// before.
func advance(before []connState, in Input, r Reaction) (after []connState, changed bool) {
	changed = in.Kind != Send && in.Kind != Pass || len(r.Opened) > 0
	for _, d := range r.Deliveries {
		changed = changed || d.End != StillOpen
	}
	if !changed {
		return before, false
	}
	after = make([]connState, len(before), len(before)+1+len(r.Opened))
	copy(after, before)
	after = apply(after, in, r.Refused)
	after = append(after, make([]connState, len(r.Opened))...)
	for _, d := range r.Deliveries {
		after[d.Conn], _ = after[d.Conn].deliver(d)
	}
	return after, true
}

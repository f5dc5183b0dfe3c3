package datagram

import (
	"cmp"
	"errors"
	"maps"
	"net/netip"
	"slices"

	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
)

// Sockets are all datagram sockets that a node has opened in an execution.
type Sockets struct {
	Net  *network.Nodes
	Node int
	// Carrier decides what becomes of datagrams that the node sends. Make makes the events of the
	// sockets; nil: nobody wants to know of them.
	Carrier Carrier
	Make    func(skeleton.Event) skeleton.Name
	Err     error // what is wrong with the first input that could not be answered
	// NotExplored is what explorations cannot have, and NeedsOrder says that they have to begin
	// anew with all events of the node in one order. Either ends the execution, which says nothing.
	NotExplored error
	NeedsOrder  bool
	open        map[int]*socket
	count       int // of those that were opened
}

// Answer answers an input, if it is about a datagram socket, and says whether it is. A socket that
// is opened gets the next number.
func (s *Sockets) Answer(in model.Input, next int, a *model.Answer) bool {
	if isOne(in) {
		if s.count++; s.open == nil {
			s.open = map[int]*socket{}
		}
		socket, e, err := open(s.Net.Names[s.Node], s.count, in)
		if s.refuses(socket, a) {
			return true
		}
		a.Conn, s.open[next] = next, socket
		socket.opened = s.note(e, err)
		return true
	}
	isOfOne := in.Kind == model.Send || in.Kind == model.Receive || in.Kind == model.Close
	socket := s.open[in.Conn]
	if socket == nil || !isOfOne { // the number is of none
		return false
	}
	switch in.Kind {
	case model.Send:
		s.send(socket, in, a)
	case model.Receive:
		e, err := socket.takes(s.Net, in)
		s.note(e, err)
	case model.Close:
		delete(s.open, in.Conn)
		s.note(socket.closes(s.Net), nil)
	}
	return true
}

// explored is the carrier of an exploration; nil: it is none.
func (s *Sockets) explored() *Explored {
	x, _ := s.Carrier.(*Explored)
	return x
}

// refuses says whether a socket that is opened ends an execution which is explored. Of two sockets
// that get what is sent to one address it would depend on the time of its arrival which one does,
// and arrivals are no events.
func (s *Sockets) refuses(socket *socket, a *model.Answer) bool {
	if s.explored() == nil {
		return false
	}
	if s.NeedsOrder = !s.Net.Ordered[s.Node]; s.NeedsOrder {
		a.Failure = "the events of the node have to be in one order"
		return true
	}
	for _, other := range s.open {
		own, _ := reaches(socket.place(), other.at.From)
		others, _ := other.gets(socket.at.From)
		if own || others {
			s.ends(notExplored{"two sockets of a node are open at one port"}, a)
			return true
		}
	}
	return false
}

// ends ends an execution in which something happens that is not explored.
func (s *Sockets) ends(what notExplored, a *model.Answer) {
	s.NotExplored, a.Failure = what, what.Error()
}

// note makes an event of a socket, unless something was wrong, and returns its name. In an
// exploration all others can find out which sockets there are.
func (s *Sockets) note(e skeleton.Event, err error) (name skeleton.Name) {
	if s.Err = cmp.Or(s.Err, err); err != nil || s.Make == nil {
		return name
	}
	if kind := network.Did(&e).Kind; s.explored() != nil && (kind == model.Listen || kind == model.Close) {
		e.To = skeleton.Everybody
	}
	return s.Make(e)
}

// send has a datagram be sent, as the carrier decides.
func (s *Sockets) send(socket *socket, in model.Input, a *model.Answer) {
	e, err := socket.sends(s.Net, s.Node, in)
	copied := false
	if err == nil {
		copied, err = s.Carrier.Carry(&e)
	}
	if what := (notExplored{}); errors.As(err, &what) {
		s.ends(what, a)
		return
	}
	if s.note(e, err); err != nil {
		return
	}
	if copied {
		s.note(socket.copy(s.Net, &e), nil)
	}
	if network.Did(&e).Fate == Refused {
		a.Deliveries = append(a.Deliveries, model.Delivery{Conn: in.Conn, Data: Refusal()})
	}
}

// Arrive has a datagram, which is one of the arrivals, reach the socket to which it was sent, if
// that is still there. It says whether it has come: in an exploration it may not come now.
func (s *Sockets) Arrive(i int, send *skeleton.Event, r *model.Reaction) bool {
	at, has := s.At(addressOf(send))
	if x := s.explored(); x != nil && (!has || !x.comes(i, s.open[at])) {
		return false
	}
	if has {
		r.Deliveries = append(r.Deliveries, model.Delivery{Conn: at, Data: s.open[at].comes(s.Net, send)})
		if s.explored() != nil && s.open[at].waiting(s.Net) > room {
			s.NotExplored = notExplored{"more waits at a socket than it has room for"}
		}
	}
	return true
}

// At is the number of the socket that gets what is sent to an address, if one does.
func (s *Sockets) At(to netip.AddrPort) (number int, has bool) {
	best := false
	for _, i := range slices.Sorted(maps.Keys(s.open)) {
		if gets, exactly := s.open[i].gets(to); gets && (exactly || !best) {
			number, has, best = i, true, exactly
		}
	}
	return number, has
}

// Again is what is left of the sockets of a node that is explored when it has crashed, for one of
// the ways in which it goes on: none is open.
func (s *Sockets) Again(make func(skeleton.Event) skeleton.Name, now func() Now) Sockets {
	again := Sockets{Net: s.Net, Node: s.Node, Make: make, count: s.count}
	if x := s.explored(); x != nil {
		own := *x
		own.Now, again.Carrier = now, &own
	}
	return again
}

// Exit closes all that is open: the node has ended.
func (s *Sockets) Exit() {
	for _, i := range slices.Sorted(maps.Keys(s.open)) {
		s.Answer(model.Input{Kind: model.Close, Conn: i}, 0, nil)
	}
}

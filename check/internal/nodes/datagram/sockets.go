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
	Make    func(skeleton.Event)
	Err     error // what is wrong with the first input that could not be answered
	// NotExplored says that it has come to what is not explored: ErrNotExplored.
	NotExplored bool
	open        map[int]*Socket
	count       int // of those that were opened
}

// Answer answers an input, if it is about a datagram socket, and says whether it is. A socket that
// is opened gets the next number.
func (s *Sockets) Answer(in model.Input, next int, a *model.Answer) bool {
	if IsOne(in) {
		s.count++
		socket, e, err := Open(s.Net.Names[s.Node], s.count, in)
		if s.open == nil {
			s.open = map[int]*Socket{}
		}
		a.Conn, s.open[next] = next, socket
		s.note(e, err)
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
		e, err := socket.Takes(s.Net, in)
		s.note(e, err)
	case model.Close:
		delete(s.open, in.Conn)
		s.note(socket.Closes(s.Net), nil)
	}
	return true
}

// note makes an event of a socket, unless something was wrong.
func (s *Sockets) note(e skeleton.Event, err error) {
	if s.Err = cmp.Or(s.Err, err); err == nil && s.Make != nil {
		s.Make(e)
	}
}

// send has a datagram be sent, as the carrier decides.
func (s *Sockets) send(socket *Socket, in model.Input, a *model.Answer) {
	e, err := socket.Sends(s.Net, s.Node, in)
	copied := false
	if err == nil {
		copied, err = s.Carrier.Carry(&e)
	}
	if errors.Is(err, ErrNotExplored) {
		s.NotExplored, a.Failure = true, err.Error() // that ends the execution, and says nothing
		return
	}
	if s.note(e, err); err != nil {
		return
	}
	if copied {
		s.note(socket.Copy(s.Net, &e), nil)
	}
	if network.Did(&e).Fate == Refused {
		a.Deliveries = append(a.Deliveries, model.Delivery{Conn: in.Conn, Data: Refusal()})
	}
}

// Arrive has a datagram reach the socket to which it was sent, if that is still there.
func (s *Sockets) Arrive(send *skeleton.Event, r *model.Reaction) {
	to, _ := netip.ParseAddrPort(network.Did(send).Address)
	if at, has := s.At(to); has {
		r.Deliveries = append(r.Deliveries, model.Delivery{Conn: at, Data: s.open[at].Comes(s.Net, send)})
	}
}

// At is the number of the socket that gets what is sent to an address, if one does.
func (s *Sockets) At(to netip.AddrPort) (number int, has bool) {
	best := false
	for _, i := range slices.Sorted(maps.Keys(s.open)) {
		if gets, exactly := s.open[i].Gets(to); gets && (exactly || !best) {
			number, has, best = i, true, exactly
		}
	}
	return number, has
}

// Exit closes all that is open: the node has ended.
func (s *Sockets) Exit() {
	for _, i := range slices.Sorted(maps.Keys(s.open)) {
		s.Answer(model.Input{Kind: model.Close, Conn: i}, 0, nil)
	}
}

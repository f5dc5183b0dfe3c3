package datagram

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
)

// In an exploration, that a socket is there is a state which all others can find out: its opening
// and its close are events for everybody, as the close of a listener is. A datagram that is sent
// takes something from the last of these before it, at its address. So it is known whether anybody
// is there, and that the datagram comes after that event. That it comes before the next one is in
// no skeleton. It is found out where branches are composed: see order.go.

// There is no order of what several nodes do to their sockets. So an address must be that of one
// node: one that is not of loopback is.

// errShared is that a loopback address is of several nodes in turn. Explorations do not know which
// of their sockets is there at which time.
var errShared = notExplored{"several nodes have a socket at one loopback address"}

// isDoor says whether an event opens or closes a socket, in an exploration.
func isDoor(e *skeleton.Event) bool {
	return e.To == skeleton.Everybody && network.Did(e).Conn != ""
}

// place is the address of a socket as its label has it, and the inverse.
func (s *socket) place() string {
	if s.at.OnlySix {
		return "udp6 " + s.at.From.String()
	}
	return s.at.From.String()
}

// reaches says whether a socket at a place gets what is sent to an address, and whether only what
// is sent to that one.
func reaches(place string, to netip.AddrPort) (gets, exactly bool) {
	text, onlySix := strings.CutPrefix(place, "udp6 ")
	own, _ := netip.ParseAddrPort(text)
	switch {
	case own == to:
		return true, true
	case own.Port() != to.Port() || !own.Addr().IsUnspecified():
		return false, false
	}
	return own.Addr().Is4() == to.Addr().Is4() || own.Addr().Is6() && !onlySix, false
}

// door is an event that changes who is at an address.
type door struct {
	event *skeleton.Event
	place string // of the socket
	isUp  bool   // somebody is there after it
	after []skeleton.Name
}

// doorsOf lists the events of one node, which are sorted, that change who is at an address. All
// sockets at the address count. So one that is closed may leave another one there.
func doorsOf(events []*skeleton.Event, to netip.AddrPort) (list []door) {
	open := map[string]string{} // places, by socket
	for _, e := range events {
		d := network.Did(e)
		if d.Kind == model.Listen {
			open[d.Conn] = d.Address
		}
		place, known := open[d.Conn]
		if gets, _ := reaches(place, to); !known || !gets {
			continue
		}
		if d.Kind == model.Close {
			delete(open, d.Conn)
		}
		isUp := false
		for _, other := range open {
			gets, _ := reaches(other, to)
			isUp = isUp || gets
		}
		list = append(list, door{event: e, place: place, isUp: isUp})
	}
	return list
}

// owners are the nodes whose sockets may get what a node sends to an address: all others share
// loopback.
func owners(net *network.Nodes, from int, to netip.AddrPort) (list []int) {
	owner, has := net.Places.Has(to.Addr())
	for c := range net.Programs() {
		if c != from && (to.Addr().IsLoopback() || has && c == owner) {
			list = append(list, c)
		}
	}
	return list
}

// doorsAt lists what a node can find out of who is at an address, and which node that is.
func doorsAt(net *network.Nodes, node int, arrivals []skeleton.Arrival, to netip.AddrPort) (list []door,
	owner int, err error) {
	owner = skeleton.Nobody
	for _, c := range owners(net, node, to) {
		var events []*skeleton.Event
		after := map[skeleton.Name][]skeleton.Name{}
		for i := range arrivals {
			if e := &arrivals[i].Send; e.Component == c && isDoor(e) {
				events, after[e.Name] = append(events, e), arrivals[i].After
			}
		}
		slices.SortFunc(events, func(a, b *skeleton.Event) int { return cmp.Compare(a.N, b.N) })
		found := doorsOf(events, to)
		if len(found) > 0 && len(list) > 0 {
			return nil, owner, errShared
		}
		for i := range found {
			found[i].after = after[found[i].event.Name]
			list, owner = append(list, found[i]), c
		}
	}
	return list, owner, nil
}

// behind has a datagram take something from the last event that is before it; nil: none is. It says
// who gets it, if the network does nothing to it.
func (d *door) behind(e *skeleton.Event) (to int, fate string) {
	if d == nil {
		e.From, e.Got = skeleton.Name{}, nil
		return skeleton.Nobody, Refused
	}
	e.From, e.Got = d.event.Name, d.event.Label
	if !d.isUp {
		return skeleton.Nobody, Refused
	}
	return d.event.Component, ""
}

package datagram

import (
	"slices"

	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/explore/skeleton"
)

// A datagram that takes something from an event of the sockets at its address was sent before the
// next one of these, as a connect is made before the next event of the listener. No skeleton says
// that. So a branch may be composed with what comes only after such a next event, and then is
// before it and after it. No execution has that. All that is left of an execution when some of its
// events are taken away can be put into an order, so nothing is missed if such prefixes are left
// out.

// IsPossible says whether a prefix can be that of an execution: its events can be put into an order
// in which each datagram is sent while those sockets are there that it finds, and each connect is
// made while there is the listener, and no more datagrams suffer than may.
func IsPossible(net *network.Nodes, g skeleton.Global, limits Limits) bool {
	faults := 0
	for c := range g {
		faults += faultsIn(g[c].Events)
	}
	earlier := Earlier(net, g)
	return faults <= limits.Most && (len(earlier) == 0 || !hasCircle(g, earlier))
}

// Earlier has, for each event of sockets and listeners, the datagrams and connects that come before
// it, by names: those that take something from the event before it. What was lost behind a
// partition takes nothing, and may have been sent at any time.
func Earlier(net *network.Nodes, g skeleton.Global) map[skeleton.Name][]skeleton.Name {
	doors := make([][]*skeleton.Event, len(g))
	for c := range g {
		for i := range g[c].Events {
			if e := &g[c].Events[i]; isDoor(e) {
				doors[c] = append(doors[c], e)
			}
		}
	}
	earlier := network.Earlier(net, g)
	for c := range g {
		for i := range g[c].Events {
			e := &g[c].Events[i]
			if !network.IsDatagram(e) || network.Did(e).Fate == Parted {
				continue
			}
			for _, owner := range owners(net, c, addressOf(e)) {
				list := doorsOf(doors[owner], addressOf(e))
				at := slices.IndexFunc(list, func(d door) bool { return d.event.Name == e.From })
				if at+1 < len(list) {
					n := list[at+1].event.Name
					earlier[n] = append(earlier[n], e.Name)
				}
			}
		}
	}
	return earlier
}

// hasCircle says whether events are before themselves, by the skeleton and by what comes before
// some of them besides.
//
// It goes back from each event to all that is before that, as deep as it comes, and looks at none
// twice. Where it comes to one at which it is still, that is before itself.
func hasCircle(g skeleton.Global, besides map[skeleton.Name][]skeleton.Name) bool {
	events := map[skeleton.Name]*skeleton.Event{}
	for c := range g {
		for i := range g[c].Events {
			events[g[c].Events[i].Name] = &g[c].Events[i]
		}
	}
	// An advance of the clock is one event of all nodes. Who does not take part had ended.
	state := map[any]int{} // 1: it is looked at; 2: it is no part of a circle
	var visit func(e *skeleton.Event) bool
	before := func(e *skeleton.Event) (list []skeleton.Name) {
		list = append(slices.Clone(e.Past), besides[e.Name]...)
		if e.From.N > 0 {
			list = append(list, e.From)
		}
		return list
	}
	all := func(list []skeleton.Name) bool {
		return slices.ContainsFunc(list, func(n skeleton.Name) bool {
			return events[n] != nil && visit(events[n])
		})
	}
	visit = func(e *skeleton.Event) bool {
		var key any = e.Name
		if e.Tick > 0 {
			key = e.Tick
		}
		if state[key] > 0 {
			return state[key] == 1
		}
		state[key] = 1
		circle := all(before(e))
		for c := 0; c < len(g) && e.Tick > 0 && !circle; c++ {
			if network.Ticks(g[c].Events) < e.Tick {
				circle = all(network.Lasts(g[c].Events))
				continue
			}
			for i := range g[c].Events {
				if f := &g[c].Events[i]; f.Tick == e.Tick {
					circle = circle || all(before(f))
				}
			}
		}
		state[key] = 2
		return circle
	}
	for _, e := range events {
		if visit(e) {
			return true
		}
	}
	return false
}

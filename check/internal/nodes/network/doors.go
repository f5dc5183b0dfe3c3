package network

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/tandem-mc/tandem/check/internal/nodes/places"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
)

// A connect counts as made before the node listens. Once a listener is closed, by its node or at
// the end of that, connects to it are refused, until the node listens there again. The close of a
// listener, and that the node listens again, are events for everybody. A connect takes something
// from the last one of these that is before it: from a close, then it is refused; from a listen,
// or from none, then it succeeds. One that succeeds was made before the next close of that
// listener. So that close resets it if nobody has accepted it.
//
// Who knows that a listener is closed cannot connect to it. It knows that by what it has received
// from whoever knew it, by a connect that was refused, and by the clock.

// IsDoor says whether an event is what a node does with a listener. Such an event is found out by
// others, and does not arrive.
func IsDoor(e *skeleton.Event) bool {
	d := Did(e)
	return d.Conn == "" && (d.Kind == model.Close || d.Kind == model.Listen)
}

// IsFoundOut says whether an event is a state that others find out, and does not arrive.
func IsFoundOut(e *skeleton.Event) bool { return IsDoor(e) || e.To == skeleton.Everybody }

// DoorsAt lists what is known to others of listeners of a node that an address reaches, in order:
// that one was closed, and that the node listens again.
func DoorsAt(arrivals []skeleton.Arrival, node int, address string) (list []*skeleton.Arrival) {
	for i := range arrivals {
		a := &arrivals[i]
		if IsDoor(&a.Send) && a.Send.Component == node && Reaches(Did(&a.Send).Address, address) {
			list = append(list, a)
		}
	}
	slices.SortFunc(list, func(a, b *skeleton.Arrival) int { return a.Send.N - b.Send.N })
	return list
}

// Tells says whether a node that has made an event knows of a listener what has arrived by that.
func Tells(e *skeleton.Event, arrivals []skeleton.Arrival, a *skeleton.Arrival,
	events []skeleton.Event) bool {
	if e.Tick > 0 && e.Tick > Epoch(events, a) || e.From == a.Send.Name {
		return true
	}
	return e.From.N > 0 && slices.ContainsFunc(arrivals, func(b skeleton.Arrival) bool {
		return b.Send.Name == e.From && slices.Contains(b.Knows, a.Send.Name)
	})
}

// IsKnown is Tells of any event of a node.
func IsKnown(a *skeleton.Arrival, arrivals []skeleton.Arrival, events []skeleton.Event) bool {
	return slices.ContainsFunc(events, func(e skeleton.Event) bool {
		return Tells(&e, arrivals, a, events)
	})
}

// Connects is the event of a connect of some kind, after the last of these that was before it; nil:
// none was. It is refused then where nobody said that the node listens.
func Connects(net *Nodes, d Event, to int, last *skeleton.Arrival) skeleton.Event {
	_, found := net.At(d.Address)
	d.Failed = last == nil && found == places.Own || last != nil && Did(&last.Send).Kind == model.Close
	e := skeleton.Event{Label: d, To: to}
	if last != nil {
		e.From, e.Got = last.Send.Name, last.Send.Label
	}
	if d.Failed {
		e.To = skeleton.Nobody
	}
	return e
}

// Overlap says whether connects can come to either of two listeners.
func Overlap(a, b string) bool { return Reaches(a, b) || Reaches(b, a) }

// CompareConnects puts connects into an order that does not depend on when they arrive.
func CompareConnects(a, b *skeleton.Event) int {
	return cmp.Or(cmp.Compare(a.Component, b.Component), CompareNames(a.Name, b.Name))
}

// ComesTo says whether a send is a connect that comes to the listener at an address which is there
// since again, and to no later or earlier one.
func ComesTo(address string, again skeleton.Name, send *skeleton.Event) bool {
	return Did(send).Kind == model.Connect && Reaches(address, Did(send).Address) && again == send.From
}

// OtherDoors lists the branches of a node in which a connect comes at another time: before or
// after the close of a listener, or after the node listens again. The node takes either.
func OtherDoors(net *Nodes, item skeleton.Item) (list []skeleton.Branch) {
	script := item.Local.Events
	for k := range script {
		e, now := &script[k], Did(&script[k])
		if now.Kind != model.Connect {
			continue
		}
		to := net.To(now.Address)
		known := DoorsAt(item.Arrivals, to, now.Address)
		for i := range len(known) + 1 { // so many are before it
			var last *skeleton.Arrival
			var after, from = []skeleton.Name(nil), skeleton.Name{}
			if i > 0 {
				last = known[i-1]
				after, from = last.After, last.Send.Name
			}
			before := withoutKnowing(script, e, item.Arrivals, known[i:])
			if from == e.From || !Happened(e.Past, before) || !Happened(after, before) {
				continue
			}
			event := Connects(net, now, to, last)
			event.Name, event.Past = e.Name, e.Past
			list = append(list, skeleton.Branch{Component: item.Component, Before: before, Event: &event})
		}
	}
	return list
}

// withoutKnowing lists those events that can have happened before one of them, when nothing of
// what is listed was known.
func withoutKnowing(script []skeleton.Event, e *skeleton.Event, arrivals []skeleton.Arrival,
	unknown []*skeleton.Arrival) (list []skeleton.Event) {
	var left []*skeleton.Event
	before := NotAfter(script, e)
	for i := range before {
		f := &before[i]
		if slices.ContainsFunc(unknown, func(a *skeleton.Arrival) bool {
			return Tells(f, arrivals, a, script)
		}) {
			left = append(left, f)
		}
	}
	return slices.DeleteFunc(before, func(f skeleton.Event) bool {
		return slices.ContainsFunc(left, func(g *skeleton.Event) bool {
			return g.Name == f.Name || skeleton.Precedes(g, &f)
		})
	})
}

// WithResets is a prefix in which every close of a listener resets the connections that wait
// there.
//
// A connect that succeeds is before the close of its listener, and nothing is known to be before
// that but what has come of the connect. So where the branch of such a connect is composed with a
// skeleton, the other node may do things after the close that are not after the connect. If all
// its events are in one order, the reset is the next one after the close, and what was there goes,
// with all that came of it.
func WithResets(net *Nodes, g skeleton.Global) skeleton.Global {
	of := g.EachArrivals()
	for c := 0; c < len(g); c++ {
		if !net.Ordered[c] {
			continue
		}
		if k := missesReset(g[c].Events, of(c)); k >= 0 {
			g = g.Until(c, g[c].Events[:k+1])
			of = g.EachArrivals()
			c = -1 // others may have others then
		}
	}
	return g
}

// missesReset is the first close of a listener after which something else happens than the resets
// of those that wait there; -1: there is none.
func missesReset(events []skeleton.Event, arrivals []skeleton.Arrival) int {
	again := map[string]skeleton.Name{} // the last listen that others can find out, by address
	for k := range events {
		e, d := &events[k], Did(&events[k])
		if !IsDoor(e) {
			continue
		}
		if d.Kind == model.Listen {
			if again[d.Address] = (skeleton.Name{}); e.To == skeleton.Everybody {
				again[d.Address] = e.Name
			}
			continue
		}
		var waiting []*skeleton.Event
		for i := range arrivals {
			a := &arrivals[i]
			if ComesTo(d.Address, again[d.Address], &a.Send) &&
				Happened(a.After, events[:k]) && !Takes(events[:k], a.Send.Name) {
				waiting = append(waiting, &a.Send)
			}
		}
		slices.SortFunc(waiting, CompareConnects)
		for i, w := range waiting {
			if k+1+i < len(events) && events[k+1+i].From != w.Name {
				return k
			}
		}
	}
	return -1
}

// Earlier has, for each event of a listener that others find out, the connects that were made
// before it, by names: those that take something from the event before it, or nothing. Real peers
// say of themselves what they do.
func Earlier(net *Nodes, g skeleton.Global) map[skeleton.Name][]skeleton.Name {
	doors := make([][]skeleton.Arrival, len(g))
	for c := range g {
		for i := range g[c].Events {
			if e := &g[c].Events[i]; IsDoor(e) && e.To == skeleton.Everybody {
				doors[c] = append(doors[c], skeleton.Arrival{Send: *e})
			}
		}
	}
	earlier := map[skeleton.Name][]skeleton.Name{}
	for c := range g {
		for i := range g[c].Events {
			e := &g[c].Events[i]
			to, found := net.At(Did(e).Address)
			if Did(e).Kind != model.Connect || found == places.Nobody || net.IsBeside(to) {
				continue
			}
			list := DoorsAt(doors[to], to, Did(e).Address)
			at := slices.IndexFunc(list, func(a *skeleton.Arrival) bool { return a.Send.Name == e.From })
			if at+1 < len(list) {
				n := list[at+1].Send.Name
				earlier[n] = append(earlier[n], e.Name)
			}
		}
	}
	return earlier
}

// NeverListens is the error of a node that is connected to and does not listen.
func NeverListens(n *Nodes, g skeleton.Global) error {
	for c := range g {
		for i := range g[c].Events {
			e := &g[c].Events[i]
			address := Did(e).Address
			listens := func(l skeleton.Event) bool {
				d := Did(&l)
				return d.Kind == model.Listen && Reaches(d.Address, address)
			}
			if d := Did(e); d.Kind == model.Connect && !d.Failed && !n.IsBeside(e.To) &&
				!slices.ContainsFunc(g[e.To].Events, listens) {
				return fmt.Errorf("node %s never listens at %s, where node %s connects to it: have it "+
					"listen there, or give it the address at which it does",
					n.Names[e.To], address, n.Names[c])
			}
		}
	}
	return nil
}

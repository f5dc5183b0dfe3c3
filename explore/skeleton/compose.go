package skeleton

import (
	"slices"

	"github.com/tandem-mc/tandem/internal/invariant"
)

// stream is a stream of a component.
type stream struct {
	component int
	name      string
}

// clock says how many events of each stream are before an event, and with it (Mattern: Virtual Time
// and Global States of Distributed Systems, 1988).
type clock map[stream]int

// clocks has the clock of every event.
func (g Global) clocks() map[Name]clock {
	events := map[Name]*Event{}
	for c := range g {
		for i := range g[c].Events {
			events[g[c].Events[i].Name] = &g[c].Events[i]
		}
	}
	known := map[Name]clock{}
	var of func(n Name) clock
	of = func(n Name) clock {
		if c, ok := known[n]; ok {
			return c
		}
		e := events[n]
		invariant.Check(e != nil, "skeleton: an event is there without those before it")
		known[n] = clock{} // a circle ends here
		c := clock{}
		for _, before := range e.Past {
			c.join(of(before))
		}
		if e.receives() {
			c.join(of(e.From))
		}
		if e.Tick > 0 {
			g.joinAll(c, e.Tick, of)
		}
		c[stream{n.Component, n.Stream}] = n.N
		known[n] = c
		return c
	}
	for n := range events {
		of(n)
	}
	return known
}

// joinAll has a clock take over all that happens before the k-th advance of the common clock, and
// that itself, which is one event of all who take part.
func (g Global) joinAll(c clock, k int, of func(Name) clock) {
	for d := range g {
		takesPart := ticks(g[d].Events) >= k
		for i := range g[d].Events {
			e := &g[d].Events[i]
			switch {
			case takesPart && e.Tick == k:
				for _, before := range e.Past {
					c.join(of(before))
				}
				c[stream{e.Component, e.Stream}] = e.N
			case !takesPart: // it had ended
				c.join(of(e.Name))
			}
		}
	}
}

// join takes over what is later in another clock.
func (c clock) join(d clock) {
	for s, n := range d {
		c[s] = max(c[s], n)
	}
}

// of lists the last event of each stream of one component.
func (c clock) of(component int) (names []Name) {
	for s, n := range c {
		if s.component == component {
			names = append(names, Name{s.component, s.name, n})
		}
	}
	slices.SortFunc(names, Name.compare)
	return names
}

// Arrivals lists what the others send to a component, in the order of names.
func (g Global) Arrivals(component int) []Arrival { return g.arrivals(component, g.clocks()) }

// EachArrivals is Arrivals for several components, as long as the skeleton does not change. What is
// before each event is found out once for all of them. One goroutine at a time asks.
func (g Global) EachArrivals() func(component int) []Arrival {
	var clocks map[Name]clock
	return func(component int) []Arrival {
		if clocks == nil { // nobody may ask
			clocks = g.clocks()
		}
		return g.arrivals(component, clocks)
	}
}

// arrivals lists what the others send to a component, in the order of names.
func (g Global) arrivals(component int, clocks map[Name]clock) (list []Arrival) {
	var all []Name // of what goes to everybody
	for c := range g {
		for _, e := range g[c].Events {
			if e.To == Everybody && c != component {
				all = append(all, e.Name)
			}
		}
	}
	for c := range g {
		for _, e := range g[c].Events {
			if e.To != component && (e.To != Everybody || c == component) {
				continue
			}
			at := clocks[e.Name]
			a := Arrival{Send: e, After: at.of(component)}
			for _, n := range all {
				if n != e.Name && at[stream{n.Component, n.Stream}] >= n.N {
					a.Knows = append(a.Knows, n)
				}
			}
			list = append(list, a)
		}
	}
	return list
}

// substitute puts a branch in the place of what its component does, and takes away what depends on
// what was there before. They do not fit if the component came to the branch in another way, or if
// the branch takes something that nobody sends.
func (g Global) substitute(b Branch) (next Global, fits bool) {
	was := g[b.Component]
	if !was.begins(b.Before) ||
		b.Event == nil && was.Ended && len(b.Before) == len(was.Events) && was.Waits == b.Waits {
		return nil, false
	}
	before := was.those(b.Before)
	next = g.with(b.Component, before)
	if len(next[b.Component].Events) < len(b.Before) {
		return nil, false // it took something that came of what it does not do any more
	}
	next.end(g, b, ticks(b.Before))
	if b.Event == nil {
		next[b.Component].Ended, next[b.Component].Waits = true, b.Waits
		return next, true
	}
	if e := b.Event; e.receives() {
		sent := next.find(e.From)
		if sent == nil || sent.Label != e.Got || next.received(e) ||
			sent.To != b.Component && (sent.To != Everybody || e.From.Component == b.Component) {
			return nil, false
		}
	}
	next[b.Component].Events = append(slices.Clone(before), *b.Event)
	next[b.Component] = next[b.Component].normal()
	return next, true
}

// with has a component do only some of its events, and takes away what came of the others. Nobody
// has ended.
func (g Global) with(component int, events []Event) Global {
	next := make(Global, len(g))
	// The clock advances when all have done what they can, so no later advance is as it was.
	last := ticks(events)
	for c := range g {
		next[c].Events = slices.DeleteFunc(slices.Clone(g[c].Events),
			func(e Event) bool { return e.Tick > last })
	}
	next[component] = Local{Events: events}
	next.cut()
	return next
}

// Until is what is left where a component does only some of its events: what it does then is open,
// and what came of the others does not happen.
func (g Global) Until(component int, events []Event) Global {
	next := g.with(component, events)
	next.end(g, Branch{Component: component, Event: &Event{}}, ticks(events))
	return next
}

// end has those end that had ended. It is for good before an advance of the clock that is left. Two
// ends are to be composed with each other, too: a prefix without the other one may be that of an
// execution in which that goes on. So those that have waited for the next advance, which is gone
// now, wait again. After an event others can go on with what comes of it.
func (g Global) end(was Global, b Branch, last int) {
	for c := range g {
		if c == b.Component {
			continue
		}
		if was[c].Ended && len(g[c].Events) == len(was[c].Events) &&
			(b.Event == nil || ticks(was[c].Events) < last && was[c].Waits == nil) {
			g[c].Ended, g[c].Waits = true, was[c].Waits
		}
		if waits, before := was[c].waited(last + 1); waits != nil && b.Event == nil &&
			len(g[c].Events) == before {
			g[c].Ended, g[c].Waits = true, waits
		}
	}
}

// waited is what a component has waited for when the clock has advanced for the k-th time, and how
// many events it had made by then. nil: it has not taken part, or that is not known.
func (l Local) waited(k int) (waits Label, before int) {
	i := slices.IndexFunc(l.Events, func(e Event) bool { return e.Tick == k })
	if i < 0 {
		return nil, 0
	}
	for j := range l.Events {
		if j != i && !Precedes(&l.Events[i], &l.Events[j]) {
			before++
		}
	}
	return l.Events[i].Waited, before
}

// cut takes away all events that something is missing for. The lists of events are copied.
func (g Global) cut() {
	there := map[Name]bool{}
	for c := range g {
		for i := range g[c].Events {
			there[g[c].Events[i].Name] = true
		}
	}
	for before := -1; before != len(there); {
		before = len(there)
		for c := range g {
			g[c].Events = slices.DeleteFunc(slices.Clone(g[c].Events), func(e Event) bool {
				missing := e.receives() && !there[e.From] ||
					slices.ContainsFunc(e.Past, func(n Name) bool { return !there[n] })
				if missing {
					delete(there, e.Name)
				}
				return missing
			})
		}
	}
}

// find returns the event with a name; nil: there is none.
func (g Global) find(n Name) *Event {
	list := g[n.Component].Events
	if i := slices.IndexFunc(list, func(e Event) bool { return e.Name == n }); i >= 0 {
		return &list[i]
	}
	return nil
}

// received says whether the same was received before of what was sent. A send can be received in
// parts, whose labels differ.
func (g Global) received(r *Event) bool {
	return slices.ContainsFunc(g, func(l Local) bool {
		return slices.ContainsFunc(l.Events, func(e Event) bool {
			return e.From == r.From && e.Label == r.Label
		})
	})
}

// begins says whether all these events are in a local skeleton, which is sorted. With every event
// they have those before it.
func (l Local) begins(events []Event) bool {
	for i := range events {
		at, found := slices.BinarySearchFunc(l.Events, events[i].Name,
			func(e Event, n Name) int { return e.Name.compare(n) })
		if !found || !l.Events[at].Equal(&events[i]) {
			return false
		}
	}
	return true
}

// those are events which are in a local skeleton, as they are there.
func (l Local) those(events []Event) (list []Event) {
	for i := range events {
		at, _ := slices.BinarySearchFunc(l.Events, events[i].Name,
			func(e Event, n Name) int { return e.Name.compare(n) })
		list = append(list, l.Events[at])
	}
	return list
}

// extends says whether a whole execution is one that begins with a prefix.
func (g Global) extends(prefix Global) bool {
	for c := range prefix {
		if !g[c].extends(&prefix[c]) {
			return false
		}
	}
	return true
}

// extends says whether what a component does is whole, and begins as it does in a prefix.
func (l Local) extends(prefix *Local) bool {
	return l.begins(prefix.Events) && (!prefix.Ended ||
		len(l.Events) == len(prefix.Events) && l.Waits == prefix.Waits)
}

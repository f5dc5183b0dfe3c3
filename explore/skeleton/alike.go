package skeleton

import (
	"slices"
	"strconv"
)

// A component is explored anew wherever something else is sent to it, or may be received at another
// time. Much of that makes no difference: most programs never look whether a connection is closed
// with which they are done. An exploration therefore says what was idle: sent to the component, and
// never asked for. Whenever that comes, nobody notices. So where nothing else differs, executions
// do not, either.

// Idle is an arrival that no execution of a component asks for, unless it comes before some of its
// events: no receive was ready for it, whether it was there or not.
type Idle struct {
	Arrival Name
	// After are events of the component. In the exploration they are before the arrival, too.
	After []Name
}

// alike is an exploration of a local skeleton, with what arrived and made no difference.
type alike struct {
	key      string // of the item
	arrivals []Arrival
	idle     []Idle
}

// localKey names a local skeleton of a component.
func localKey(component int, l Local) string {
	return keyOf(strconv.Itoa(component), l.key())
}

// Alike is what the exploration of an item would find, because another one has found it against
// arrivals that only differ in what nobody asked for. It has no Branches: those of
// the other exploration fit as well, and are known.
func (s *System) Alike(item Item) (e Exploration, found bool) {
	for _, a := range s.alike[localKey(item.Component, item.Local)] {
		if a.has(item.Arrivals) {
			r := s.explored[a.key]
			return Exploration{Traces: r.Traces, Outcomes: slices.Clone(r.Outcomes), Like: a.key}, true
		}
	}
	return Exploration{}, false
}

// has says whether arrivals differ from those that were explored only in what was idle: it may come
// at another time, or not at all.
func (a *alike) has(arrivals []Arrival) bool {
	for i := range arrivals {
		at := slices.IndexFunc(a.arrivals,
			func(b Arrival) bool { return b.Send.Name == arrivals[i].Send.Name })
		if at < 0 || !a.isSame(&a.arrivals[at], &arrivals[i]) {
			return false
		}
	}
	return !slices.ContainsFunc(a.arrivals, func(b Arrival) bool {
		return a.find(b.Send.Name) == nil && !slices.ContainsFunc(arrivals,
			func(c Arrival) bool { return c.Send.Name == b.Send.Name })
	})
}

// isSame says whether an arrival of one name makes no difference to what it was.
func (a *alike) isSame(was, is *Arrival) bool {
	if was.Send.Label != is.Send.Label || was.Send.To != is.Send.To {
		return false
	}
	if idle := a.find(was.Send.Name); idle != nil {
		return !slices.ContainsFunc(idle.After, func(n Name) bool { return !Includes(is.After, n) })
	}
	return slices.Equal(was.After, is.After) && slices.Equal(was.Knows, is.Knows)
}

// find is what is known of an arrival that was idle; nil: it was not.
func (a *alike) find(n Name) *Idle {
	if i := slices.IndexFunc(a.idle, func(idle Idle) bool { return idle.Arrival == n }); i >= 0 {
		return &a.idle[i]
	}
	return nil
}

// Includes says whether an event is among those that the last ones of their streams say.
func Includes(last []Name, n Name) bool {
	return slices.ContainsFunc(last, func(m Name) bool {
		return m.Component == n.Component && m.Stream == n.Stream && m.N >= n.N
	})
}

// Package cuts has consistent cuts of a skeleton: parts of an execution in which every event has
// all that is before it. Each of them is a moment that the system can come to: the nodes can do
// that much, and no more by then. What they have done after it in the execution that the skeleton
// is of need not happen any more.
package cuts

import (
	"time"

	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/explore/skeleton"
)

// Skeleton is a skeleton whose cuts are asked for. One goroutine at a time uses it.
type Skeleton struct {
	global skeleton.Global
	events map[skeleton.Name]*skeleton.Event
	known  map[skeleton.Name]Cut // those that lead to one event
}

// Cut is a consistent cut: the names of all its events.
type Cut map[skeleton.Name]bool

// Of has the cuts of a skeleton.
func Of(g skeleton.Global) *Skeleton {
	s := &Skeleton{global: g, events: map[skeleton.Name]*skeleton.Event{}, known: map[skeleton.Name]Cut{}}
	for c := range g {
		for i := range g[c].Events {
			s.events[g[c].Events[i].Name] = &g[c].Events[i]
		}
	}
	return s
}

// To is the least cut that has an event: all that is before it, and itself. It is not to be
// changed.
func (s *Skeleton) To(name skeleton.Name) Cut {
	if cut, known := s.known[name]; known {
		return cut
	}
	cut := Cut{}
	for todo := []skeleton.Name{name}; len(todo) > 0; {
		next := todo[0]
		if todo = todo[1:]; cut[next] {
			continue
		}
		cut[next] = true
		e := s.events[next]
		todo = append(todo, e.Past...)
		if e.From.N > 0 {
			todo = append(todo, e.From)
		}
		if e.Tick > 0 {
			todo = append(todo, s.tick(e.Tick)...)
		}
	}
	s.known[name] = cut
	return cut
}

// tick names the events of all nodes that are one advance of the clock, and all events of nodes
// that have ended before it.
func (s *Skeleton) tick(k int) (names []skeleton.Name) {
	for c := range s.global {
		events := s.global[c].Events
		takesPart := false
		for i := range events {
			if events[i].Tick == k {
				names, takesPart = append(names, events[i].Name), true
			}
		}
		for i := 0; i < len(events) && !takesPart; i++ {
			names = append(names, events[i].Name)
		}
	}
	return names
}

// Time is what the clock shows when a node makes an event.
func (s *Skeleton) Time(e *skeleton.Event) (now time.Duration) {
	cut := s.To(e.Name)
	for i := range s.global[e.Component].Events {
		if f := &s.global[e.Component].Events[i]; f.Tick > 0 && cut[f.Name] {
			now = max(now, network.Did(f).Time)
		}
	}
	return now
}

// InOrder returns two events in an order in which they can happen: the second one is not before the
// first one.
func (s *Skeleton) InOrder(a, b *skeleton.Event) (first, second *skeleton.Event) {
	if s.To(a.Name)[b.Name] {
		return b, a
	}
	return a, b
}

// Part is the least cut with two events, as a part of the skeleton. The second one is given to
// change, which may have it be another one: nothing in the part comes after it.
func (s *Skeleton) Part(first, second *skeleton.Event, change func(*skeleton.Event)) skeleton.Global {
	one, other := s.To(first.Name), s.To(second.Name)
	part := make(skeleton.Global, len(s.global))
	for c := range s.global {
		for _, e := range s.global[c].Events {
			if !one[e.Name] && !other[e.Name] {
				continue
			}
			if e.Name == second.Name {
				change(&e)
			}
			part[c].Events = append(part[c].Events, e)
		}
	}
	return part
}

package network

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
)

// The events of a node are in a partial order, or in one order: package nodes says how that is
// found. Each event has its stream. Of a node that is ordered all events are in one stream.

// The streams that no connection has. Each connection has one of what is sent on it, its end
// included, and one of what is received.
const (
	Doors   = "doors" // what is listened at, connected and accepted
	Ticking = "clock"
	Saying  = "published"
)

// StreamOf is the stream of an event.
func StreamOf(d Event) string {
	switch {
	case d.Kind == model.Pass:
		return Ticking
	case d.Kind == model.Publish:
		return Saying
	case d.Conn == "" || d.Kind == model.Connect || d.Kind == model.Accept:
		return Doors
	case d.Kind == model.Receive:
		return d.Conn + " in"
	}
	return d.Conn + " out"
}

// NotAfter lists those events that can all have happened before an event of theirs: all but those
// after it.
func NotAfter(events []skeleton.Event, e *skeleton.Event) (list []skeleton.Event) {
	for i := range events {
		if f := &events[i]; f.Name != e.Name && !skeleton.Precedes(e, f) {
			list = append(list, *f)
		}
	}
	return list
}

// Happened says whether all that is named is among some events, which have all that is before them.
func Happened(after []skeleton.Name, events []skeleton.Event) bool {
	for _, n := range after {
		if !slices.ContainsFunc(events, func(e skeleton.Event) bool { return e.Name == n }) {
			return false
		}
	}
	return true
}

// InOrder is an event as the n-th one of a node whose events are in one order.
func InOrder(e skeleton.Event, node, n int) skeleton.Event {
	if e.Name, e.Past = (skeleton.Name{Component: node, N: n}), nil; n > 1 {
		e.Past = []skeleton.Name{{Component: node, N: n - 1}}
	}
	return e
}

// Lasts names the last event of each stream, sorted.
func Lasts(events []skeleton.Event) []skeleton.Name {
	last := map[string]skeleton.Name{}
	for i := range events {
		if n := events[i].Name; n.N > last[n.Stream].N {
			last[n.Stream] = n
		}
	}
	names := make([]skeleton.Name, 0, len(last))
	for _, n := range last {
		names = append(names, n)
	}
	slices.SortFunc(names, CompareNames)
	return names
}

// CompareNames sorts names of one node.
func CompareNames(a, b skeleton.Name) int {
	return cmp.Or(cmp.Compare(a.Stream, b.Stream), cmp.Compare(a.N, b.N))
}

// Sorted are events in the order of their names.
func Sorted(events []skeleton.Event) []skeleton.Event {
	return slices.SortedFunc(slices.Values(events),
		func(a, b skeleton.Event) int { return CompareNames(a.Name, b.Name) })
}

// TicksBefore is how often the clock has advanced before an event of a node that is not ordered.
func TicksBefore(e *skeleton.Event) int {
	for _, n := range e.Past {
		if n.Stream == Ticking {
			return n.N
		}
	}
	return 0
}

// LastTick is the advance of the clock that a script ends with, and the script without it; false:
// it does not end so.
func LastTick(script []skeleton.Event) (without []skeleton.Event, found bool) {
	last := Ticks(script)
	i := slices.IndexFunc(script, func(e skeleton.Event) bool { return e.Tick > 0 && e.Tick == last })
	if i < 0 || len(NotAfter(script, &script[i])) < len(script)-1 {
		return nil, false
	}
	return slices.Delete(slices.Clone(script), i, i+1), true
}

// KeyOf is the same for equal events of a node, in the same order: a hash, since there are many.
func KeyOf(events []skeleton.Event) string {
	hash := sha256.New()
	for _, e := range Sorted(events) {
		fmt.Fprintf(hash, "%s %d %v %s\n", e.Stream, e.N, e.Past, e.Label.Key())
		if e.Got != nil {
			fmt.Fprint(hash, e.Got.Key())
		}
		fmt.Fprint(hash, "\n")
	}
	return string(hash.Sum(nil))
}

// KeyOfBranch is that of the events which a branch has, and of the branch.
func KeyOfBranch(b *skeleton.Branch) (events, way string) {
	list := b.Before
	if b.Event != nil {
		list = append(slices.Clone(list), *b.Event)
	} else if way = "ends"; b.Waits != nil {
		way = b.Waits.Key()
	}
	events = KeyOf(list)
	return events, events + way
}

// Ticks is how often the clock has advanced for a node.
func Ticks(events []skeleton.Event) (ticks int) {
	for i := range events {
		ticks = max(ticks, events[i].Tick)
	}
	return ticks
}

// Epoch is how often the clock had advanced for a node, of the given events, before something was
// sent to it.
func Epoch(script []skeleton.Event, a *skeleton.Arrival) (ticks int) {
	for _, n := range a.After {
		if n.Stream == Ticking {
			return n.N
		}
		if n.Stream == "" { // of a node whose events are in one order
			ticks = max(ticks, Ticks(script[:min(n.N, len(script))]))
		}
	}
	return ticks
}

// Takes says whether one of some events takes what was sent. A connection is accepted once, so a
// branch must not accept it again.
func Takes(events []skeleton.Event, sent skeleton.Name) bool {
	return slices.ContainsFunc(events, func(e skeleton.Event) bool { return e.From == sent })
}

// CompareSends puts sends into an order that does not depend on when they arrive.
func CompareSends(a, b *skeleton.Event) int {
	return cmp.Or(cmp.Compare(a.Component, b.Component), CompareNames(a.Name, b.Name))
}

// Offers is 1 and how much can arrive at a node.
func Offers(arrivals []skeleton.Arrival) int {
	n := 1
	for i := range arrivals {
		if !IsFoundOut(&arrivals[i].Send) {
			n++
		}
	}
	return n
}

package dpor

import (
	"github.com/tandem-mc/tandem/explore/internal/core"
	"github.com/tandem-mc/tandem/explore/internal/trace"
	"github.com/tandem-mc/tandem/explore/internal/wakeup"
)

// Most reversals are explored already, or to be. This finds that out without planning them, for
// those that are made of all events that do not depend on the event of the race, and then the
// operation: of each goroutine the events from one on to another.

// outline is such a reversal, as far as it is left.
type outline struct {
	trace *trace.Trace
	event int32 // of the race
	// For each goroutine, which of its events comes next, counted from 0, and the first that is not
	// part of it.
	next, limits []int32
	head         int32 // no event before this one is left
	op           trace.Step
	goneOp       bool
}

// short is after how many events it takes no longer to plan a reversal than to find out about it.
const short = 64

func (o *outline) isEmpty() bool {
	for g, next := range o.next {
		if next < o.limits[g] {
			return false
		}
	}
	return o.goneOp
}

// left is how many steps are left.
func (o *outline) left() (n int) {
	for g, next := range o.next {
		n += int(o.limits[g] - next)
	}
	if !o.goneOp {
		n++
	}
	return n
}

// ofOperation is the place of the operation among the goroutines, whose events are before it.
const ofOperation = -1

// relate is as reversal.relate. Of what is initial it returns the goroutine, or ofOperation.
func (o *outline) relate(a *trace.Step) (wakeup.Relation, int) {
	t := o.trace
	if g, known := t.GoroutineOf.Near(a.Number, a.Goroutine); known && o.next[g] < o.limits[g] {
		x := t.Goroutines[g].Events[o.next[g]]
		if t.Events[x].Choice == a.Choice && o.mayBegin(x) {
			return wakeup.Initial, int(g)
		}
		return wakeup.Follows, 0
	}
	if !o.goneOp && a.Goroutine == o.op.Goroutine {
		// if a is a guess, what is left has to be nothing else: see follow
		if !o.conflicts(a.Accesses) {
			return wakeup.Initial, ofOperation
		}
		return wakeup.Follows, 0
	}
	if o.conflicts(a.Accesses) || !o.goneOp && core.Conflict(a.Accesses, o.op.Accesses) {
		return wakeup.Follows, 0
	}
	return wakeup.Commuting, 0
}

// mayBegin reports whether no other event that is left happened before x, which is the first of its
// goroutine that is.
func (o *outline) mayBegin(x int32) bool {
	t := o.trace
	for ; o.head < x; o.head++ { // mostly x is the first of all
		if event := &t.Events[o.head]; o.has(event) {
			break
		}
	}
	if o.head == x {
		return true
	}
	own := t.Events[x].Number
	for g, n := range t.ClockOf(x) {
		if int32(g) != own && min(n, o.limits[g]) > o.next[g] {
			return false
		}
	}
	return true
}

// has reports whether an event after that of the race is left.
func (o *outline) has(x *trace.Event) bool {
	return x.Ordinal > o.next[x.Number] && x.Ordinal <= o.limits[x.Number]
}

// conflicts reports whether an event that is left conflicts with accesses.
func (o *outline) conflicts(accesses []core.Access) bool {
	t := o.trace
	for _, a := range accesses {
		number, known := t.ObjectOf.Of(a.Object)
		if a.Object == 0 || !known {
			continue
		}
		object := &t.Objects[number]
		for _, x := range object.Uses[object.FirstFrom(o.event+1):] {
			if t.Uses[x.Use].Kinds&core.Conflicting[a.Kind] == 0 {
				continue
			}
			if o.has(&t.Events[x.Event]) {
				return true
			}
		}
	}
	return false
}

// follow is as spot.follow. It returns -1, too, where that postpones.
func (o *outline) follow(at *wakeup.Spot) (branch int) {
	for n := range at.Branches() {
		a := at.First(n)
		switch relation, g := o.relate(a); {
		case relation == wakeup.Initial && g == ofOperation:
			if a.Is(trace.Guessed) && o.left() > 1 {
				return -1
			}
			o.goneOp = true
			return n
		case relation == wakeup.Initial:
			o.next[g]++
			return n
		case relation == wakeup.Commuting && a.Is(trace.Guessed):
			return -1
		case relation == wakeup.Commuting:
			return n
		}
	}
	return -1
}

// isPlain reports whether a reversal is made of all events that do not depend on the event, and
// then the operation.
func (p *planner) isPlain(f *reversible) bool {
	return p.maximal && p.ender < 0 && f.without < 0 && f.Within == nil &&
		len(p.trace.Events)-int(f.Event) <= wakeup.MaxSteps && !p.overdrawnWithout(f.Event)
}

// overdrawnWithout reports whether a counter gets below zero without event e and what depends on
// it.
func (p *planner) overdrawnWithout(e int32) bool {
	t := p.trace
	if !t.CountsFrom(e) || !p.accounts.mayOverdraw() {
		return false
	}
	clear(p.counters)
	from := len(t.Counting)
	for from > 0 && t.Counting[from-1] >= e {
		from--
	}
	for n, x := range t.Counting[from:] {
		// it is listed for each counter
		if n > 0 && x == t.Counting[from+n-1] || t.Includes(t.ClockOf(x), e) {
			continue
		}
		if p.overdraws(e, x) {
			return true
		}
	}
	return false
}

// outline is the plain reversal of f. It is valid until the next call.
func (p *planner) outline(f *reversible) *outline {
	t, o := p.trace, &p.outlined
	*o = outline{trace: t, event: f.Event, head: f.Event + 1, next: o.next[:0], limits: o.limits[:0],
		op: f.op}
	for g := range t.Goroutines {
		from, to := t.Without(int32(g), f.Event, -1, nil)
		o.next, o.limits = append(o.next, int32(from)), append(o.limits, int32(max(from, to)))
	}
	return o
}

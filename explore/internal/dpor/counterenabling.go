package dpor

import (
	"slices"

	"github.com/tandem-mc/tandem/explore/internal/core"
	"github.com/tandem-mc/tandem/explore/internal/trace"
)

// A Wait waits for a counter to be zero. To reverse its race with an event, it does not always
// suffice to leave out the event and what happened after it: of several Adds none is alone in the
// way. What has to be left out too follows from the account of the counter.
//
// Let every take be matched with gives that happened before it, which is possible unless the
// counter gets below zero in some order (settle). In a set of events that is closed under
// happens-before, all takes are then matched within the set. So the counter is zero after it
// exactly if all its gives are matched there too. Of two such sets the union is another one: there
// is a largest, which is what is left when gives that are not matched are left out, with what
// happened after them, until there are none. All others are orders of the same events in which the
// Wait runs still earlier, and are found as races in the execution that the largest leads to.

// enableCounter finds out whether the operation of f, which waits for a counter to be zero, could
// run before its event, and what has to run before it. The answer is Perhaps if the counter gets
// below zero in some order.
func (as *accounts) enableCounter(f *reversible) trace.Answer {
	t, a := as.trace, as.accountOf(f.Counter)
	if !a.balanced {
		return trace.Perhaps
	}
	set := t.AllWithout(f.Event)
	for {
		x, some := a.unmatched(set)
		if !some {
			break
		}
		if x < f.Event || t.Includes(f.Past, x) {
			return trace.No
		}
		t.LeaveOut(set, x)
	}
	if lockedAfter(t, set, f) {
		return trace.No
	}
	past := append(trace.Clock(nil), f.Past...)
	past = append(past, trace.Zeros(nil, len(t.Goroutines)-len(past))...)
	for _, x := range t.Objects[f.Counter].Uses {
		if t.Includes(set, x.Event) {
			past.Join(t.ClockOf(x.Event))
		} else if t.Uses[x.Use].Kinds&(1<<core.Write) != 0 && !t.Includes(t.ClockOf(x.Event), f.Event) {
			return trace.No // it is what closed a mutex, in a race of its own
		}
	}
	f.Past, f.Within = past, set
	return trace.Yes
}

// lockedAfter reports whether another goroutine holds the lock that f waits for after a set of
// events: as with one that closed it later, that is a race of its own.
func lockedAfter(t *trace.Trace, set trace.Clock, f *reversible) bool {
	uses := t.Objects[f.Counter].Uses
	last := len(uses) - 1
	for last >= 0 && !(t.Includes(set, uses[last].Event) &&
		t.Uses[uses[last].Use].Kinds&(1<<core.Write) != 0) {
		last--
	}
	if last < 0 || t.Events[uses[last].Event].Action.Goroutine == f.op.Goroutine {
		return false
	}
	if last+1 < len(uses) {
		return t.Uses[uses[last+1].Use].Ready&(core.ReadyExclusive|core.ReadyShared) == 0
	}
	return !slices.ContainsFunc(f.op.Accesses, func(a core.Access) bool {
		return a.Object == t.ObjectOf.Ids[f.Counter] && a.Ready&(core.ReadyExclusive|core.ReadyShared) != 0
	})
}

// unmatched returns a give in a set that is not matched completely with takes in the set.
func (a *account) unmatched(set trace.Clock) (event int32, some bool) {
	for i := range a.gives {
		g := &a.gives[i]
		if g.event >= 0 && !a.trace.Includes(set, g.event) {
			continue
		}
		free := g.free
		for _, m := range g.taken {
			if !a.trace.Includes(set, a.takes[m.take].event) {
				free += m.amount
			}
		}
		if free > 0 {
			return g.event, true
		}
	}
	return 0, false
}

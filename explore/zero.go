package explore

import (
	"slices"

	"github.com/tandem-mc/tandem/internal/model"
)

// A Wait waits for a counter to be zero. To reverse its race with an event, it does not always
// suffice to leave out the event and what happened after it: of several Adds none is
// alone in the way. What has to be left out too follows from the account of the counter.
//
// Let every take be matched with gives that happened before it, which is possible unless the
// counter gets below zero in some order (settle). In a set of events that is closed under
// happens-before, all takes are then matched within the set. So the counter is zero after it
// exactly if all its gives are matched there too. Of two such sets the union is another one: there is
// a largest, which is what is left when gives that are not matched are left out, with what happened after
// them, until there are none. All others are orders of the same events in which the Wait runs
// still earlier, and are found as races in the execution that the largest leads to.

// empty finds out whether the operation of f could run before its event with the counter
// at zero, and what has to run before it. The answer is perhaps if the
// counter gets below zero in some order.
func (d *dpor) empty(f *reversible) answer {
	t, a := d.trace, d.accountOf(f.counter)
	if !a.balanced {
		return perhaps
	}
	set := t.allWithout(f.event)
	for {
		x, some := a.unmatched(set)
		if !some {
			break
		}
		if x < f.event || t.includes(f.past, x) {
			return no
		}
		t.leaveOut(set, x)
	}
	if t.lockedAfter(set, f) {
		return no
	}
	past := append(clock(nil), f.past...)
	past = append(past, zeros(nil, len(t.goroutines)-len(past))...)
	for _, x := range t.objects[f.counter].uses {
		if t.includes(set, x.event) {
			past.join(t.clockOf(x.event))
		} else if t.uses[x.use].kinds&(1<<Write) != 0 && !t.includes(t.clockOf(x.event), f.event) {
			return no // it is what closed a mutex, in a race of its own
		}
	}
	f.past, f.within = past, set
	return yes
}

// lockedAfter reports whether another goroutine holds the lock that f waits for after a set of
// events: as with one that closed it later, that is a race of its own.
func (t *trace) lockedAfter(set clock, f *reversible) bool {
	uses := t.objects[f.counter].uses
	last := len(uses) - 1
	for last >= 0 && !(t.includes(set, uses[last].event) && t.uses[uses[last].use].kinds&(1<<Write) != 0) {
		last--
	}
	if last < 0 || t.events[uses[last].event].Action.Goroutine == f.op.Goroutine {
		return false
	}
	if last+1 < len(uses) {
		return t.uses[uses[last+1].use].ready&(model.ReadyExclusive|model.ReadyShared) == 0
	}
	return !slices.ContainsFunc(f.op.Accesses, func(a Access) bool {
		return a.Object == t.objectOf.ids[f.counter] && a.Ready&(model.ReadyExclusive|model.ReadyShared) != 0
	})
}

// allWithout is the set of all events that did not happen after e, as a clock.
func (t *trace) allWithout(e int32) clock {
	set := clock(zeros(nil, len(t.goroutines)))
	for g := range set {
		set[g] = int32(len(t.goroutines[g].events))
	}
	t.leaveOut(set, e)
	return set
}

// leaveOut takes event e, and what happened after it, out of a set that is closed under
// happens-before.
func (t *trace) leaveOut(set clock, e int32) {
	for g := range set {
		events := t.goroutines[g].events
		for set[g] > 0 && t.includes(t.clockOf(events[set[g]-1]), e) {
			set[g]--
		}
	}
}

// unmatched returns a give in a set that is not matched completely with takes in the set.
func (a *account) unmatched(set clock) (event int32, some bool) {
	for i := range a.gives {
		g := &a.gives[i]
		if g.event >= 0 && !a.trace.includes(set, g.event) {
			continue
		}
		free := g.free
		for _, m := range g.taken {
			if !a.trace.includes(set, a.takes[m.take].event) {
				free += m.amount
			}
		}
		if free > 0 {
			return g.event, true
		}
	}
	return 0, false
}

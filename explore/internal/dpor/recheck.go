package dpor

import (
	"slices"

	"github.com/tandem-mc/tandem/explore/internal/core"
	"github.com/tandem-mc/tandem/explore/internal/trace"
)

// When a race has to be looked at, and why that suffices.
//
// Optimal DPOR as published reverses all races of every execution. What is reversed of a race of
// event e with operation f is v: everything in the execution that does not depend on e, and in the
// end f. Let another execution have the race in what they have in common, and reverse it as w.
//
// Where f is the same before e as after it, looking at v suffices. v and w differ only in events
// after f, which do not depend on e, and so not on f, and commute with it. What is a weak initial
// of v (section 4), and so keeps v out, is explored, or will be. Either it is a weak initial of w
// too. Or the first event in w that it conflicts with is the end of a race with it, in an execution
// that begins with it and goes on with w up to there: that one is reversed as a part of w which
// includes f.
//
// But f may be another transition before e, of which only what is foreseeable is known: one that is
// sealed may have been cut short, or have gone on. What is new in w may then conflict with it,
// though not with f as it was: such a race is kept in recheck, and looked at again in every
// execution that adds something to v. So is one with what a partner would have done by itself,
// which was not executed. (What is pending at the end is found anew in every execution.)
//
// That f was a single access does not say that it is one before e. Where the worker knows that
// (Transition.SingleAccess), the race need not be rechecked, even if f finds something else there
// and accesses its object in another way: something new in w that conflicts with f then accesses
// that object too, as e does, and does not conflict with e. So both read, or both add to its
// counter; and as e conflicts with f as it was, so does what is new. There is one exception: before
// e, f may end where it waits for a partner, and say so. Only what looks for partners conflicts
// with that: where an execution adds such an event to v, the race is looked at again.
//
// For the same reason something may be taken for a weak initial of v that is not. Let d(e) be how
// many of its accesses f makes, before e, up to the first that conflicts with e: these are
// foreseeable. If c keeps v out although it conflicts with f, then d(c) > d(e). Where c is
// explored, f races with it, and is reversed with more foreseen; and so on, as long as something
// keeps it out, until nothing can. That takes three things:
//
//   - The accesses of a transition are in an order in which each follows from what those before it
//     found. So an operation on several channels first looks at all of them, and then changes some.
//     (If it changed one before it looks at the next, it might not do so in another place, and what
//     conflicts with either could keep out the reversal of the other.)
//   - c does not disable f, so that the race is found: hence all that its Needs are about is
//     foreseeable. If c completes f as its partner, f is not executed, and what else it would have
//     found is not known: but it waits for partners then, and c has found it waiting. So it
//     withdraws before it does anything else, which is foreseeable too.
//   - f is one transition, whichever of its alternatives is taken: they make the same accesses. So
//     a transition of which the operation has several ends with it, before the goroutine does what
//     others would notice. (If one alternative made an access that another does not, what commutes
//     with only one of them could stand for both.)
//
// What one thing keeps out because it is inserted elsewhere has to stay inserted: see
// insertPostponed.

// kept is a race that shares no memory with the execution in which it was found.
func kept(f reversible) reversible {
	f.Past, f.op.Accesses = slices.Clone(f.Past), slices.Clone(f.op.Accesses)
	return f
}

// foundBefore are copies of the races that were found before an event, which share no memory with
// the trace. Races are in the order in which they were found.
func foundBefore(races []reversible, event int) []reversible {
	n, clocks, accesses := 0, 0, 0
	for ; n < len(races) && int(races[n].found) < event; n++ {
		f := &races[n]
		clocks, accesses = clocks+len(f.Past)+len(f.Within), accesses+len(f.op.Accesses)
	}
	list := slices.Clone(races[:n])
	numbers, all := make(trace.Clock, 0, clocks), make([]core.Access, 0, accesses)
	for i := range list {
		f := &list[i]
		f.Past, numbers = moved(f.Past, numbers)
		f.Within, numbers = moved(f.Within, numbers)
		f.op.Accesses, all = moved(f.op.Accesses, all)
	}
	return list
}

// moved is a copy of a list, at the end of others. Nil stays nil.
func moved[S ~[]E, E any](list, others S) (c, all S) {
	if list == nil {
		return nil, others
	}
	all = append(others, list...)
	return all[len(others):len(all):len(all)], all
}

// addsAny reports whether one of the events from event from on belongs to the reversal of a race.
func addsAny(t *trace.Trace, from int, f *reversible) bool {
	for x := int32(from); x < int32(len(t.Events)); x++ {
		if adds(t, x, f) {
			return true
		}
	}
	return false
}

// adds reports whether event x belongs to the reversal of a race.
func adds(t *trace.Trace, x int32, f *reversible) bool {
	c := t.ClockOf(x)
	return !t.Includes(c, f.Event) && (f.without < 0 || !t.Includes(c, f.without))
}

// reversible is a race, or what is like one, of which the reversal is still to be planned.
type reversible struct {
	trace.Race
	op trace.Step // what is to run before the event, as far as it is known
	// without is an event that cannot run if op does, like one that completed it: -1 if
	// there is none.
	without      int32
	found        int32 // event with which the race was found
	singleAccess bool  // the transition that op begins makes a single access
}

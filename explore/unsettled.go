package explore

import "slices"

// A race is looked at once, in the execution in which the event that it ends in is new, although
// in later ones there may be more that does not depend on its first event, and so belongs to its reversal.
// That suffices where the operation that the race ends in does the same before the event as after it.
// Let v be the reversal that was found first, and w that of a later execution. They differ in
// events after the operation only, which commute with it. So what is a weak initial of v, and was explored or will be,
// commutes with w as far as that is the same. Then either it is a weak initial of w too; or
// something in w conflicts with it, and that is a race of its own, found where the weak initial is explored.
//
// The theory has it that dependence persists: if transitions p and r depend on
// each other, and q is independent of p, then p and r also do after q (one of the
// properties of a happens-before assignment, POPL 2014, section 3). There are two kinds of operations for
// which it does not, and their races are looked at again, with what else has become known
// not to depend on the event:
//
//   - A transition that is sealed. Let r lock m and then, in the same transition, write c; after q locked m, it only waits
//     for m, and p, which reads c, is independent of it. With r asleep before q, the order p, r, q would be lost: of
//     q, r, p only the race of q with r is seen, and what begins with r was explored. But then p came after r, and
//     now it has to be before it.
//   - What a partner would have done by itself. It is not executed, so that nothing is known to depend on it.
//
// Of operations that are pending at the end that is also true; they are new in every execution.

// awakened is a sleeper with several accesses, and the event that woke it.
type awakened struct {
	Sleeper
	event int32
}

// appendAwakened appends those awakened after the last event: those before it that
// have not run since, and the sleepers that it woke.
func (d *dpor) appendAwakened(list []awakened) []awakened {
	last := int32(len(d.trace.events)) - 1
	if last < 0 {
		return list
	}
	n, g, accesses := &d.nodes[last], d.path[last].Goroutine, d.trace.accessesOf(last)
	for _, a := range d.awakenedAt(n) {
		if a.Goroutine != g {
			list = append(list, a)
		}
	}
	for _, s := range d.sleepOf(n) {
		if len(s.Accesses) > 1 && s.Goroutine != g && s.Wakes(accesses) {
			list = append(list, awakened{s, last})
		}
	}
	return list
}

func (d *dpor) awakenedAt(n *node) []awakened {
	return d.awakened[n.awakenedBegin:n.awakenedEnd]
}

// covers reports whether everything that conflicts with one of some accesses also
// conflicts with one of all.
func covers(all, some []Access) bool {
	for _, s := range some {
		if !slices.ContainsFunc(all, func(a Access) bool { return a.Object == s.Object && (a.Kind == s.Kind || a.Kind == Write) }) {
			return false
		}
	}
	return true
}

// unsettled is a race that is looked at again with every execution that it is a part of.
type unsettled struct {
	reversible
	found int32    // event with which the race was found
	was   []Access // of the operation, executed before the event; nil if that is not known
}

// findUnsettled notes which of the races that event i ends in are unsettled: those with the
// event that woke the goroutine, if what that does now does not cover what it did when it was asleep.
func (d *dpor) findUnsettled(i int, races []race) {
	op := step{Action: d.path[i], Accesses: d.trace.accessesOf(int32(i))}
	for _, a := range d.awakenedAt(&d.nodes[i]) {
		if a.Goroutine != op.Goroutine || covers(op.Accesses, a.Accesses) {
			continue
		}
		for _, r := range races {
			if r.event == a.event {
				d.keep(unsettled{reversible{r, op, false, -1}, int32(i), a.Accesses})
			}
		}
	}
}

// findPartners notes the races that end in what a partner in transition i would have done by itself.
func (d *dpor) findPartners(i int, x *Transition) error {
	for p := range x.Partners {
		p := &x.Partners[p]
		races, err := d.trace.pendingRaces(p, true)
		if err != nil {
			return err
		}
		for _, r := range races {
			d.keep(unsettled{reversible{r, p.step(), true, int32(i)}, int32(i), nil})
		}
	}
	return nil
}

func (d *dpor) keep(u unsettled) {
	u.past, u.op.Accesses = slices.Clone(u.past), slices.Clone(u.op.Accesses)
	d.unsettled = append(d.unsettled, u)
}

// reverseUnsettled plans the reversals of unsettled races to which events from event from on
// add something.
func (d *dpor) reverseUnsettled(from int) {
	for i := range d.unsettled {
		if u := &d.unsettled[i]; d.adds(from, u) {
			d.reverseRace(u.reversible)
		}
	}
}

// adds reports whether one of the events from event from on belongs to the reversal of an unsettled race.
func (d *dpor) adds(from int, u *unsettled) bool {
	if int(u.found) >= from {
		return u.was == nil
	}
	t := d.trace
	for x := int32(from); x < int32(len(t.events)); x++ {
		c := t.clockOf(x)
		if !t.includes(c, u.event) && (u.without < 0 || !t.includes(c, u.without)) && (u.was == nil || Conflict(u.was, t.accessesOf(x))) {
			return true
		}
	}
	return false
}

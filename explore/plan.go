package explore

import (
	"slices"
	"sort"
)

// reversible is a race, or what is like one, of which the reversal is still to be planned.
type reversible struct {
	race
	op step // what is to run before the event, as far as it is known
	// without is an event that cannot run if op does, like one that completed it: -1 if
	// there is none.
	without int32
	found   int32 // event with which the race was found
	settled bool  // the transition that op begins is Settled
}

// find notes the races that end in event f.
func (d *dpor) find(races []race, f int32) {
	t := d.trace
	for _, r := range races {
		r := reversible{race: r, op: step{Action: d.path[f]}, without: -1, found: f}
		r.op.Accesses = foreseeable(t.accessesOf(f), t.needsOf(f), t.accessesOf(r.event))
		r.settled = t.events[f].settled
		d.reversible, d.unsettled = append(d.reversible, r), append(d.unsettled, r)
	}
}

// reverse sees to it that what an execution shows from event from on is also explored
// the other way round.
func (d *dpor) reverse(from int, e *Execution) error {
	d.classify(e)
	d.accounts.reset()
	for i := from; i < len(d.trace.events); i++ {
		d.insertPostponed(int32(i))
		if d.trace.events[i].choices > 1 {
			d.choosing = append(d.choosing, int32(i))
		}
	}
	d.addAlternatives() // before any race is reversed: what a part then inserts itself has to be known (inserts)
	for i := range e.Pending {
		if err := d.findPending(&e.Pending[i], e.Outcome); err != nil {
			return err
		}
	}
	for _, f := range d.reversible {
		d.reverseRace(f)
	}
	d.reverseUnsettled(from)
	d.reverseDeficits(from)
	if e.Outcome != Redundant && e.Outcome != Livelock { // those that can go on do what they have done already
		d.goOnWithout(e.Pending)
	}
	return nil
}

// classify sets what is known of the end of an execution.
func (d *dpor) classify(e *Execution) {
	d.maximal = e.Outcome != Redundant && e.Outcome != StepLimit &&
		!slices.ContainsFunc(e.Pending, func(p Pending) bool { return p.Enabled })
	for i := range d.nodes {
		if d.maximal {
			break
		}
		d.nodes[i].vague = true
	}
	d.ender = -1
	switch last := len(d.trace.events) - 1; e.Outcome {
	case Redundant, StepLimit, Deadlock, Livelock:
	default:
		if last >= 0 && !d.trace.events[last].barrier {
			d.ender = int32(last)
		}
	}
}

// addAlternatives sees to it that the other alternatives of the operations of some
// events are explored instead of them. Where one is covered by something else, that is only
// known of what was executed after the event this time: it is looked at again.
func (d *dpor) addAlternatives() {
	d.choosing = slices.DeleteFunc(d.choosing, func(i int32) bool {
		complete := true
		for choice := range d.trace.events[i].choices {
			if other := (Action{Goroutine: d.path[i].Goroutine, Choice: choice}); other != d.path[i] {
				complete = d.addAlternative(i, other) && complete
			}
		}
		return complete
	})
}

// addAlternative reports whether the alternative is now asleep or to do by itself.
func (d *dpor) addAlternative(i int32, a Action) bool {
	n := &d.nodes[i]
	if d.asleep(n, a) {
		return true
	}
	d.depend(i)
	d.insert(d.alternative(i, a))
	return n.todo.begins(a)
}

// alternative is the reversal of event i that has another alternative of its operation.
func (d *dpor) alternative(i int32, a Action) *reversal {
	r, _ := d.collect(i, -1, nil, nil)
	r.add(step{Action: a, Accesses: d.trace.accessesOf(i), marks: needed | guessed}, -1)
	return r
}

// insertPostponed inserts what was postponed at node i until what has now been
// executed there was. Where that is on the way to a leaf, what it covers goes on below it.
func (d *dpor) insertPostponed(i int32) {
	n := &d.nodes[i]
	postponed := n.todo.postponed
	n.todo.postponed = nil
	for _, r := range postponed {
		r = r.detach()
		r.node = i
		executed := step{Action: d.path[i], Accesses: d.trace.accessesOf(i)}
		relation, first := r.relate(&executed)
		if relation == follows || relation == commuting && !r.whole {
			d.insert(r)
			continue
		}
		if relation == initial {
			r.remove(first)
		}
		if int(i)+1 < d.given && r.left() > 0 {
			below := &d.nodes[i+1].todo
			below.own(d.owner)
			below.postponed = append(below.postponed, r.detach())
		}
	}
}

// findPending takes an operation that was pending at the end as the end of
// races: a blocked Lock would have succeeded before the Lock that holds the mutex.
// When everything enabled was asleep, that is explored elsewhere.
func (d *dpor) findPending(p *Pending, outcome Outcome) error {
	if p.Enabled && outcome == Redundant {
		return nil
	}
	races, err := d.trace.pendingRaces(p, false)
	if err == nil {
		for _, r := range races {
			d.reversible = append(d.reversible, reversible{race: r, op: p.step(), without: -1})
		}
	}
	return err
}

// goOnWithout sees to it that what the last transition cut off by ending the
// execution (panic, exit, step limit) is explored without it: instead of it, one of the others
// that were enabled goes on. One suffices, as everywhere; if it ends the program
// too, the next one follows, and which ones else are needed, races will tell.
func (d *dpor) goOnWithout(pending []Pending) {
	last := int32(len(d.trace.events)) - 1
	if last < 0 || len(d.nodes[last].todo.branches) > 0 {
		return
	}
	var instead []*reversal
	for i := range pending {
		if p := &pending[i]; p.Enabled && d.trace.wasEnabled(p, last) {
			instead = append(instead, single(last, Action{Goroutine: p.Goroutine}, p.Accesses, guessed|open))
		}
	}
	d.insertFirst(last, instead)
}

// insertFirst inserts the first reversal that is new, if nothing is to do at the node.
func (d *dpor) insertFirst(node int32, reversals []*reversal) {
	d.depend(node)
	for i := 0; i < len(reversals) && len(d.nodes[node].todo.branches) == 0; i++ {
		if d.insert(reversals[i]) {
			return
		}
	}
}

// single is the reversal that has one step.
func single(node int32, a Action, accesses []Access, m marks) *reversal {
	return &reversal{node: node, steps: []step{{Action: a, Accesses: accesses, marks: needed | m}}, removed: make([]bool, 1), before: make([][]int, 1)}
}

// reverseRace sees to it that a race is also explored the other way round.
func (d *dpor) reverseRace(f reversible) {
	if f.counter >= 0 {
		switch d.empty(&f) {
		case no:
			return
		case perhaps:
			d.reverseVaguely(&f)
			return
		}
	}
	if !d.clearlyCovered(&f) {
		d.insert(d.plan(&f))
	}
}

// reverseVaguely is for a race of which it is not known what has to run: whatever it is, it
// begins with one of those that it adds.
func (d *dpor) reverseVaguely(f *reversible) {
	if f.direct {
		d.insert(single(f.event, Action{Goroutine: f.op.Goroutine}, f.op.Accesses, guessed|open))
	}
	for x := range d.trace.initials(f.event) {
		d.insert(single(f.event, d.path[x], d.trace.accessesOf(x), 0))
	}
}

// plan makes the reversal of f: everything that does not depend on the event, or what of
// that is within, and in the end op, before which what is in its past has to run.
func (d *dpor) plan(f *reversible) *reversal {
	r, ends := d.collect(f.event, f.without, f.within, f.past)
	if !ends {
		op := f.op
		op.Choice, op.marks = 0, needed|guessed|open
		r.add(op, -1)
	}
	return r
}

// foreseeable returns those of the accesses of a transition, executed after an event that made
// others, that it certainly makes before that too: all up to the first that
// conflicts, since what follows may depend on it. (What commutes with these but not with all that it then accesses, is in
// a race of its own with it.) With them are those with which it withdraws, and the first to each object that its Needs
// are about: it looks at those in any case.
func foreseeable(accesses []Access, needs []Need, others []Access) []Access {
	n := slices.IndexFunc(accesses, func(a Access) bool { return Conflict([]Access{a}, others) }) + 1
	if n == 0 {
		return accesses
	}
	for i := 0; i < len(accesses) && withdraws(accesses[i]); i++ {
		n = max(n, i+1)
	}
	for _, need := range needs {
		n = max(n, 1+slices.IndexFunc(accesses, func(a Access) bool { return a.Object == need.Object }))
	}
	return accesses[:n]
}

// collect makes the reversal of event e that consists of all that happened neither
// after e nor after another event, if that is not negative, and is within a clock, if
// that is not nil. What is in the past is needed. It reports whether the program ends with it.
func (d *dpor) collect(e, without int32, within, past clock) (r *reversal, ends bool) {
	d.gather(e, without, within)
	whole := d.maximal && len(d.scratch) < maxSteps
	if len(d.scratch) >= maxSteps {
		d.gather(e, without, past)
	}
	r, ends = d.compose(e, d.scratch, past)
	r.whole = r.whole && whole
	return r, ends
}

// gather lists the events after e for collect; if within is not nil only those in it. It
// may stop when there are more than a reversal can have. It takes time for what it lists, not for what is
// in between.
func (d *dpor) gather(e, without int32, within clock) {
	t := d.trace
	d.limits = d.limits[:0]
	total, first, last := 0, int32(len(t.events)), e
	for g := range t.goroutines {
		events := t.goroutines[g].events
		from, to := t.without(int32(g), e, without, within)
		if d.limits = append(d.limits, int32(to)); from < to {
			total, first, last = total+to-from, min(first, events[from]), max(last, events[to-1])
		}
	}
	d.scratch = d.scratch[:0]
	const sparse = 8
	if int(last-first) > sparse*total { // to look at what is in between would take longer than to sort
		for g, to := range d.limits {
			if from := t.after(int32(g), e); from < int(to) {
				d.scratch = append(d.scratch, t.goroutines[g].events[from:to]...)
			}
		}
		slices.Sort(d.scratch)
		return
	}
	for x := first; x <= last && (within != nil || len(d.scratch) < maxSteps); x++ {
		if event := &t.events[x]; event.ordinal <= d.limits[event.goroutine] {
			d.scratch = append(d.scratch, x)
		}
	}
}

// without returns which events of a goroutine, from one to before another, gather may list.
func (t *trace) without(g, e, without int32, within clock) (from, to int) {
	events := t.goroutines[g].events
	from, to = t.after(g, e), len(events)
	if within != nil {
		to = min(to, int(within.of(g)))
	}
	for _, x := range [...]int32{e, without} {
		switch {
		case x < 0 || from >= to:
		case t.includes(t.clockOf(events[from]), x): // as it is mostly
			to = from
		default:
			to = from + sort.Search(to-from, func(i int) bool { return t.includes(t.clockOf(events[from+i]), x) })
		}
	}
	return from, to
}

// compose makes the reversal of event e that consists of later events. Where a counter
// would go below zero, which it did not with e, or where the program ended, it ends if
// that is needed, and else goes on with nothing but what is.
func (d *dpor) compose(e int32, events []int32, past clock) (r *reversal, ends bool) {
	t := d.trace
	r = &d.reversal
	r.reset(e, t, d.maximal)
	r.grow(len(events) + 1)
	clear(d.counters)
	incomplete, counts := false, t.countsFrom(e) && d.mayOverdraw()
	for _, x := range events {
		s := step{Action: t.events[x].Action, Accesses: t.accessesOf(x), goroutine: t.events[x].goroutine}
		if t.includes(past, x) {
			s.marks = needed
		}
		fatal := x == d.ender || counts && d.overdraws(e, x)
		incomplete = incomplete || fatal
		if s.is(needed) || !incomplete {
			r.add(s, x)
		}
		if fatal && s.is(needed) || len(r.steps) == maxSteps {
			r.whole = false
			return r, true
		}
	}
	r.whole = r.whole && !incomplete
	return r, false
}

// overdraws reports whether event x takes a counter below zero, after those asked for
// before, from the state before event e.
func (d *dpor) overdraws(e, x int32) bool {
	for _, u := range d.trace.usesOf(x) {
		if !u.counts() {
			continue
		}
		counter, known := d.counters[u.object]
		if !known {
			counter = d.trace.countBefore(&d.trace.objects[u.object], e)
		}
		d.counters[u.object] = counter + u.delta
		if counter+u.delta < 0 {
			return true
		}
	}
	return false
}

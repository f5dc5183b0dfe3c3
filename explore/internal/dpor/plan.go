package dpor

import (
	"slices"

	"github.com/tandem-mc/tandem/explore/internal/core"
	"github.com/tandem-mc/tandem/explore/internal/trace"
	"github.com/tandem-mc/tandem/explore/internal/wakeup"
)

// reversible is a race, or what is like one, of which the reversal is still to be planned.
type reversible struct {
	trace.Race
	op trace.Step // what is to run before the event, as far as it is known
	// without is an event that cannot run if op does, like one that completed it: -1 if
	// there is none.
	without      int32
	found        int32 // event with which the race was found
	singleAccess bool  // the transition that op begins is Settled
}

// find notes the races that end in event f.
func (d *Search) find(races []trace.Race, f int32) {
	t := d.trace
	for _, r := range races {
		r := reversible{Race: r, op: trace.Step{Action: d.path[f]}, without: -1, found: f}
		r.op.Accesses = foreseeable(t.AccessesOf(f), t.NeedsOf(f), t.AccessesOf(r.Event))
		r.singleAccess = t.Events[f].SingleAccess
		d.races, d.recheck = append(d.races, r), append(d.recheck, r)
	}
}

// reverse sees to it that what an execution shows from event from on is also explored
// the other way round.
func (d *Search) reverse(from int, e *core.Execution) error {
	d.classify(e)
	d.accounts.reset()
	for i := from; i < len(d.trace.Events); i++ {
		d.insertPostponed(int32(i))
		if d.trace.Events[i].Choices > 1 {
			d.choosing = append(d.choosing, int32(i))
		}
	}
	// before any race is reversed: what a part then inserts itself has to be known (inserts)
	d.addAlternatives()
	for i := range e.Pending {
		if err := d.findPending(&e.Pending[i], e.Outcome); err != nil {
			return err
		}
	}
	for _, f := range d.races {
		d.reverseRace(f)
	}
	d.recheckRaces(from)
	d.reverseDeficits(from)
	// those that can go on do what they have done already
	if e.Outcome != core.Redundant && e.Outcome != core.Livelock {
		d.goOnWithout(e.Pending)
	}
	return nil
}

// classify sets what is known of the end of an execution.
func (d *Search) classify(e *core.Execution) {
	d.maximal = e.Outcome != core.Redundant && e.Outcome != core.StepLimit &&
		!slices.ContainsFunc(e.Pending, func(p core.Pending) bool { return p.Enabled })
	for i := range d.nodes {
		if d.maximal {
			break
		}
		d.nodes[i].incomplete = true
	}
	d.ender = -1
	switch last := len(d.trace.Events) - 1; e.Outcome {
	case core.Redundant, core.StepLimit, core.Deadlock, core.Livelock:
	default:
		if last >= 0 && !d.trace.Events[last].Barrier {
			d.ender = int32(last)
		}
	}
}

// addAlternatives sees to it that the other alternatives of the operations of some
// events are explored instead of them. Where one is covered by something else, that is only
// known of what was executed after the event this time: it is looked at again.
func (d *Search) addAlternatives() {
	d.choosing = slices.DeleteFunc(d.choosing, func(i int32) bool {
		complete := true
		for choice := range d.trace.Events[i].Choices {
			if other := (core.Action{Goroutine: d.path[i].Goroutine, Choice: choice}); other != d.path[i] {
				complete = d.addAlternative(i, other) && complete
			}
		}
		return complete
	})
}

// addAlternative reports whether the alternative is now asleep or to do by itself.
func (d *Search) addAlternative(i int32, a core.Action) bool {
	n := &d.nodes[i]
	if d.asleep(n, a) {
		return true
	}
	d.depend(i)
	d.insert(d.alternative(i, a))
	return n.todo.Begins(a)
}

// alternative is the reversal of event i that has another alternative of its operation.
func (d *Search) alternative(i int32, a core.Action) *wakeup.Reversal {
	r, _ := d.collect(i, -1, nil, nil)
	r.Add(trace.Step{Action: a, Accesses: d.trace.AccessesOf(i), Marks: trace.Needed | trace.Guessed}, -1)
	return r
}

// insertPostponed inserts what was postponed at node i until what has now been
// executed there was. Where that is on the way to a leaf, what it covers goes on below it.
func (d *Search) insertPostponed(i int32) {
	n := &d.nodes[i]
	postponed := n.todo.Postponed
	n.todo.Postponed = nil
	for _, r := range postponed {
		r = r.Detach()
		r.Node = i
		executed := trace.Step{Action: d.path[i], Accesses: d.trace.AccessesOf(i)}
		relation, first := r.Relate(&executed)
		if relation == wakeup.Follows || relation == wakeup.Commuting && !r.Whole {
			d.insert(r)
			continue
		}
		if relation == wakeup.Initial {
			r.Remove(first)
		}
		if int(i)+1 < d.given && r.Left() > 0 {
			below := &d.nodes[i+1].todo
			below.Own(d.owner)
			below.Postponed = append(below.Postponed, r.Detach())
		}
	}
}

// findPending takes an operation that was pending at the end as the end of
// races: a blocked Lock would have succeeded before the Lock that holds the mutex.
// When everything enabled was asleep, that is explored elsewhere.
func (d *Search) findPending(p *core.Pending, outcome core.Outcome) error {
	if p.Enabled && outcome == core.Redundant {
		return nil
	}
	races, err := d.trace.PendingRaces(p, false)
	if err == nil {
		for _, r := range races {
			d.races = append(d.races, reversible{Race: r, op: trace.StepOf(p), without: -1})
		}
	}
	return err
}

// goOnWithout sees to it that what the last transition cut off by ending the
// execution (panic, exit, step limit) is explored without it: instead of it, one of the others
// that were enabled goes on. One suffices, as everywhere; if it ends the program
// too, the next one follows, and which ones else are needed, races will tell.
func (d *Search) goOnWithout(pending []core.Pending) {
	last := int32(len(d.trace.Events)) - 1
	if last < 0 || len(d.nodes[last].todo.Branches) > 0 {
		return
	}
	var instead []*wakeup.Reversal
	for i := range pending {
		if p := &pending[i]; p.Enabled && d.trace.WasEnabled(p, last) {
			instead = append(instead, single(last, core.Action{Goroutine: p.Goroutine}, p.Accesses,
				trace.Guessed|trace.Open))
		}
	}
	d.insertFirst(last, instead)
}

// insertFirst inserts the first reversal that is new, if nothing is to do at the node.
func (d *Search) insertFirst(node int32, reversals []*wakeup.Reversal) {
	d.depend(node)
	for i := 0; i < len(reversals) && len(d.nodes[node].todo.Branches) == 0; i++ {
		if d.insert(reversals[i]) {
			return
		}
	}
}

// single is the reversal that has one step.
func single(node int32, a core.Action, accesses []core.Access, m trace.Marks) *wakeup.Reversal {
	return &wakeup.Reversal{Node: node, Steps: []trace.Step{{Action: a, Accesses: accesses,
		Marks: trace.Needed | m}}, Removed: make([]bool, 1), Before: make([][]int, 1)}
}

// reverseRace sees to it that a race is also explored the other way round.
func (d *Search) reverseRace(f reversible) {
	if f.Counter >= 0 {
		switch d.enableCounter(&f) {
		case trace.No:
			return
		case trace.Perhaps:
			d.reverseIncomplete(&f)
			return
		}
	}
	if !d.clearlyCovered(&f) {
		d.insert(d.plan(&f))
	}
}

// reverseVaguely is for a race of which it is not known what has to run: whatever it is, it
// begins with one of those that it adds.
func (d *Search) reverseIncomplete(f *reversible) {
	if f.Direct {
		d.insert(single(f.Event, core.Action{Goroutine: f.op.Goroutine}, f.op.Accesses,
			trace.Guessed|trace.Open))
	}
	for x := range d.trace.Initials(f.Event) {
		d.insert(single(f.Event, d.path[x], d.trace.AccessesOf(x), 0))
	}
}

// plan makes the reversal of f: everything that does not depend on the event, or what of
// that is within, and in the end op, before which what is in its past has to run.
func (d *Search) plan(f *reversible) *wakeup.Reversal {
	r, ends := d.collect(f.Event, f.without, f.Within, f.Past)
	if !ends {
		op := f.op
		op.Choice, op.Marks = 0, trace.Needed|trace.Guessed|trace.Open
		r.Add(op, -1)
	}
	return r
}

// foreseeable returns those of the accesses of a transition, executed after an event that made
// others, that it certainly makes before that too: all up to the first that conflicts, since what
// follows may depend on it. (What commutes with these but not with all that it then accesses, is in
// a race of its own with it.) With them are those with which it withdraws, and the first to each
// object that its Needs are about: it looks at those in any case.
func foreseeable(accesses []core.Access, needs []core.Need, others []core.Access) []core.Access {
	n := slices.IndexFunc(accesses, func(a core.Access) bool {
		return core.Conflict([]core.Access{a},
			others)
	}) + 1
	if n == 0 {
		return accesses
	}
	for i := 0; i < len(accesses) && core.Withdraws(accesses[i]); i++ {
		n = max(n, i+1)
	}
	for _, need := range needs {
		n = max(n, 1+slices.IndexFunc(accesses, func(a core.Access) bool { return a.Object == need.Object }))
	}
	return accesses[:n]
}

// collect makes the reversal of event e that consists of all that happened neither
// after e nor after another event, if that is not negative, and is within a clock, if
// that is not nil. What is in the past is needed. It reports whether the program ends with it.
func (d *Search) collect(e, without int32, within, past trace.Clock) (r *wakeup.Reversal, ends bool) {
	d.gather(e, without, within)
	whole := d.maximal && len(d.scratch) < wakeup.MaxSteps
	if len(d.scratch) >= wakeup.MaxSteps {
		d.gather(e, without, past)
	}
	r, ends = d.compose(e, d.scratch, past)
	r.Whole = r.Whole && whole
	return r, ends
}

// gather lists the events after e for collect; if within is not nil only those in it. It may stop
// when there are more than a reversal can have. It takes time for what it lists, not for what is in
// between.
func (d *Search) gather(e, without int32, within trace.Clock) {
	t := d.trace
	d.limits = d.limits[:0]
	total, first, last := 0, int32(len(t.Events)), e
	for g := range t.Goroutines {
		events := t.Goroutines[g].Events
		from, to := t.Without(int32(g), e, without, within)
		if d.limits = append(d.limits, int32(to)); from < to {
			total, first, last = total+to-from, min(first, events[from]), max(last, events[to-1])
		}
	}
	d.scratch = d.scratch[:0]
	const sparse = 8
	// to look at what is in between would take longer than to sort
	if int(last-first) > sparse*total {
		for g, to := range d.limits {
			if from := t.After(int32(g), e); from < int(to) {
				d.scratch = append(d.scratch, t.Goroutines[g].Events[from:to]...)
			}
		}
		slices.Sort(d.scratch)
		return
	}
	for x := first; x <= last && (within != nil || len(d.scratch) < wakeup.MaxSteps); x++ {
		if event := &t.Events[x]; event.Ordinal <= d.limits[event.Number] {
			d.scratch = append(d.scratch, x)
		}
	}
}

// compose makes the reversal of event e that consists of later events. Where a counter
// would go below zero, which it did not with e, or where the program ended, it ends if
// that is needed, and else goes on with nothing but what is.
func (d *Search) compose(e int32, events []int32, past trace.Clock) (r *wakeup.Reversal, ends bool) {
	t := d.trace
	r = &d.reversal
	r.Reset(e, t, d.maximal)
	r.Grow(len(events) + 1)
	clear(d.counters)
	incomplete, counts := false, t.CountsFrom(e) && d.mayOverdraw()
	for _, x := range events {
		s := trace.Step{Action: t.Events[x].Action, Accesses: t.AccessesOf(x), Number: t.Events[x].Number}
		if t.Includes(past, x) {
			s.Marks = trace.Needed
		}
		fatal := x == d.ender || counts && d.overdraws(e, x)
		incomplete = incomplete || fatal
		if s.Is(trace.Needed) || !incomplete {
			r.Add(s, x)
		}
		if fatal && s.Is(trace.Needed) || len(r.Steps) == wakeup.MaxSteps {
			r.Whole = false
			return r, true
		}
	}
	r.Whole = r.Whole && !incomplete
	return r, false
}

// overdraws reports whether event x takes a counter below zero, after those asked for
// before, from the state before event e.
func (d *Search) overdraws(e, x int32) bool {
	for _, u := range d.trace.UsesOf(x) {
		if !u.Counts() {
			continue
		}
		counter, known := d.counters[u.Object]
		if !known {
			counter = d.trace.CountBefore(&d.trace.Objects[u.Object], e)
		}
		d.counters[u.Object] = counter + u.Delta
		if counter+u.Delta < 0 {
			return true
		}
	}
	return false
}

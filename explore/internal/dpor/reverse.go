package dpor

import (
	"slices"

	"github.com/tandem-mc/tandem/explore/internal/core"
	"github.com/tandem-mc/tandem/explore/internal/trace"
	"github.com/tandem-mc/tandem/explore/internal/wakeup"
)

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
	d.accounts.reset(d.trace)
	for i := from; i < len(d.trace.Events); i++ {
		d.insertPostponed(int32(i))
		if d.trace.Events[i].Choices > 1 {
			d.choosing = append(d.choosing, int32(i))
		}
	}
	// before any race is reversed: by then it has to be known what a subtree inserts itself
	// (inserts)
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

// goOnWithout is for an execution that its last transition has ended (by a panic, an exit or the
// step limit). It sees to it that what was cut off is explored: instead of the last transition
// another goroutine that was enabled goes on. One suffices, as everywhere; if it ends the program
// too, the next one follows, and races tell which others are needed.
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

// reverseRace sees to it that a race is also explored the other way round.
func (d *Search) reverseRace(f reversible) {
	if f.Counter >= 0 {
		switch d.accounts.enableCounter(&f) {
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

// reverseIncomplete is for a race of which it is not known what has to run before it: whatever
// that is, it begins with one of those that are inserted here.
func (d *Search) reverseIncomplete(f *reversible) {
	if f.Direct {
		d.insert(single(f.Event, core.Action{Goroutine: f.op.Goroutine}, f.op.Accesses,
			trace.Guessed|trace.Open))
	}
	for x := range d.trace.Initials(f.Event) {
		d.insert(single(f.Event, d.path[x], d.trace.AccessesOf(x), 0))
	}
}

// insert sees to it that a reversal is explored, and reports whether it was not yet.
//
// Of the actions that are asleep or to do at its node, one has to be a weak initial
// of it. If a sleeper is, what begins with that has been explored. If a branch is,
// the rest of the reversal is inserted below it; a leaf needs no more: everything
// that is asleep wakes on the way to it. Otherwise it becomes a branch (POPL 2014, algorithm 2).
func (d *Search) insert(r *wakeup.Reversal) (inserted bool) {
	n := &d.nodes[r.Node]
	n.incomplete = n.incomplete || !r.Whole
	last := len(r.Steps) - 1
	choices := d.choicesAsleep(n, r.Steps)
	if choices < 2 {
		return d.insertAt(n, r)
	}
	for choice := range choices {
		c := *r
		c.Steps, c.Removed = slices.Clone(r.Steps), slices.Clone(r.Removed)
		c.Steps[last].Choice, c.Steps[last].Marks = choice, r.Steps[last].Marks&^trace.Open
		inserted = d.insertAt(n, &c) || inserted
	}
	return inserted
}

// choicesAsleep returns how many alternatives there are of the operation of the last
// step, if that is open and one of them sleeps until then: others may have been passed over.
func (d *Search) choicesAsleep(n *node, steps []trace.Step) int {
	i := len(steps) - 1
	g := steps[i].Goroutine
	if !steps[i].Is(trace.Open) || slices.ContainsFunc(steps[:i],
		func(s trace.Step) bool { return s.Goroutine == g }) {
		return 0
	}
	for _, s := range d.sleepOf(n) {
		if s.Goroutine == g && !slices.ContainsFunc(steps[:i],
			func(x trace.Step) bool { return s.Wakes(x.Accesses) }) {
			return s.Choices
		}
	}
	return 0
}

func (d *Search) insertAt(n *node, r *wakeup.Reversal) bool {
	if d.coveredAsleep(n, r) {
		return false
	}
	r.Passed = r.Passed[:0]
	found := n.todo.Find(r, 0)
	if int(r.Node) < d.Floor && (!found.Covered || found.At.Owner() == d.owner) {
		if d.export(r, &found); !d.inserts(r.Node) {
			return !found.Covered
		}
	}
	return !found.Covered && d.insertIn(n, r, &found)
}

// insertIn inserts a reversal in the place that was found for it.
func (d *Search) insertIn(n *node, r *wakeup.Reversal, found *wakeup.Place) bool {
	n.todo.Insert(r, found, d.owner)
	if len(r.Passed) > 0 {
		n.todo.Branches[r.Passed[0]].Insert(d.Counts.Executions)
		d.cancelChanged(int(r.Node))
	} else if !found.Postpone {
		n.todo.Branches[len(n.todo.Branches)-1].Since = d.Counts.Executions
	}
	return true
}

// coveredAsleep reports whether something asleep at a node covers a reversal.
func (d *Search) coveredAsleep(n *node, r *wakeup.Reversal) bool {
	return slices.ContainsFunc(d.sleepOf(n), func(s *core.Sleeper) bool {
		relation, _ := r.Relate(&trace.Step{Action: s.Action, Accesses: s.Accesses})
		return relation == wakeup.Initial || relation == wakeup.Commuting && r.Whole && !s.Incomplete
	})
}

// clearlyCovered reports whether inserting a reversal would change nothing. Where that is not
// clear the answer is no.
func (d *Search) clearlyCovered(f *reversible) bool {
	if !d.isPlain(f) {
		return false
	}
	if d.clearlyAsleep(f) {
		return true
	}
	if len(d.trace.Events)-int(f.Event) < d.Short {
		return false
	}
	n, o := &d.nodes[f.Event], d.outline(f)
	sleepers := d.sleepOf(n)
	if slices.ContainsFunc(sleepers, func(s *core.Sleeper) bool {
		return s.Goroutine == f.op.Goroutine &&
			s.Choices >= 2
	}) {
		return false // there may be several to insert: choicesAsleep
	}
	for _, s := range sleepers {
		relation, _ := o.relate(&trace.Step{Action: s.Action, Accesses: s.Accesses})
		if relation == wakeup.Initial || relation == wakeup.Commuting && !s.Incomplete {
			return true
		}
	}
	for at := (wakeup.Spot{List: &n.todo}); ; {
		i := o.follow(&at)
		if i < 0 {
			return false
		}
		if at = at.After(i); at.Branches() == 0 || o.isEmpty() {
			return int(f.Event) >= d.Floor || at.Owner() != d.owner // else it is to be exported, see insertAt
		}
	}
}

// clearlyAsleep reports whether something asleep may run first in a plain reversal, and so covers
// it (coveredAsleep). It only looks at what is quickly decided, which suffices for most reversals.
func (d *Search) clearlyAsleep(f *reversible) bool {
	t, e := d.trace, f.Event
	for _, s := range d.sleepOf(&d.nodes[e]) {
		if g, known := t.GoroutineOf.Of(s.Goroutine); known {
			x, some := t.FirstAfter(g, e)
			if some && !t.Includes(t.ClockOf(x), e) {
				if d.path[x] == s.Action && t.Initial(x, e) {
					return true
				}
				continue
			}
		}
		if s.Action == f.op.Action && s.Choices < 2 && !t.ConflictsAfter(e, s.Accesses) {
			return true
		}
	}
	return false
}

// reverseDeficits sees to it that counters which become negative in another order
// of the events do so: beginning with the first event that is in the way, the next of
// those that lead there runs instead.
func (d *Search) reverseDeficits(from int) {
	t := d.trace
	t.Generation++
	for e := int32(from); e < int32(len(t.Events)); e++ {
		for _, u := range t.UsesOf(e) {
			object := &t.Objects[u.Object]
			if u.Delta >= 0 || u.Ready&core.CountsWaiting != 0 || object.Seen == t.Generation {
				continue
			}
			object.Seen = t.Generation
			for _, c := range d.accounts.accountOf(u.Object).overdrawn {
				d.runFirst(c)
			}
		}
	}
}

// runFirst sees to it that the events of a clock are explored before all others.
func (d *Search) runFirst(c trace.Clock) {
	t, e := d.trace, int32(0)
	for e < int32(len(t.Events)) && t.Includes(c, e) {
		e++
	}
	d.scratch = d.scratch[:0]
	for x := e + 1; x < int32(len(t.Events)); x++ {
		if t.Includes(c, x) {
			d.scratch = append(d.scratch, x)
		}
	}
	if len(d.scratch) > 0 {
		r, _ := d.compose(e, d.scratch, c)
		r.Whole = false
		d.insert(r)
	}
}

// findPartners notes the races that end in what a partner in transition i would have done by
// itself.
func (d *Search) findPartners(i int, x *core.Transition) error {
	for p := range x.Partners {
		p := &x.Partners[p]
		races, err := d.trace.PendingRaces(p, true)
		if err != nil {
			return err
		}
		for _, r := range races {
			d.recheck = append(d.recheck, kept(reversible{Race: r, op: trace.StepOf(p), without: int32(i),
				found: int32(i)}))
		}
	}
	return nil
}

// recheckRaces reverses the races in recheck to whose reversals the events from one on add
// something.
func (d *Search) recheckRaces(from int) {
	first, _ := slices.BinarySearch(d.trace.Meeting, int32(from))
	meeting := d.trace.Meeting[first:]
	for i := range d.recheck {
		switch f := &d.recheck[i]; {
		case f.singleAccess && len(meeting) == 0:
		case int(f.found) >= from:
			if f.without >= 0 {
				d.reverseRace(*f)
			}
		case f.singleAccess && slices.ContainsFunc(meeting,
			func(x int32) bool { return adds(d.trace, x, f) }),
			!f.singleAccess && addsAny(d.trace, from, f):
			d.reverseRace(*f)
		}
	}
}

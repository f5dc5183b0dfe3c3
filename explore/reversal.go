package explore

import "slices"

// reversal is what is to run from a node instead of the event there: the steps, of
// which inserting it removes those that are in the tree already.
type reversal struct {
	node  int32
	steps []step
	// whole tells that the steps are everything in a maximal execution that could run
	// instead of the event: what commutes with all of them may run first.
	whole bool
	// removed holds for each step 0, or one more than the level at which it was removed.
	removed []int

	// The order of the steps. It comes from the trace in which they are events (-1 is an
	// operation at the end), or when there is none it lists for each step those before it.
	trace  *trace
	events []int32
	before [][]int
}

// maxSteps limits a reversal. A longer one is cut off there: whatever begins it is as
// good, only that executions may be found to be redundant.
const maxSteps = 1 << 10

// reset makes a reversal one without steps.
func (r *reversal) reset(node int32, t *trace, whole bool) {
	*r = reversal{node: node, trace: t, whole: whole, steps: r.steps[:0], removed: r.removed[:0], events: r.events[:0]}
}

// add adds a step that is an event, or with -1 an operation at the end.
func (r *reversal) add(s step, event int32) {
	r.steps, r.events, r.removed = append(r.steps, s), append(r.events, event), append(r.removed, 0)
}

// relation is how an action relates to the steps of a reversal.
type relation uint8

const (
	follows   relation = iota // it has to come after one of them
	initial                   // it is one of those that may come first
	commuting                 // it is none of them, and commutes with all
)

// relate tells how an action relates to the steps that are left, and which of them it
// is if it is initial. An initial or commuting one is a weak initial (POPL 2014, section 4).
func (r *reversal) relate(a *step) (relation, int) {
	for i := range r.steps {
		if s := &r.steps[i]; s.Goroutine == a.Goroutine && r.removed[i] == 0 {
			if s.chooses(a) && r.first(i) {
				return initial, i
			}
			return follows, -1
		}
	}
	if r.conflicting(a.Accesses, func(i int) bool { return r.removed[i] == 0 }) >= 0 {
		return follows, -1
	}
	return commuting, -1
}

// first reports whether no step that is left has to run before step i, which is the
// first of its goroutine that is left.
func (r *reversal) first(i int) bool {
	for j := range i {
		if r.removed[j] == 0 && r.ordered(j, i) {
			return false
		}
	}
	return true
}

// ordered reports whether step j, which is an earlier one, has to run before step i.
func (r *reversal) ordered(j, i int) bool {
	switch {
	case r.trace == nil:
		return slices.Contains(r.before[i], j)
	case r.events[i] < 0:
		return r.steps[j].is(needed)
	}
	return r.trace.includes(r.trace.clockOf(r.events[i]), r.events[j])
}

// conflicting returns the first of some steps that conflicts with accesses, -1 if none does.
func (r *reversal) conflicting(accesses []Access, among func(i int) bool) int {
	for i := range r.steps {
		if among(i) && Conflict(accesses, r.steps[i].Accesses) {
			return i
		}
	}
	return -1
}

func (r *reversal) remove(i, level int) { r.removed[i] = level + 1 }

// done reports whether nothing is left that is needed.
func (r *reversal) done() bool {
	for i := range r.steps {
		if r.removed[i] == 0 && r.steps[i].is(needed) {
			return false
		}
	}
	return true
}

// chain returns the steps that become a branch. Of those left, the ones are left out
// that neither have to run before the end nor wake what is asleep.
func (r *reversal) chain(asleep []witness) (steps []step) {
	keep := 0
	if r.done() { // cut off before what is needed
		keep = 1 + slices.Index(r.removed, 0)
	}
	for _, a := range asleep {
		if r.conflicting(a.Accesses, func(i int) bool {
			return r.removed[i] > a.level || r.removed[i] == 0 && (i < keep || r.steps[i].is(needed))
		}) < 0 {
			keep = max(keep, 1+r.conflicting(a.Accesses, func(i int) bool { return r.removed[i] == 0 }))
		}
	}
	var accesses []Access
	for i, s := range r.steps {
		if r.removed[i] > 0 || i >= keep && !s.is(needed) {
			continue
		}
		from := len(accesses)
		accesses = append(accesses, s.Accesses...)
		s.Accesses = accesses[from:len(accesses):len(accesses)]
		steps = append(steps, s)
	}
	return steps
}

// detach returns what is left of a reversal, to be kept without the trace.
func (r *reversal) detach() *reversal {
	c := &reversal{node: r.node, whole: r.whole}
	var from []int // in r
	for i, s := range r.steps {
		if r.removed[i] > 0 {
			continue
		}
		var before []int
		for j, k := range from {
			if r.ordered(k, i) {
				before = append(before, j)
			}
		}
		s.Accesses = slices.Clone(s.Accesses)
		c.steps, c.before, from = append(c.steps, s), append(c.before, before), append(from, i)
	}
	c.removed = make([]int, len(c.steps))
	return c
}

package explore

import "slices"

// reversal is what is to run from a node instead of the event there: the steps, of
// which inserting it removes those that are in the tree already.
type reversal struct {
	node  int32
	steps []step
	// whole tells that the steps are everything in a maximal execution that could run
	// instead of the event: what commutes with all of them may run first.
	whole   bool
	removed []bool  // for each step
	head    int     // the first that is left
	gone    int     // how many are removed
	kept    []*step // the steps as they are in trees, if that is known
	passed  []int   // the branch at each step of the way to where it is inserted

	// The order of the steps. It comes from the trace in which they are events (-1 is an
	// operation at the end), or when there is none it lists for each step those before it, or has its clock.
	trace  *trace
	events []int32
	before [][]int
	clocks []stamp
}

// stamp is where in a trace an event was, and what happened before it.
type stamp struct {
	goroutine, ordinal int32
	clock              clock // nil: it is the operation at the end
}

// maxSteps limits a reversal. A longer one consists of what is needed only, and is cut off
// there: executions may then be found to be redundant.
const maxSteps = 1 << 10

// reset makes a reversal one without steps.
func (r *reversal) reset(node int32, t *trace, whole bool) {
	*r = reversal{node: node, trace: t, whole: whole, steps: r.steps[:0], removed: r.removed[:0], passed: r.passed[:0], events: r.events[:0]}
}

// grow makes room for so many steps.
func (r *reversal) grow(n int) {
	r.steps, r.events, r.removed = slices.Grow(r.steps, n), slices.Grow(r.events, n), slices.Grow(r.removed, n)
}

// add adds a step that is an event, or with -1 an operation at the end.
func (r *reversal) add(s step, event int32) {
	r.steps, r.events, r.removed = append(r.steps, s), append(r.events, event), append(r.removed, false)
}

// remove takes a step out.
func (r *reversal) remove(i int) {
	r.removed[i] = true
	for r.gone++; r.head < len(r.steps) && r.removed[r.head]; r.head++ {
	}
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
// That what happened before an operation elsewhere has run does not tell what else the
// operation depends on here: only its accesses do.
func (r *reversal) relate(a *step) (relation, int) {
	for i := r.head; i < len(r.steps); i++ {
		if s := &r.steps[i]; s.Goroutine == a.Goroutine && !r.removed[i] {
			if s.chooses(a) && r.mayBegin(a, i) {
				return initial, i
			}
			return follows, -1
		}
	}
	if r.conflicts(a.Accesses, len(r.steps)) {
		return follows, -1
	}
	return commuting, -1
}

// mayBegin reports whether an action may come before all steps before step i, which it is. If
// the step is a guess and the action is not, all that it depends on is known.
func (r *reversal) mayBegin(a *step, i int) bool {
	if !r.steps[i].is(guessed) {
		return r.first(i)
	}
	return (r.first(i) || !a.is(guessed)) && !r.conflicts(a.Accesses, i)
}

// first reports whether no step that is left has to run before step i, which is the
// first of its goroutine that is left.
func (r *reversal) first(i int) bool {
	for j := r.head; j < i; j++ {
		if !r.removed[j] && r.ordered(j, i) {
			return false
		}
	}
	return true
}

// ordered reports whether step j, which is an earlier one, has to run before step i.
func (r *reversal) ordered(j, i int) bool {
	switch {
	case r.clocks != nil && r.clocks[i].clock != nil:
		return r.clocks[j].ordinal <= r.clocks[i].clock.of(r.clocks[j].goroutine)
	case r.before != nil:
		return slices.Contains(r.before[i], j)
	case r.clocks != nil || r.events[i] < 0:
		return r.steps[j].is(needed)
	}
	return r.trace.includes(r.trace.clockOf(r.events[i]), r.events[j])
}

// conflicts reports whether one of the first n steps that is left conflicts with accesses.
func (r *reversal) conflicts(accesses []Access, n int) bool {
	for i := r.head; i < n; i++ {
		if !r.removed[i] && Conflict(accesses, r.steps[i].Accesses) {
			return true
		}
	}
	return false
}

// left is how many steps are left.
func (r *reversal) left() int { return len(r.steps) - r.gone }

// detach returns what is left of a reversal, to be kept without the trace.
func (r *reversal) detach() *reversal {
	c := &reversal{node: r.node, whole: r.whole}
	var from []int // in r
	for i, s := range r.steps {
		if r.removed[i] {
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
	c.removed = make([]bool, len(c.steps))
	return c
}

package wakeup

import (
	"slices"

	"github.com/tandem-mc/tandem/explore/internal/core"
	"github.com/tandem-mc/tandem/explore/internal/trace"
)

// Reversal is what is to run from a node instead of the event there: the steps, of
// which inserting it removes those that are in the tree already.
type Reversal struct {
	Node  int32
	Steps []trace.Step
	// whole tells that the steps are everything in a maximal execution that could run
	// instead of the event: what commutes with all of them may run first.
	Whole   bool
	Removed []bool        // for each step
	head    int           // the first that is left
	gone    int           // how many are removed
	Kept    []*trace.Step // the steps as they are in trees, if that is known
	Passed  []int         // the branch at each step of the way to where it is inserted

	// The order of the steps. It comes from the trace in which they are events (-1 is an operation
	// at the end), or when there is none it lists for each step those before it, or has its clock.
	Trace  *trace.Trace
	Events []int32
	Before [][]int
	Clocks []Stamp
}

// Stamp is where in a trace an event was, and what happened before it.
type Stamp struct {
	Goroutine, Ordinal int32
	Clock              trace.Clock // nil: it is the operation at the end
}

// MaxSteps limits a reversal. A longer one consists of what is needed only, and is cut off
// there: executions may then be found to be redundant.
const MaxSteps = 1 << 10

// Reset makes a reversal one without steps.
func (r *Reversal) Reset(node int32, t *trace.Trace, whole bool) {
	*r = Reversal{Node: node, Trace: t, Whole: whole, Steps: r.Steps[:0], Removed: r.Removed[:0],
		Passed: r.Passed[:0], Events: r.Events[:0]}
}

// Grow makes room for so many steps.
func (r *Reversal) Grow(n int) {
	r.Steps, r.Events, r.Removed = slices.Grow(r.Steps, n), slices.Grow(r.Events, n),
		slices.Grow(r.Removed, n)
}

// Add adds a step that is an event, or with -1 an operation at the end.
func (r *Reversal) Add(s trace.Step, event int32) {
	r.Steps, r.Events, r.Removed = append(r.Steps, s), append(r.Events, event), append(r.Removed, false)
}

// Remove takes a step out.
func (r *Reversal) Remove(i int) {
	r.Removed[i] = true
	for r.gone++; r.head < len(r.Steps) && r.Removed[r.head]; r.head++ {
	}
}

// Relation is how an action relates to the steps of a reversal.
type Relation uint8

const (
	Follows   Relation = iota // it has to come after one of them
	Initial                   // it is one of those that may come first
	Commuting                 // it is none of them, and commutes with all
)

// Relate tells how an action relates to the steps that are left, and which of them it
// is if it is initial. An initial or commuting one is a weak initial (POPL 2014, section 4).
// That what happened before an operation elsewhere has run does not tell what else the
// operation depends on here: only its accesses do.
func (r *Reversal) Relate(a *trace.Step) (Relation, int) {
	for i := r.head; i < len(r.Steps); i++ {
		if s := &r.Steps[i]; s.Goroutine == a.Goroutine && !r.Removed[i] {
			if s.Chooses(a) && r.mayBegin(a, i) {
				return Initial, i
			}
			return Follows, -1
		}
	}
	if r.conflicts(a.Accesses, len(r.Steps)) {
		return Follows, -1
	}
	return Commuting, -1
}

// mayBegin reports whether an action may come before all steps before step i, which it is. If
// the step is a guess and the action is not, all that it depends on is known.
func (r *Reversal) mayBegin(a *trace.Step, i int) bool {
	if !r.Steps[i].Is(trace.Guessed) {
		return r.first(i)
	}
	return (r.first(i) || !a.Is(trace.Guessed)) && !r.conflicts(a.Accesses, i)
}

// first reports whether no step that is left has to run before step i, which is the
// first of its goroutine that is left.
func (r *Reversal) first(i int) bool {
	for j := r.head; j < i; j++ {
		if !r.Removed[j] && r.ordered(j, i) {
			return false
		}
	}
	return true
}

// ordered reports whether step j, which is an earlier one, has to run before step i.
func (r *Reversal) ordered(j, i int) bool {
	switch {
	case r.Clocks != nil && r.Clocks[i].Clock != nil:
		return r.Clocks[j].Ordinal <= r.Clocks[i].Clock.Of(r.Clocks[j].Goroutine)
	case r.Before != nil:
		return slices.Contains(r.Before[i], j)
	case r.Clocks != nil || r.Events[i] < 0:
		return r.Steps[j].Is(trace.Needed)
	}
	return r.Trace.Includes(r.Trace.ClockOf(r.Events[i]), r.Events[j])
}

// conflicts reports whether one of the first n steps that is left conflicts with accesses.
func (r *Reversal) conflicts(accesses []core.Access, n int) bool {
	for i := r.head; i < n; i++ {
		if !r.Removed[i] && core.Conflict(accesses, r.Steps[i].Accesses) {
			return true
		}
	}
	return false
}

// Left is how many steps are left.
func (r *Reversal) Left() int { return len(r.Steps) - r.gone }

// Detach returns what is left of a reversal, to be kept without the trace.
func (r *Reversal) Detach() *Reversal {
	c := &Reversal{Node: r.Node, Whole: r.Whole}
	var from []int // in r
	for i, s := range r.Steps {
		if r.Removed[i] {
			continue
		}
		var before []int
		for j, k := range from {
			if r.ordered(k, i) {
				before = append(before, j)
			}
		}
		s.Accesses = slices.Clone(s.Accesses)
		c.Steps, c.Before, from = append(c.Steps, s), append(c.Before, before), append(from, i)
	}
	c.Removed = make([]bool, len(c.Steps))
	return c
}

package core

import (
	"fmt"
	"strings"

	"github.com/tandem-mc/tandem/explore/internal/codec"
	"github.com/tandem-mc/tandem/internal/invariant"
)

// Bounds leave executions out of a search.
type Bounds struct {
	Limits Limits
	Within []string // what they are, in words
}

// String says in words what all executions are within; empty if there are no bounds.
func (b *Bounds) String() string { return strings.Join(b.Within, " and ") }

// Tally counts executions and holds the state that all searches have in common.
type Tally struct {
	Bounds  Bounds
	Counts  Verdict // Kind and Reason unused
	Waiting bool    // for the report of an execution that was asked for
	Ended   bool
}

// Expect notes that an execution is asked for, or that the search ends (End).
func (t *Tally) Expect() {
	invariant.Check(!t.Waiting, "explore: Next was called again before the execution it asked for was "+
		"reported")
	t.Waiting = true
}

// End is the answer of Next when the search has ended.
func (t *Tally) End() (Schedule, bool) {
	t.Waiting, t.Ended = false, true
	return Schedule{}, false
}

// Count counts a reported execution.
func (t *Tally) Count(e Execution) error {
	invariant.Check(t.Waiting, "explore: Report was called without an execution being asked for by Next")
	t.Waiting = false
	if e.Outcome >= Outcomes {
		return WrongLog(len(e.Transitions), "unknown %v", e.Outcome)
	}
	c, length := &t.Counts, len(e.Transitions)
	c.Executions++
	c.Transitions += length
	c.Last, c.Deepest = length, max(c.Deepest, length)
	if e.Timers > 0 {
		c.Timed++
	}
	switch {
	case e.Outcome == Redundant:
		c.Redundant++
	case e.Outcome == StepLimit:
		c.Limited++
	case e.Outcome.Violation():
		c.Violations++
	}
	return nil
}

// Counted is the verdict without an estimate.
func (t *Tally) Counted() Verdict { return t.Conclude("") }

// Conclude completes the counts; gap says what the search by its nature leaves
// out when it has ended, "" for nothing.
func (t *Tally) Conclude(gap string) Verdict {
	v := t.Counts
	v.Within = t.Bounds.String()
	v.Complete = t.Ended && gap == "" && v.Limited == 0
	switch {
	case v.Violations > 0:
		v.Kind, v.Reason = Violated, fmt.Sprintf("%d of %d executions are "+
			"violations", v.Violations, v.Executions)
	case !t.Ended:
		v.Reason = "the search has not ended"
	case gap != "":
		v.Reason = gap
	case v.Limited > 0:
		v.Reason = fmt.Sprintf("%d of %d executions were cut off", v.Limited, v.Executions)
	default:
		v.Kind, v.Reason = Holds, v.Covered()
	}
	return v
}

// SaveCounts writes which search it is, and the counts.
func (t *Tally) SaveCounts(e *codec.Encoder, search string) {
	e.Ended = t.Ended
	e.Text(search)
	for _, n := range t.savedCounts() {
		e.Number(uint64(*n))
	}
}

// ResumeCounts reads what SaveCounts wrote.
func (t *Tally) ResumeCounts(d *codec.Decoder, search string) {
	if saved := d.Text(); saved != search {
		d.Fail("it is that of a search %.20q, and this one is %q", saved, search)
	}
	for _, n := range t.savedCounts() {
		*n = d.Count(MaxCount)
	}
}

// MaxCount bounds the counts of a search.
const MaxCount = 1 << 56

func (t *Tally) savedCounts() []*int {
	c := &t.Counts
	return []*int{&c.Executions, &c.Redundant, &c.Limited, &c.Violations, &c.Timed, &c.Transitions, &c.Last,
		&c.Deepest}
}

// Absorb adds what a subtree has counted, in place of the execution that was asked for.
func (t *Tally) Absorb(p *Subtree) {
	t.Counts.Add(p.Search.Counted())
	t.Waiting = false
}

// MaxTransitions bounds the transitions of one execution.
const MaxTransitions = 1 << 22

package explore

import (
	"fmt"

	"github.com/tandem-mc/tandem/internal/invariant"

	"github.com/tandem-mc/tandem/internal/model"
)

// tally counts executions and holds the state that all searches have in common.
type tally struct {
	bounds  bounds
	counts  Verdict // Kind and Reason unused
	waiting bool    // for the report of an execution that was asked for
	ended   bool
}

// ask notes that an execution is asked for, or that the search ends (end).
func (t *tally) ask() {
	invariant.Check(!t.waiting, "explore: Next was called again before the execution it asked for was reported")
	t.waiting = true
}

// end is the answer of Next when the search has ended.
func (t *tally) end() (Schedule, bool) {
	t.waiting, t.ended = false, true
	return Schedule{}, false
}

// take counts a reported execution.
func (t *tally) take(e Execution) error {
	invariant.Check(t.waiting, "explore: Report was called without an execution being asked for by Next")
	t.waiting = false
	if e.Outcome >= model.Outcomes {
		return logError(len(e.Transitions), "unknown %v", e.Outcome)
	}
	c, length := &t.counts, len(e.Transitions)
	c.Executions++
	c.Transitions += length
	c.Last, c.Deepest = length, max(c.Deepest, length)
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

func (t *tally) counted() Verdict { return t.verdict("") }

// verdict completes the counts; gap says what the search by its nature leaves
// out when it has ended, "" for nothing.
func (t *tally) verdict(gap string) Verdict {
	v := t.counts
	v.Within = t.bounds.String()
	v.Complete = t.ended && gap == "" && v.Limited == 0
	switch {
	case v.Violations > 0:
		v.Kind, v.Reason = Violated, fmt.Sprintf("%d of %d executions are violations", v.Violations, v.Executions)
	case !t.ended:
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

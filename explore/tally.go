package explore

import "fmt"

// tally counts executions and holds the state that all searches have in common.
type tally struct {
	counts  Verdict // Kind and Reason unused
	waiting bool    // for the report of an execution that was asked for
	part    *Part   // has run that execution, if it is not nil
	ended   bool
}

// ask notes that an execution is asked for, or that the search ends (end).
func (t *tally) ask() {
	if t.waiting {
		panic("explore: Next was called again before the execution it asked for was reported")
	}
	t.waiting, t.part = true, nil
}

// end is the answer of Next when the search has ended.
func (t *tally) end() (Schedule, bool) {
	t.waiting, t.ended = false, true
	return Schedule{}, false
}

// follow is the answer of Next when the next execution is one of a part.
func (t *tally) follow(p *Part) (Schedule, bool) {
	t.part = p
	return Schedule{Part: p}, true
}

// take counts a reported execution.
func (t *tally) take(e Execution) error {
	if !t.waiting {
		panic("explore: Report was called without an execution being asked for by Next")
	}
	t.waiting = false
	if e.Outcome >= outcomes {
		return logError(len(e.Transitions), "unknown %v", e.Outcome)
	}
	t.add(e.Outcome, e.length(), 1)
	return nil
}

// add counts n executions that are alike.
func (t *tally) add(outcome Outcome, length, n int) {
	t.counts.Executions += n
	t.counts.Transitions += n * length
	t.counts.Last, t.counts.Deepest = length, max(t.counts.Deepest, length)
	switch {
	case outcome == Redundant:
		t.counts.Redundant += n
	case outcome == StepLimit:
		t.counts.Limited += n
	case outcome.Violation():
		t.counts.Violations += n
	}
}

// counted is a verdict without what takes time to find out: what is asked for before
// each execution.
func counted(s Search) Verdict {
	if quick, ok := s.(interface{ counted() Verdict }); ok {
		return quick.counted()
	}
	return s.Verdict()
}

func (t *tally) counted() Verdict { return t.verdict("") }

// verdict completes the counts; gap says what the search by its nature leaves
// out when it has ended, "" for nothing.
func (t *tally) verdict(gap string) Verdict {
	v := t.counts
	v.Complete = t.ended && gap == "" && v.Limited == 0
	switch {
	case v.Violations > 0:
		v.Kind, v.Reason = Violated, fmt.Sprintf("%d of %d executions are violations", v.Violations, v.Executions)
	case !t.ended:
		v.Reason = "the search has not ended"
	case gap != "":
		v.Reason = gap
	case v.Limited > 0:
		v.Reason = fmt.Sprintf("%d of %d executions were cut off at the step limit", v.Limited, v.Executions)
	default:
		v.Kind, v.Reason = Holds, v.Covered()
	}
	return v
}

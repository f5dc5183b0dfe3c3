// Package far has parts of a search explored by workers in other processes. It writes what has to
// cross, and reads it: a part of the search, and what was found in it. An execution that somebody
// may want to see crosses as its schedule, and is run again by whoever asked.
package far

import (
	"fmt"

	"github.com/tandem-mc/tandem/check/internal/dials"
	"github.com/tandem-mc/tandem/check/internal/driver"
	"github.com/tandem-mc/tandem/check/internal/execution"
	"github.com/tandem-mc/tandem/check/internal/pool"
	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/internal/model"
)

// task is what is sent with a part.
type task struct {
	Bounds pool.Bounds
}

// answer is what was found in a part, as it is sent with what was explored.
type answer struct {
	Executions int
	Outcomes   map[explore.Outcome]int
	Counts     execution.Counts
	Ended      execution.Ends `json:",omitempty"`
	Findings   []finding
	Used       []driver.Use `json:",omitempty"` // addresses, by any execution so far
}

// finding is the result of an execution, as it is sent.
type finding struct {
	Kind, Signature string
	Violation       bool
	Limit, Limited  string
	Checked         bool
	Counts          execution.Counts
	Dialled         *dials.Notes
	// Kept is set if somebody may want to see the execution: this is its schedule.
	Kept        bool
	Prefix      []model.Action
	EarlyTimers int
	Hits        []bool          `json:",omitempty"` // see execution.Kept
	Ends        *execution.Ends `json:",omitempty"`
	// Sample is set if the execution may have to be audited, which is done where the check is led.
	Sample *execution.Sample `json:",omitempty"`
}

// findingOf is a result as it is sent.
func findingOf(r *execution.Result) finding {
	f := finding{Kind: r.Kind, Signature: r.Signature, Violation: r.Violation, Limit: r.Limit,
		Limited: r.Limited, Checked: r.Checked, Counts: r.Counts, Dialled: r.Dialled, Kept: r.Kept != nil,
		Ends: r.Ends, Sample: r.Sample}
	// A schedule is small. The log of its execution may have megabytes.
	if f.Kept {
		f.Prefix, f.EarlyTimers, f.Hits = r.Kept.Prefix, r.Kept.Log.EarlyTimers, r.Kept.Hits
	}
	return f
}

// repeater runs executions here that are like those that a worker has run.
type repeater interface {
	// again runs the schedule of one that somebody may want to see.
	again(prefix []model.Action, earlyTimers int) (*execution.Kept, error)
	// audit runs the audits of one, and returns what they have counted.
	audit(*execution.Sample) (execution.Counts, error)
}

// result is a finding as the pool has it.
func (f *finding) result(known func(string) bool, here repeater) (*execution.Result, error) {
	r := &execution.Result{Kind: f.Kind, Signature: f.Signature, Violation: f.Violation, Limit: f.Limit,
		Limited: f.Limited, Checked: f.Checked, Counts: f.Counts, Dialled: f.Dialled, Ends: f.Ends}
	if f.Sample != nil {
		c, err := here.audit(f.Sample)
		if err != nil {
			return nil, err
		}
		r.Counts.Add(c)
	}
	var err error
	if f.Kept && !known(f.Kind) {
		if r.Kept, err = here.again(f.Prefix, f.EarlyTimers); err == nil {
			r.Kept.Hits = f.Hits // the second time, all are
		}
	}
	return r, err
}

// answerOf is what was found, as it is sent. Used are the addresses that executions have used.
func answerOf(s *explore.Subtree, x *pool.Explored, used []driver.Use) ([]byte, error) {
	// The part is between two executions: what was found belongs to what was explored.
	explored, err := explore.SaveExplored(s)
	if err != nil {
		return nil, err
	}
	a := answer{Executions: x.Executions, Outcomes: x.Outcomes, Counts: x.Counts, Ended: x.Ended, Used: used}
	for _, r := range x.Results {
		a.Findings = append(a.Findings, findingOf(r))
	}
	return frame(a, explored)
}

// take is what an answer says. The subtree takes over what was explored, and what is to be audited
// of it is audited before that.
func (a *answer) take(s *explore.Subtree, explored []byte, known func(string) bool, here repeater) (
	*pool.Explored, error) {
	x := &pool.Explored{Executions: a.Executions, Outcomes: a.Outcomes, Counts: a.Counts, Ended: a.Ended}
	// JSON leaves out a map without entries.
	if x.Outcomes == nil {
		x.Outcomes = map[explore.Outcome]int{}
	}
	// In the order in which they were found, as the search would have found them.
	for i := range a.Findings {
		r, err := a.Findings[i].result(known, here)
		if err != nil {
			return nil, fmt.Errorf("running again what a worker has found: %w", err)
		}
		x.Results = append(x.Results, r)
	}
	// The last step, since it cannot be taken back.
	return x, explore.TakeOver(s, explored)
}

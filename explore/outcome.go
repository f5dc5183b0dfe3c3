package explore

import "github.com/tandem-mc/tandem/internal/model"

// The vocabulary of package model, by the names that it has there; VerdictKind is model.Verdict.
type (
	GoroutineID = model.GoroutineID
	ObjectID    = model.ObjectID
	Action      = model.Action
	Access      = model.Access
	AccessKind  = model.AccessKind
	Outcome     = model.Outcome
	VerdictKind = model.Verdict
)

// The kinds of access, the outcomes of an execution, and the verdicts.
const (
	Read    = model.Read
	Write   = model.Write
	Commute = model.Commute

	Completed       = model.Completed
	Deadlock        = model.Deadlock
	Panicked        = model.Panicked
	Exited          = model.Exited
	AssertionFailed = model.AssertionFailed
	Leaked          = model.Leaked
	DataRace        = model.DataRace
	Redundant       = model.Redundant
	StepLimit       = model.StepLimit
	Livelock        = model.Livelock

	Unknown  = model.Unknown
	Holds    = model.Holds
	Violated = model.Violated
)

// Verdict is the result of a search, so far or final.
type Verdict struct {
	Kind        VerdictKind
	Reason      string // why the search ended, or that it has not
	Executions  int    // reported, redundant and limited ones included
	Redundant   int    // of them, ended as Redundant
	Limited     int    // of them, ended as StepLimit
	Violations  int    // of them, with an outcome that is a violation
	Transitions int    // in all executions, replayed prefixes included
	Last        int    // transitions of the last execution
	Deepest     int    // transitions of the longest one
	Complete    bool   // all executions within the bounds are covered: there are no other violations
	// Within names the bounds on the executions that were looked at, such as "at most 2
	// preemptions"; empty: there were none.
	Within    string
	Estimate  Estimate  // of the executions that the search needs; only of DFS, DPOR and Random
	Guarantee Guarantee // only of PCT
}

// Covered says what a complete search has covered.
func (v Verdict) Covered() string {
	if v.Within == "" {
		return "every execution is covered"
	}
	return "every execution with " + v.Within + " is covered"
}

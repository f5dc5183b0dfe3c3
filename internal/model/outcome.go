package model

import "fmt"

// Outcome is how an execution ended.
type Outcome uint8

// The outcomes of an execution.
const (
	Completed       Outcome = iota // main returned, or the program exited with status 0
	Deadlock                       // goroutines remain, none is enabled, and no timer is set
	Panicked                       // a panic that nothing recovered, or a fatal error of the runtime
	Exited                         // the program exited with a non-zero status
	AssertionFailed                // tandem.Assert
	Leaked                         // it completed, but goroutines are left that can never go on
	DataRace                       // two accesses to the same memory that nothing orders
	Redundant                      // cut off: everything enabled was asleep
	StepLimit                      // cut off: more transitions than allowed
	Livelock                       // all that can go on go round in loops without effect; no timer is set
	Outcomes                       // their number
)

var outcomeNames = [Outcomes]string{
	Completed:       "completed",
	Deadlock:        "deadlock",
	Panicked:        "panicked",
	Exited:          "exited with a non-zero status",
	AssertionFailed: "assertion failed",
	Leaked:          "goroutine leak",
	DataRace:        "data race",
	Livelock:        "livelock",
	Redundant:       "redundant",
	StepLimit:       "step limit reached",
}

// String names the outcome the way reports do.
func (o Outcome) String() string {
	if o >= Outcomes {
		return fmt.Sprintf("outcome %d", uint8(o))
	}
	return outcomeNames[o]
}

// Violation reports whether the outcome is one that the program should not have.
func (o Outcome) Violation() bool {
	switch o {
	case Deadlock, Panicked, Exited, AssertionFailed, Leaked, DataRace, Livelock:
		return true
	}
	return false
}

// Stuck reports whether it is a violation only if nobody else has the program go on.
func (o Outcome) Stuck() bool { return o == Deadlock || o == Livelock }

// Verdict is what a search found out about a program.
type Verdict uint8

// The verdicts.
const (
	Unknown  Verdict = iota // neither of the others
	Holds                   // all executions within the bounds are covered, none is a violation
	Violated                // at least one execution is a violation
)

// String names the verdict the way reports do.
func (v Verdict) String() string {
	switch v {
	case Unknown:
		return "unknown"
	case Holds:
		return "holds"
	case Violated:
		return "violated"
	}
	return fmt.Sprintf("verdict %d", uint8(v))
}

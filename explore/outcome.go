package explore

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
	Livelock                       // those that are enabled go round in loops without effect, and no timer is set
	outcomes                       // their number
)

var outcomeNames = [outcomes]string{
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

func (o Outcome) String() string {
	if o >= outcomes {
		return fmt.Sprintf("outcome %d", uint8(o))
	}
	return outcomeNames[o]
}

// Violation reports whether the outcome is one that the program should not have.
func (o Outcome) Violation() bool {
	return o == Deadlock || o == Panicked || o == Exited || o == AssertionFailed || o == Leaked || o == DataRace || o == Livelock
}

// VerdictKind is what a search found out about a program.
type VerdictKind uint8

// The verdicts.
const (
	Unknown  VerdictKind = iota // neither of the others; Verdict.Reason says why
	Holds                       // all executions within the bounds are covered, none is a violation
	Violated                    // at least one execution is a violation
)

func (k VerdictKind) String() string {
	switch k {
	case Unknown:
		return "unknown"
	case Holds:
		return "holds"
	case Violated:
		return "violated"
	}
	return fmt.Sprintf("verdict %d", uint8(k))
}

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

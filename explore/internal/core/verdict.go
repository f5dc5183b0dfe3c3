package core

import (
	"fmt"

	"github.com/tandem-mc/tandem/internal/model"
)

// Verdict is the result of a search, so far or final.
type Verdict struct {
	Kind        model.Verdict
	Reason      string // why the search ended, or that it has not
	Executions  int    // reported, redundant and limited ones included
	Redundant   int    // of them, ended as Redundant
	Limited     int    // of them, ended as StepLimit
	Violations  int    // of them, with an outcome that is a violation
	Timed       int    // of them, in which the program has set or stopped timers
	Transitions int    // in all executions, replayed prefixes included
	Last        int    // transitions of the last execution
	Deepest     int    // transitions of the longest one
	// all executions within the bounds are covered: there are no other violations
	Complete bool
	// Within names the bounds on the executions that were looked at, such as "at most 2
	// preemptions"; empty: there were none.
	Within    string
	Estimate  Estimate  // of the executions that the search needs; only of DFS, DPOR and Random
	Guarantee Guarantee // only of PCT
	Phases    Phases    // only of a portfolio
	States    StateCounts
}

// Covered says what a complete search has covered.
func (v Verdict) Covered() string {
	if v.Within == "" {
		return "every execution is covered"
	}
	return "every execution with " + v.Within + " is covered"
}

// Add adds counts of executions that came after those counted.
func (v *Verdict) Add(later Verdict) {
	if later.Executions > 0 {
		v.Last = later.Last
	}
	v.Executions += later.Executions
	v.Redundant += later.Redundant
	v.Limited += later.Limited
	v.Violations += later.Violations
	v.Timed += later.Timed
	v.Transitions += later.Transitions
	v.Deepest = max(v.Deepest, later.Deepest)
}

// Guarantee is what PCT promises: each execution shows a bug of a certain depth with a probability
// of at least 1/(n k^(depth-1)), if it does so in executions of at most n goroutines and k
// transitions. These are the greatest numbers that had been seen when the executions were drawn.
// The promise is about schedules: where a bug needs certain alternatives too (Choose, select),
// their probability is a factor. A goroutine that had 256 transitions in a row, or goes round in a
// loop that waits, has to let the others go on, and the promise is one about executions in which no
// other goes on for longer.
type Guarantee struct {
	Depth       int
	Goroutines  int     // n
	Transitions int     // k
	Drawn       int     // executions whose changes of priority are at transitions 1 ... k
	Choices     bool    // there were alternatives that a bug could need
	Each        float64 // probability of one execution
	All         float64 // that one of those drawn shows the bug
}

// String says it in words; "" if nothing is promised.
func (g Guarantee) String() string {
	if g.Drawn == 0 {
		return ""
	}
	alternatives := ""
	if g.Choices {
		alternatives = ", times that of the alternatives that it needs"
	}
	return fmt.Sprintf("a bug of depth %d shows with probability 1/(%d x %d^%d) at least in each "+
		"execution, %.2g in %d of them%s",
		g.Depth, g.Goroutines, g.Transitions, g.Depth-1, g.All, g.Drawn, alternatives)
}

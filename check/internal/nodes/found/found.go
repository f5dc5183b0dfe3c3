// Package found has what a check of several programs has found.
package found

import (
	"slices"

	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/report"
)

// Result is what was found.
type Result struct {
	// Verdict is Violated if there is a violation, whatever else there is.
	Verdict    model.Verdict
	Reason     string // of an unknown verdict
	Doubt      string // what a violation may rest on, since a real network has it and this one not
	Whole      bool   // there is nothing left to explore, whatever the verdict is
	Counts     skeleton.Counts
	Runs       int          // executions of single nodes, of whatever use
	Random     int          // of these, in walks beside an exploration
	Violations []*Violation // distinct ones, in the order in which they were found
	Outcomes   []string     // that nodes can have, each once, sorted
	Notes      []string     // what else the user may want to know, a line each
	// Traces are, of each skeleton that executions have, how many executions there are of each node
	// in it.
	Traces [][]int
}

// Comes adds outcomes that nodes can have, if they are not known.
func (r *Result) Comes(outcomes ...string) { r.Outcomes = add(r.Outcomes, outcomes) }

// Note adds notes, if they say anything and are not there.
func (r *Result) Note(notes ...string) { r.Notes = add(r.Notes, notes) }

// add adds what is not empty, each once.
func add(list, more []string) []string {
	for _, s := range more {
		if s != "" && !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

// Violation is the first violation; nil: there is none.
func (r *Result) Violation() *Violation {
	if len(r.Violations) == 0 {
		return nil
	}
	return r.Violations[0]
}

// Violation is an execution that one of the nodes should not have.
type Violation struct {
	// Node is the one that has it. The others may be as much to blame.
	Node    string
	Outcome model.Outcome
	// Counterexample is the execution of that node; nil: it could not be run again.
	Counterexample *report.Counterexample
	Events         []report.NodeStep // of all nodes, in an order that is possible
	// Recording is the execution of all nodes, which was run with all of them together; nil: that
	// was not possible, and Unrecorded says why.
	Recording  *report.NodesRecording
	Unrecorded string
	Signature  string // the same for executions that show the same violation
}

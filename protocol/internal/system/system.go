// Package system is what a protocol may do: its global states, and the transitions between them. A
// global state is the local state of each node, and the messages under way. Transitions are looked
// up in the table of what handlers do.
package system

import "github.com/tandem-mc/tandem/protocol/internal/table"

// System says which transitions there are.
type System struct {
	Table *table.Table
	Nodes int
	// Ordered: messages from one node to another arrive in the order in which they were sent. Else
	// they arrive in any order. Duplicating: a message that was sent stays, and may arrive at any
	// time again. Not both.
	Ordered, Duplicating bool
	Faults               Faults
	// Within says whether a state with this local state is of interest; others are left out. Nil:
	// all are.
	Within func(node int, local table.Local) bool
}

// Faults are how often something may go wrong in a run. A negative number is no bound.
type Faults struct{ Drops, Duplicates, Partitions, Crashes int }

// Any is how many faults there may be if there is no bound.
const Any = -1

// Step is a transition from one global state to the next.
type Step struct {
	Fault   Fault
	Kind    table.Kind
	Node    int
	Message table.Message // of Deliver, and of faults
	// Index is that of an own event of the local state, or of a quorum transition.
	Index int
	Set   []table.Message // of Gather
	// Choice is the number of the outcome.
	Choice int
	// Cut are the nodes, as bits, that a partition parts from node 0.
	Cut uint64
	// Outcome is what the handler did; nil if none ran.
	Outcome *table.Outcome
}

// Fault is what the network does wrong in a step.
type Fault uint8

// The faults. A message that is duplicated is delivered, and stays.
const (
	NoFault Fault = iota
	Drop
	Duplicate
	Part // the nodes are cut into two groups
	Heal
)

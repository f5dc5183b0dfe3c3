// Package core has what all searches through the executions of a program have in common: the words
// in which schedules, logs and verdicts are written, the counts, the subtrees that are explored
// elsewhere, and the interfaces Search and Tree.
package core

import "github.com/tandem-mc/tandem/explore/internal/codec"

// core is an algorithm.
type Search interface {
	Next() (Schedule, bool)
	Report(Execution) error
	Verdict() Verdict
	// counted is the verdict without its estimate, which takes time.
	Counted() Verdict
}

// Saveable is an algorithm whose state can be saved.
type Saveable interface {
	Save(*codec.Encoder)
	Resume(*codec.Decoder)
}

// Tree is an algorithm whose executions form a tree: it can be divided.
type Tree interface {
	Search
	Saveable
	Split(least float64) *Subtree
	Arrived() *Subtree
	Merge(*Subtree) bool
	Cancelled() []*Subtree
	Recycle(*Subtree)
	Full() bool // of what it has to tell the search that it is a part of
	Forecast() float64
}

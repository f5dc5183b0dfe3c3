// Package core has what all searches through the executions of a program have in common: the words
// in which schedules, logs and verdicts are written, the counts, the subtrees that are explored
// elsewhere, and the interfaces Search, Tree and Drawn.
package core

import "github.com/tandem-mc/tandem/explore/internal/codec"

// Search is one way to go through the executions of a program. Calls of Next and Report alternate.
type Search interface {
	Next() (Schedule, bool)
	Report(Execution) error
	Verdict() Verdict
	// Counted is the verdict without its estimate, which takes time.
	Counted() Verdict
}

// Saveable is a search whose state can be saved, and read into a new one.
type Saveable interface {
	Save(*codec.Encoder)
	Resume(*codec.Decoder)
}

// Drawn is a search that knows schedules before it has seen what comes of the present one: others
// may run them ahead of time. Prefetch lists the next ones, at most n.
type Drawn interface {
	Search
	Prefetch(n int) []Schedule
}

// Tree is an algorithm whose executions form a tree: it can be divided.
type Tree interface {
	Search
	Saveable
	Split(Size) *Subtree
	Arrived() *Subtree
	Merge(*Subtree) bool
	Cancelled() []*Subtree
	Recycle(*Subtree)
	Full() bool // as a subtree: there is so much to export that it is to be merged
	Forecast() float64
}

// Portable is a tree of which a subtree can be explored in another process. That one writes what it
// has explored, and the subtree that was written takes it over, to be merged.
type Portable interface {
	Tree
	SavePart(*codec.Encoder)     // a subtree that has explored nothing
	ResumePart(*codec.Decoder)   // into a new search
	SaveExplored(*codec.Encoder) // between two executions, of which there was one
	Explored(*codec.Decoder)
}

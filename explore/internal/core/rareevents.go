package core

import "slices"

// RareKind is a kind of event that can happen at many points of an execution, and only a few times
// in it.
type RareKind int

// The rare events. A point of the first three is an operation with an alternative for it; of the
// others, a transition for which the clock, or a signal, could have been picked beside goroutines.
const (
	NetworkFault RareKind = iota
	ShortRead
	ShortWrite
	EarlyTimer
	SignalArrival
	RareKinds
)

// Rare has an event happen at a point of an execution, if it can happen there: points are counted
// from 1, each kind by itself. What happens at a point (which fault, which signal) is random.
type Rare struct {
	Kind RareKind
	At   int
}

// MostRare is how many events of a kind there are at most in a schedule.
const MostRare = 32

// MaxRare is the greatest number of rare events in a schedule.
const MaxRare = int(RareKinds) * MostRare

// HasRarePoints reports whether an execution had points of rare events.
func (e *Execution) HasRarePoints() bool {
	return slices.ContainsFunc(e.RarePoints[:], func(n int) bool { return n > 0 })
}

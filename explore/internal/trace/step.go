package trace

import (
	"slices"

	"github.com/tandem-mc/tandem/explore/internal/core"
)

// Step is an action, and what its transition accesses.
type Step struct {
	core.Action
	Accesses []core.Access
	Marks    Marks
	Number   int32 // the number that the goroutine had in the trace where the step comes from
}

// Marks are what else is known of a step, as bits.
type Marks uint8

const (
	Needed Marks = 1 << iota // has to run before what a reversal is about, or is it
	// accesses are those that the operation had, or would have had, elsewhere
	Guessed
	// the operation may have other alternatives here than where it was seen: any will do
	Open
	AllMarks
)

// Is reports whether a step has a mark.
func (s *Step) Is(m Marks) bool { return s.Marks&m != 0 }

// StepOf is a pending operation as a step.
func StepOf(p *core.Pending) Step {
	return Step{Action: core.Action{Goroutine: p.Goroutine}, Accesses: p.Accesses}
}

// Chooses reports whether a step stands for what an action begins, which includes the
// other alternatives of the same operation.
func (s *Step) Chooses(a *Step) bool {
	return s.Is(Open) || s.Choice == a.Choice
}

// Clone is a copy that shares no memory.
func (s *Step) Clone() *Step {
	return &Step{s.Action, slices.Clone(s.Accesses), s.Marks, s.Number}
}

// Equal reports whether two steps are alike in wakeup trees.
func (s *Step) Equal(other *Step) bool {
	return s.Action == other.Action && s.Marks == other.Marks && slices.Equal(s.Accesses, other.Accesses)
}

// Hash is the same for equal steps.
func (s *Step) Hash() uint64 {
	h := core.Mix(uint64(s.Goroutine) + uint64(s.Choice)<<8 + uint64(s.Marks))
	for _, a := range s.Accesses {
		// above what addresses have
		h = core.Mix(h + uint64(a.Object) + uint64(a.Kind)<<56 + uint64(a.Ready)<<48)
		h += uint64(uint32(a.Delta))<<32 + uint64(uint32(a.Count))
	}
	return h
}

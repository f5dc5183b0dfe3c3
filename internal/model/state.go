package model

// StateObject stands, where the states that a program names are asked for, for all that a
// transition can depend on: a transition that names a state writes it, and all others read it.
const StateObject ObjectID = 1<<61 + 2

// StateKey is a hash of what a program has named (tandem.State), and of where all its goroutines
// are.
type StateKey [2]uint64

// NamedState is a state that the program has named in a transition. Transitions, those of the clock
// included, are counted from 1.
type NamedState struct {
	Key  StateKey
	PC   uint64 // where it was named
	Step int    // the transition
	// Effect is the last transition before it in which an operation had an effect. After it, all
	// goroutines have found the same again and again.
	Effect int
	// Turn is the last one before it that a loop on timers does not repeat for ever by itself: it
	// had alternatives, gave something to the outside, or had an effect and could have come later.
	Turn  int
	Tick  int  // the last one of the clock
	Stirs bool // another goroutine can go on with an operation that has an effect
	// Waits tells that time passes if all goroutines that can go on only find the same again and
	// again for long enough.
	Waits bool
}

// States is told of the states that a program names.
type States interface {
	// Named reports whether the execution is to end there.
	Named(NamedState) (ends bool)
}

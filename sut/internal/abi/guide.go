package abi

// Limits of the lists of a SharedGuide.
const (
	MaxChanges = 1 << 6  // transitions at which priorities change
	MaxRare    = 1 << 8  // rare events of a schedule
	MaxHolds   = 1 << 10 // goroutines that are kept back, each before one transition
	MaxWeights = 1 << 10 // goroutines with interesting transitions
	MaxObjects = 1 << 6  // whose accesses are interesting
)

// SharedGuide says how goroutines are picked beyond what the prefix of a schedule prescribes.
type SharedGuide struct {
	Picks           uint32
	Holds           uint32
	Seed            uint64
	After           uint64 // ns that the clock has gone before the execution begins
	Draws           uint64 // another number: other random numbers for the program
	PreemptionLimit uint32 // 1<<32-1: none
	DelayLimit      uint32
	EarlyTimers     uint32 // how often the clock may advance early; see SharedEnvironment
	Changes         uint32
	Rares           uint32
	Weights         uint32
	Objects         uint32
	States          uint32 // the checker wants to know the states that the program names,
	StatesFrom      uint32 // if they are named in a transition from this position on
	_               uint32
	Hold            [MaxHolds]SharedHold
	Change          [MaxChanges]uint32 // transitions, counted from 1, at which priorities change
	Rare            [MaxRare]SharedRare
	Weight          [MaxWeights]SharedEvents
	Object          [MaxObjects]uint64
}

// How goroutines are picked.
const (
	PicksNext         = iota // the running one goes on, then comes the next in order
	PicksUniformly           // from here on at random
	PicksByPriority          // of goroutines, with changes
	PicksPartialOrder        // by priority of pending operations
	PicksWalk                // by what is left of the interesting transitions
)

// SharedHold keeps a goroutine back before its nth transition, not counting readings of the clock,
// or before one of the readings that come before it.
type SharedHold struct {
	Goroutine uint64
	Nth       uint32
	Reading   uint32 // counted from 1; 0: before the transition itself
	Released  uint32 // by the worker
	_         uint32
}

// SharedEvents is how many interesting transitions a goroutine and its descendants have.
type SharedEvents struct {
	Goroutine uint64
	Events    uint32
	Left      uint32 // known to the worker; 0 before the goroutine begins and after it has ended
}

// SharedRare has a rare event happen at a point; those of each kind are counted from 1.
type SharedRare struct {
	Kind uint32
	At   uint32
}

// Kinds of rare events.
const (
	RareFault = iota // of the network
	RareShortRead
	RareShortWrite
	RareEarlyTimer
	RareSignal
	RareKinds
)

// SharedPoints is where rare events, and early timers, could have been, as the worker has counted.
type SharedPoints struct {
	Rare   [RareKinds]uint32 // beyond the schedule, where goroutines are picked at random
	Timers uint32            // that were set or stopped
}

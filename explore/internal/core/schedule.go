package core

import "github.com/tandem-mc/tandem/internal/model"

// Schedule tells a worker how to run one execution. It executes Prefix; then it
// goes on by itself: it stays with the running goroutine while that is enabled
// and not asleep, else takes the next one that is. A goroutine with several
// alternatives takes the first that is not asleep. When goroutines are enabled
// but all of them asleep, the execution ends as Redundant.
type Schedule struct {
	Prefix []Action
	// Sleep is the sleep set in the state before action SleepFrom of Prefix. From
	// that action on, every executed transition wakes (removes) the sleepers of
	// its own goroutine and those that depend on it (Sleeper.Wakes).
	Sleep     []*Sleeper // which nobody changes
	SleepFrom int
	// Tentative tells that the actions from SleepFrom on have not been executed in this
	// order yet. If one of them cannot be, Prefix ends before it.
	Tentative   bool
	WantEnabled bool   // fill Transition.Enabled
	Holds       []Hold // beyond Prefix, with a Seed or without
	Seed        uint64 // non-zero: after Prefix pick pseudo-randomly, from this seed
	Priorities  *Priorities
	Order       Order      // with a Seed and without Priorities
	Weights     []Weight   // with Order Walk: each goroutine at most once
	Objects     []ObjectID // with Order Walk: accesses to them are what is ordered
	// with a Seed: the rare events, in no order; at other points none happens, if anything else can
	Rare   []Rare
	Limits Limits
	// EarlyTimers is how often the clock may advance although goroutines can go on. Where the
	// worker allows that for every execution, the greater number holds. Without a Seed it does so
	// only where Prefix has it, or when nothing else that is awake can go on. What the schedule
	// allows reaches only timers that are due within a second.
	EarlyTimers int
	// Covers tells that the search covers all that can follow Prefix, of which action New is the
	// first that was not executed in this order yet. So an execution may end where it comes to a
	// state that is known.
	Covers bool
	New    int
	// States is told of the states that the program names in transitions from New on; nil: nobody
	// is. With it, all transitions access StateObject.
	States model.States
	// Most is how many transitions the execution is to have at most; 0: it does not matter.
	Most int
}

// Hold keeps a goroutine back before its Nth transition, counted from 1 and with those of Prefix:
// it is not picked as long as a goroutine that is not held can be. If only held goroutines can be
// picked, the first Hold in the list of which that is true is released for good. So are those that
// others wait for in a loop. No signal arrives before that: the senders of signals are no
// goroutines here. Nor does time pass, unless it may do so early. What can be picked is what is
// enabled, within the Limits and, without a Seed, not asleep.
//
// Readings of the clock are not counted: they are transitions only where it may advance early, and
// a hold means the same where it may not. Reading has the goroutine held before one of the readings
// that come between the transition before and the Nth.
type Hold struct {
	Goroutine GoroutineID
	Nth       int
	Reading   int // counted from 1; 0: before the Nth transition itself
}

// Order is how goroutines are picked at random. Alternatives of an operation are picked uniformly.
type Order uint8

const (
	// Uniform picks each goroutine that can be picked with the same probability.
	Uniform Order = iota
	// PartialOrder gives each pending operation a random priority when its goroutine arrives there,
	// and picks the highest. After a transition the pending operations that conflict with it get
	// new ones (POS: Yuan, Yang, Gu: Partial Order Aware Concurrency Sampling, CAV 2018).
	PartialOrder
	// Walk orders the transitions that access one of Objects, the interesting ones, uniformly
	// (SURW: Zhao, Wolff, Mathur, Roychoudhury: Selectively Uniform Concurrency Testing, ASPLOS
	// 2025). One goroutine is intended to execute the next of them. It is drawn by how many of them
	// are left to it, and redrawn when it has executed one. If it starts a goroutine, the intention
	// passes to that in proportion to what is left to it. Goroutines at other interesting
	// operations are not picked. The others are, with the same probability for each. If nobody else
	// can be picked, the intention is redrawn among those that can.
	Walk
	Orders // their number
)

// Weight is how many interesting transitions a goroutine and its descendants are expected to have.
// A goroutine without one has none.
type Weight struct {
	Goroutine GoroutineID
	Events    int
}

// The greatest lengths of lists of a schedule.
const (
	MaxHolds   = 1024
	MaxWeights = 1024
	MaxObjects = 64
)

// Priorities has goroutines picked by priority, the highest first: beginning with a random
// order, which follows from Schedule.Seed, until changes put a goroutine behind it.
// The alternatives of an operation are random.
type Priorities struct {
	// Changes lists transitions, counted from 1 and without those of the clock. The goroutine that
	// executes the i-th of them then has priority i, less than any that has executed none.
	Changes []int
}

// Limits bound how often a schedule may depart from the one that a worker follows by itself; what
// Prefix prescribes is counted, and executed in any case. Nil is no limit. Alternatives of an
// operation, the advance of the clock and the arrival of a signal are no departures.
type Limits struct {
	// Preemptions take the running goroutine off although it could go on, unless it has
	// yielded.
	Preemptions *int
	// Delays pass over the goroutine that comes next, in the order of creation from the
	// running one on and round again, or from the first if that has ended.
	Delays *int
}

// Sleeper is an action that need not be explored before something that
// conflicts with it has been executed. Accesses are those of its transition, each
// Delta being the sum of those up to it.
type Sleeper struct {
	Action
	Accesses []Access

	// For the search that it comes from:
	Choices    int  // alternatives of its operation
	Incomplete bool // as of node
}

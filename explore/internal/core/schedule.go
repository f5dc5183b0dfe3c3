package core

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
	Seed        uint64 // non-zero: after Prefix pick pseudo-randomly, from this seed
	Priorities  *Priorities
	// with a Seed: the rare events, in no order; at other points none happens, if anything else can
	Rare   []Rare
	Limits Limits
}

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

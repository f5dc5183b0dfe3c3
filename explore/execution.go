package explore

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
	Rare        []Rare // with a Seed: the rare events, in no order; at other points none happens, if anything else can
	Limits      Limits
}

// Priorities has goroutines picked by priority, the highest first: beginning with a random
// order, which follows from Schedule.Seed, until changes put a goroutine behind it.
// The alternatives of an operation are random.
type Priorities struct {
	// Changes lists transitions, counted from 1 and without those of the clock. The goroutine that executes
	// the i-th of them then has priority i, less than any that has executed none.
	Changes []int
}

// Limits bound how often a schedule may depart from the one that a worker follows by
// itself; what Prefix prescribes is counted, and executed in any case. Nil is no limit. Alternatives
// of an operation, the advance of the clock and the arrival of a signal are no departures.
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
	choices int  // alternatives of its operation
	vague   bool // as of node
}

// Need is a wait condition: all bits of Mask hold for Object.
type Need struct {
	Object ObjectID
	Mask   uint8
	Own    uint8 // ReadyPartner: how often the goroutine itself is counted among those that wait
}

// holds reports whether the condition holds for its object in the state of an access.
func (n Need) holds(ready uint8, count int32) bool {
	if n.Own > 0 && count <= int32(n.Own) {
		return false
	}
	return ready&n.Mask == n.Mask
}

// Transition is what one goroutine did from one scheduling point to the next.
// A sealed operation that found its wait condition false ends the transition;
// that look at the object is recorded as a Read. So does an operation with several alternatives: the
// Accesses are the same for each.
type Transition struct {
	Action
	Choices  int           // alternatives of the operation, >= 1
	Needs    []Need        // it waited until one of these held; none: it could always go on
	Accesses []Access      // in an order in which each follows from what those before it found
	Starts   []GoroutineID // goroutines that it created or woke
	Partners []Pending     // operations of others, pending before it, that it completed
	Enabled  []Alternative // all that could have been picked, within the Limits; only if Schedule.WantEnabled
	// Barrier marks what is scheduled only when nothing else is enabled (the clock
	// advances, main returns). It is ordered after everything before it and before
	// everything after it, and takes part in no race.
	Barrier bool
	// Forced tells of a barrier that goroutines were enabled, but only looked again and
	// again at what did not change: they too are ordered after it.
	Forced bool
	// Settled tells that the transition makes one access at most, and would make none to anything else after whatever others had
	// executed before, as long as its goroutine did the same up to here. That it ends where its goroutine waits for a partner, and says so,
	// does not count.
	Settled bool
}

// Alternative is a goroutine that could have been picked, with the number of
// alternatives of its pending operation.
type Alternative struct {
	Goroutine GoroutineID
	Choices   int
	// Rests tells of the goroutine that ran last that it is not preempted if another one is picked, although
	// it could go on: it has yielded, had its turn, or is about to go on with what it had blocked in.
	Rests bool
}

// Pending is an operation that was parked when the execution ended. Goroutines
// blocked inside an operation (Cond.Wait) have none.
type Pending struct {
	Goroutine GoroutineID
	Needs     []Need
	Accesses  []Access // those that the operation would have made, at most one for each object
	Enabled   bool
}

// Execution is the log of one execution.
type Execution struct {
	Transitions []Transition
	Pending     []Pending
	Outcome     Outcome
	// Weight is, with a Seed and without Priorities, the product of the numbers of goroutines and of
	// alternatives among which was picked: one over the probability of the execution, if there were no RarePoints.
	Weight float64
	// RarePoints is, with a Seed, at how many points each kind of rare event could have happened.
	RarePoints [RareKinds]int
}

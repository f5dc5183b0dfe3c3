package core

// Need is a wait condition: all bits of Mask hold for Object.
type Need struct {
	Object ObjectID
	Mask   uint8
	Own    uint8 // ReadyPartner: how often the goroutine itself is counted among those that wait
}

// Holds reports whether the condition holds for its object in the state of an access.
func (n Need) Holds(ready uint8, count int32) bool {
	if n.Own > 0 && count <= int32(n.Own) {
		return false
	}
	return ready&n.Mask == n.Mask
}

// Transition is what one goroutine did from one scheduling point to the next. A sealed operation
// that found its wait condition false ends the transition; that look at the object is recorded as a
// Read. So does an operation with several alternatives: the Accesses are the same for each.
type Transition struct {
	Action
	Choices  int           // alternatives of the operation, >= 1
	Needs    []Need        // it waited until one of these held; none: it could always go on
	Accesses []Access      // in an order in which each follows from what those before it found
	Starts   []GoroutineID // goroutines that it created or woke
	Partners []Pending     // operations of others, pending before it, that it completed
	// all that could have been picked, within the Limits; only if Schedule.WantEnabled
	Enabled []Alternative
	// Barrier marks what is scheduled only when nothing else is enabled (the clock
	// advances, main returns). It is ordered after everything before it and before
	// everything after it, and takes part in no race.
	Barrier bool
	// Forced tells of a barrier that goroutines were enabled, but only looked again and
	// again at what did not change: they too are ordered after it.
	Forced bool
	// SingleAccess tells that the transition makes at most one access, to one object, whatever
	// others have executed before it, as long as its goroutine did the same up to here. An access
	// that only says that the goroutine now waits for a partner does not count.
	SingleAccess bool
	// ReadsClock tells that the operation reads the clock. It is a transition only where the clock
	// may advance early.
	ReadsClock bool
	// Place names the place in the code of the operation that the transition begins with; 0: it is
	// not known. Searches compare places, and nothing else.
	Place uint64
	// Alive is how many goroutines of the program there were before it, those that are blocked
	// included; 0: it is not known. Only directed searches look at it.
	Alive int
}

// Alternative is a goroutine that could have been picked, with the number of
// alternatives of its pending operation.
type Alternative struct {
	Goroutine GoroutineID
	Choices   int
	// Rests tells of the goroutine that ran last that it is not preempted if another one is picked,
	// although it could go on: it has yielded, had its turn, or is about to go on with what it had
	// blocked in.
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
	// Weight is, with a Seed and without Priorities, the product of the numbers of goroutines and
	// of alternatives among which was picked: one over the probability of the execution, if there
	// were no RarePoints.
	Weight float64
	// RarePoints is, with a Seed, at how many points each kind of rare event could have happened.
	RarePoints [RareKinds]int
	Timers     int // that the program has set or stopped
	// Estimates are what the program has said of how near it is to a violation, in the order of the
	// transitions. Each holds until the next one. Only directed searches look at them.
	Estimates []Estimated
}

// Estimated is what the program said in a transition (tandem.Estimate): less is nearer.
type Estimated struct {
	At    int // index of the transition
	Value int64
}

// MayBeSingleAccess reports whether the accesses are those of a SingleAccess.
func (x *Transition) MayBeSingleAccess() bool {
	accesses := x.Accesses
	if len(accesses) > 0 && accesses[0].Object == StateObject {
		accesses = accesses[1:] // with states, all transitions make that one
	}
	for i, a := range accesses {
		if i > 0 && (a.Kind != Commute || a.Ready&CountsWaiting == 0) {
			return false
		}
	}
	return true
}

package runtime

// Bounds on how far an execution departs from the one that the worker runs by itself, which stays
// with the running goroutine while it can go on.
//
// A preemption takes the running goroutine off although it could go on (Musuvathi and Qadeer:
// Iterative Context Bounding, PLDI 2007). It is none if the goroutine yields or has just been
// blocked, or if its turn is over (tandem_fair.go).
//
// A delay passes over the goroutine that would be next, in favour of the one after it (Emmi,
// Qadeer, Rakamaric: Delay-Bounded Scheduling, POPL 2011). The order is that of their creation,
// from the running goroutine on and round again, or from the first if that has ended.
//
// Alternatives of an operation cost nothing, nor do the early clock, the arrival of a signal and
// the timers of peers, which are no goroutines of the program. After these, whoever goes on is not
// preferred.

const tandemUnbounded = 1<<32 - 1

// tandemSpent is what the execution has cost so far.
type tandemSpent struct {
	preemptions, delays uint32
}

func tandemBounded() bool {
	guide := &tandem.sh.guide
	return guide.preemptionLimit != tandemUnbounded || guide.delayLimit != tandemUnbounded
}

// tandemAffordable reports whether an enabled goroutine can be picked within the bounds.
// One always can, since the next in order costs nothing.
func tandemAffordable(gp *g) bool {
	if !tandemBounded() {
		return true
	}
	cost, guide := tandemCost(gp), &tandem.sh.guide
	return tandem.spent.preemptions+cost.preemptions <= guide.preemptionLimit &&
		tandem.spent.delays+cost.delays <= guide.delayLimit
}

// tandemSpend counts what it costs that an enabled goroutine is picked.
func tandemSpend(gp *g) {
	if tandemBounded() {
		cost := tandemCost(gp)
		tandem.spent.preemptions += cost.preemptions
		tandem.spent.delays += cost.delays
	}
}

func tandemCost(gp *g) (cost tandemSpent) {
	if tandemOutside(gp.tandem.op) || gp.tandem.op == opExit {
		return cost
	}
	if gp != tandem.current.ptr() && tandemCanContinue() {
		cost.preemptions = 1
	}
	from := tandemFrom()
	before := func(order int32) bool {
		mine := gp.tandem.order
		if (order >= from) != (mine >= from) {
			return order >= from
		}
		return order < mine
	}
	for i := range tandem.nparked {
		t := &tandem.parked[i].ptr().tandem
		if before(t.order) && !tandemOutside(t.op) && t.op != opExit && tandemEnabled(t) {
			cost.delays++
		}
	}
	return cost
}

// tandemOutside tells of an operation of what is no goroutine of the program.
func tandemOutside(op uint8) bool {
	return op == opAdvance || op == opSignalArrive || op == opPeerTimer || op == opPass
}

// tandemCanContinue reports whether the running goroutine could go on at once.
func tandemCanContinue() bool {
	gp := tandem.current.ptr()
	if gp == nil || !gp.tandem.parked || tandemTurnIsOver() {
		return false
	}
	switch t := &gp.tandem; t.op {
	case opStart, opResume, opExit, opAdvance, opSignalArrive, opPeerTimer, opPass:
		return false
	default:
		return tandemEnabled(t)
	}
}

// tandemFrom is where in the order of creation the next goroutine is looked for.
func tandemFrom() int32 {
	gp := tandem.current.ptr()
	if gp == nil {
		return 0
	}
	if tandemTurnIsOver() {
		return gp.tandem.order + 1 // it may be waiting for another one in a loop
	}
	return gp.tandem.order
}

package runtime

import (
	"internal/runtime/sys"
	linux "internal/runtime/syscall/linux"
	"internal/stringslite"
	"unsafe"
)

// States that the program names (tandem.State). The search wants to end an execution that comes to
// a state which is known. That is sound only if the state is at one place in the order of all
// transitions, in all executions that are equivalent. So, where states are asked for, all
// transitions read one object, and those that name a state write it. They are dependent on
// everything then, and everything on them.
//
// The program says what its state is; where its goroutines are is added here. It does no harm if it
// has said that too, and it is forgotten easily.

// tandemNaming is what is known of named states in this execution. Transitions are counted from 1.
var tandemNaming struct {
	// Of the goroutine that hashes its state, meanwhile.
	id      uint64
	context uintptr
	caller  uintptr
	// The last transition,
	choice uint32 // that had alternatives, or gave something to the outside,
	effect uint32 // of which an operation had an effect,
	order  uint32 // that need not have come before those of others,
	tick   uint32 // or that was one of the clock.
	// For tandemPlaceGoroutines.
	placed [tandemMaxGoroutines]tandemPlaced
}

// tandemStatePoint has the running goroutine wait for its turn to name the state, and reports
// whether it is to be hashed. It is, if nobody asks for it, too: what cannot be hashed is a panic
// in all executions. If so, the goroutine is not under control until tandemStateNamed: to hash the
// state takes memory, and random numbers for the order of maps, and whether that is done must make
// no difference.
//
//go:linkname tandemStatePoint syscall.tandemStatePoint
func tandemStatePoint() (wanted bool) {
	gp := getg()
	if !tandem.on || gp.tandem.id == 0 || gp != gp.m.curg {
		return false
	}
	t, guide, object := &gp.tandem, &tandem.sh.guide, stateObject
	t.op, t.object, t.state, t.choices, t.guarded = opState, 0, 0, 1, false
	if tandemDependsOnStates() {
		t.object = uintptr(object)
	}
	t.caller, t.frame = sys.GetCallerPC(), getcallerfp()
	tandemArrive()
	if guide.states != 0 && tandem.position <= guide.statesFrom {
		return false // an execution before has named it
	}
	n := &tandemNaming
	n.id, n.context, n.caller = t.id, gp.racectx, t.caller
	t.id, gp.racectx = 0, 0
	return true
}

// tandemStateNamed takes the hash of the state, or that it has none. The execution ends here if the
// checker says so.
//
//go:linkname tandemStateNamed syscall.tandemStateNamed
func tandemStateNamed(named bool, low, high uint64) {
	gp, n := getg(), &tandemNaming
	if n.id == 0 || gp.tandem.id != 0 {
		return // nobody has asked
	}
	gp.tandem.id, gp.racectx = n.id, n.context
	n.id = 0
	if !named || tandem.sh.guide.states == 0 {
		return
	}
	fp := getcallerfp()
	s := namedState{key: [2]uint64{low, high}, pc: uint64(n.caller), step: uint64(tandem.sh.steps),
		effect: uint64(tandem.sh.steps - min(tandem.quiet.steps, tandem.sh.steps)),
		turn:   uint64(max(n.choice, min(n.effect, n.order))), tick: uint64(n.tick)}
	systemstack(func() { tandemPlaceGoroutines(&s, gp, fp) })
	if tandemAskState(&s) {
		tandemEnd(outcomeKnown)
	}
}

// tandemDependsOnStates reports whether transitions depend on those that name a state.
//
//go:nosplit
func tandemDependsOnStates() bool { return tandem.sh.environment.inputs&inputsStates != 0 }

// tandemTouchState records that a transition, or an operation that is pending, depends on the
// state, if states are asked for. Naming it does so by itself. The end of main comes after
// everything anyway.
func tandemTouchState(t *tandemG, kind uint8) {
	if !tandemDependsOnStates() || t.op == opState || t.op == opExit {
		return
	}
	tandemRecord(record{kind: kind, op: t.op, flag: accessRead, a: stateObject, pc: uint64(t.caller),
		open: uint64(t.open)})
}

// tandemNoteForStates is called before an operation. It keeps, for states that come again, what
// tandemNoteInLoop keeps for loops.
func tandemNoteForStates(t *tandemG) {
	if !tandemDependsOnStates() {
		return
	}
	n, now := &tandemNaming, tandem.sh.steps
	switch {
	case t.choices <= 1 && (tandemEmpty.has(t.op) || t.op == opGoOn || t.op == opState):
		return
	case t.choices > 1 || t.op == opCollect:
		n.choice = now
	case tandemHarmless(t):
	case tandemTakesTick(t):
		return
	default:
		n.effect = now
	}
	if tandem.loop.several {
		n.order = now
	}
}

// tandemPlaced are the goroutines that are alive, in the order of their creation.
type tandemPlaced struct {
	order int32
	place uint64 // a hash of where it is
}

// tandemPlaceGoroutines adds to a key where all goroutines are, and what else the rest of the
// execution depends on and a program cannot name: the timers that run, and how often time may still
// pass early, and signals and faults may come. Goroutines have no names there, since a loop may
// start one in each round, but are told apart by who is older.
func tandemPlaceGoroutines(s *namedState, current *g, fp uintptr) {
	if tandemAwaited(getg().m.p.ptr()) || tandemPolledTimer() != 0 || tandemIsLate() {
		s.waits = 1
	}
	list, alive := &tandemNaming.placed, 0
	forEachG(func(gp *g) {
		if !tandemIsAlive(gp) {
			return
		}
		if alive == len(list) {
			tandemCutOff("more than 4096 goroutines where the state is named")
		}
		p := tandemPlaced{order: gp.tandem.order}
		if gp == current {
			p.place = tandemPlaceOf(gp, fp)
		} else {
			p.place = tandemPendingOf(gp, s)
		}
		i := alive
		for ; i > 0 && list[i-1].order > p.order; i-- {
			list[i] = list[i-1]
		}
		list[i] = p
		alive++
	})
	n := [2]uint64{}
	add := func(h uint64) { // in any order
		n[0] += tandemMix(h)
		n[1] += tandemMix(^h)
	}
	for i := range alive {
		add(list[i].place + tandemMix(uint64(i)))
	}
	heap := getg().m.p.ptr().timers.heap
	for i := range heap {
		if t := heap[i].timer; t.state&timerZombie == 0 && tandemWakes(t) {
			add(1<<63 | uint64(t.when-tandem.now))
		}
	}
	arrivals := tandemSignals.arrived<<8 | tandemSignals.postponed<<1
	if tandemSignals.quiet {
		arrivals |= 1
	}
	for i, left := range [...]uint64{tandemClock.left, tandem.faults, arrivals, tandemSignals.pending,
		tandem.short[0], tandem.short[1]} {
		add(tandemMix(left) + uint64(i))
	}
	for i := range s.key {
		s.key[i] = tandemMix(s.key[i] + tandemMix(n[i]))
	}
}

// tandemPendingOf is a hash of where another goroutine is, and of how it can go on.
func tandemPendingOf(gp *g, s *namedState) uint64 {
	t := &gp.tandem
	h := tandemPlaceOf(gp, gp.sched.bp)
	if !t.parked {
		return h
	}
	tandemCountChoices(t)
	enabled := t.op != opExit && tandemEnabled(t)
	h = tandemMix(h + uint64(t.op)<<32 + uint64(t.choices))
	if enabled {
		h++
		switch {
		case t.op == opAdvance:
		case !tandemHarmless(t):
			s.stirs = 1
		case t.op != opResume && t.op != opGoOn && !tandemFruitless(t):
			s.waits = 0 // see tandemOnlySpins
		}
	}
	return h
}

// tandemPlaceOf is a hash of the calls that a goroutine is in, from a frame on, but for those of
// the runtime that are innermost.
func tandemPlaceOf(gp *g, fp uintptr) uint64 {
	h, inside := tandemMix(uint64(gp.startpc)), true
	for ; fp != 0; fp = *(*uintptr)(unsafe.Pointer(fp)) {
		pc := tandemReturnAddress(gp, fp)
		if inside {
			f := findfunc(pc - 1)
			inside = f.valid() && stringslite.HasPrefix(funcname(f), "runtime.")
		}
		if !inside {
			h = tandemMix(h + uint64(pc))
		}
	}
	return h
}

// tandemAskState tells the checker of a state, and reports whether the execution is to end there.
// Nothing has happened, so it is no input: it makes no loop one that goes on.
func tandemAskState(s *namedState) (ends bool) {
	sh := tandem.sh
	sh.exchange = exchangeHeader{kind: exchangeState, length: uint32(unsafe.Sizeof(*s))}
	*(*namedState)(unsafe.Pointer(&sh.data)) = *s
	c := byte(answerRequest)
	linux.Syscall6(tandemWrite, answerFD, uintptr(unsafe.Pointer(&c)), 1, 0, 0, 0)
	if tandemCommand() != commandReply {
		exit0(0)
	}
	return sh.exchange.errno != 0
}

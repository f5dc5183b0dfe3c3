package runtime

import (
	"internal/abi"
	"unsafe"
)

// Loops on timers. An execution never ends where all that still happens is that goroutines go round
// in loops on timers, and it says nothing then of those that are blocked beside them. Such loops
// are told from those that count, and end by themselves, as loops without timers are
// (tandem_livelock.go): by the state of the execution at two advances of the clock, between which
//
//   - nothing had alternatives, and nothing came from or went to the outside: the peers, the
//     output, signals,
//   - no operation had an effect, but for locks that were never tried, and for receives of what a
//     timer had sent; or the order of operations was the only one, since no other goroutine could
//     go on when one was executed.
//
// If all memory and all stacks are the same then, and all timers that are set are due as long after
// the second moment as after the first, then what has happened in between happens again and again,
// unless the program looks at the time. Where it does, or receives it from a timer, the clock makes
// leaps of whole rounds, each twice as far as the last, as if the program had been stopped for some
// time, which may happen to any. A loop that waits until a certain time ends then; of the others
// the state is the same again and again, until the leaps are some years.
//
// Of peers it is not known what they will do next. So an execution in which they only let time pass
// is not proven to go on for ever. It is cut off when the state is the same after minutes. Else it
// would go on as far as the log does, in real time where peers have the machine's clock.
type tandemTimerLoop struct {
	ticks     uint32 // in a row, with nothing of what a loop cannot repeat in between
	disturbed bool   // there was something of the kind since the last of them
	marked    bool   // the state at one of them was noted
	mark      uint32 // which one; from then on:
	step      uint32 // transitions until then, as shared.steps counts
	next      uint32 // for so long this state counts, then a later one is noted
	look      uint32 // memory is not compared before this one
	gap       uint32 // and then not for so many
	timed     bool   // the program got to know the time
	several   bool   // goroutines could go on when the transition began
	orders    bool   // several could, before an operation that finds or does something
	effects   bool   // operations had an effect
	locks     bool   // there were operations on locks
	tries     bool   // and tries to get one
	proven    bool   // the loops go on for ever
	leaping   bool
	due       bool   // for a leap
	leap      int64  // the last one, in ns; before, a round
	round     uint32 // ticks
	before    uint32 // the state has to be the same again before this tick
	tired     uint32 // how often leaps have led nowhere
	marks     uint32 // how often a state was noted in this execution
	// The peers may do something at some time, and have not done anything.
	besidePeers bool
}

// How often in a row the clock advances before loops are looked for, and the last leap.
const (
	tandemTimerTicks = 12
	tandemTimerLeap  = loopYears * 365 * 24 * 3600 * 1e9
)

// How long loops on timers go round beside peers that do nothing, in ns: longer than most peers
// wait before they give up a connection. Loops that look at the time may wait until some time.
const (
	tandemBesidePeers      = 2 * 60 * 1e9
	tandemTimedBesidePeers = 5 * 60 * 1e9
	tandemTicksBesidePeers = 4 // before loops are looked for: each may have taken seconds
)

// tandemDisturb notes that something has happened that need not be the same in the next round of a
// loop.
//
//go:linkname tandemDisturb syscall.tandemDisturb
//go:nosplit
func tandemDisturb() {
	tandem.loop.disturbed = true
	tandemNaming.choice = tandem.sh.steps
}

// tandemNoteInLoop is called before an operation.
func tandemNoteInLoop(t *tandemG) {
	l := &tandem.loop
	switch {
	case !l.marked, t.choices <= 1 && (tandemEmpty.has(t.op) || t.op == opGoOn || t.op == opPass ||
		t.op == opState):
		return
	case t.choices > 1 || t.op == opCollect:
		l.disturbed = true
	case tandemHarmless(t):
		l.locks = l.locks || tandemLocking.has(t.op)
		l.tries = l.tries || tandemTrying.has(t.op)
	case tandemTakesTick(t):
		l.timed = true
		return
	default:
		l.effects = true
	}
	l.orders = l.orders || l.several
}

// tandemEmpty are operations that, for others, are none, or only about a timer.
const tandemEmpty tandemOperations = 1<<opStart | 1<<opResume | 1<<opYield | 1<<opReadClock |
	1<<opSetTimer | 1<<opTimer

// tandemTakesTick reports whether an operation receives what a timer has sent.
func tandemTakesTick(t *tandemG) bool {
	if !t.waits() {
		return false
	}
	_, arm, _ := tandemAlternative(t, t.choice)
	if arm == noArm || t.sends(arm) {
		return false
	}
	c := t.channel(arm)
	if c == nil || c.timer != nil {
		return c != nil
	}
	heap := getg().m.p.ptr().timers.heap
	for i := range heap {
		if tandemTimerChannel(heap[i].timer) == c {
			return true
		}
	}
	return false
}

// tandemTimerChannel is the channel that a timer sends to; nil if it calls a function.
func tandemTimerChannel(t *timer) *hchan {
	if t.isChan {
		return t.hchan()
	}
	argument := efaceOf(&t.arg)
	if argument._type == nil || argument._type.Kind() != abi.Chan {
		return nil
	}
	return (*hchan)(argument.data)
}

// tandemLooksAtClock notes that the program reads the clock, in a function that was called from pc:
// package time also does so to say when a timer is due, and tells nobody.
func tandemLooksAtClock(pc uintptr) {
	l := &tandem.loop
	if !l.marked || l.timed || getg().tandem.id == 0 { // a timer that sends the time is none
		return
	}
	l.timed = true
	if f := findfunc(pc - 1); f.valid() {
		u, at := newInlineUnwinder(f, pc-1)
		l.timed = u.srcFunc(at).name() != "time.when"
	}
}

// tandemTimersGoRound is called when nothing can happen but that a timer fires. It reports whether
// nothing else will ever happen any more.
func tandemTimersGoRound(pp *p) bool {
	l, beside := &tandem.loop, tandemPeerTime.mayGoOn()
	if l.disturbed || tandem.barren > 0 || tandemState == nil || l.ticks > 0 && beside != l.besidePeers ||
		beside && (tandemTellsTaken() || tandem.overtime.on) || tandemPeerTimersMayBeDue() {
		*l = tandemTimerLoop{tired: l.tired, marks: l.marks}
		return false
	}
	if tandemPeersMayAct() {
		return false // they are asked first, and then this is called again
	}
	l.besidePeers = beside
	first := uint32(tandemTimerTicks)
	if beside {
		first = tandemTicksBesidePeers
	}
	if l.ticks++; l.ticks < first<<l.tired {
		return false
	}
	pp.timers.lock()
	pp.timers.adjust(tandem.now, true) // what is set is then in order
	pp.timers.unlock()
	switch now := l.ticks; {
	case l.marked && l.isSame():
		if !beside {
			return l.foundSame()
		}
		l.foundSameBesidePeers()
	case l.leaping && now < l.before, l.marked && !l.leaping && now < l.next:
	case l.leaping:
		*l = tandemTimerLoop{tired: min(l.tired+1, 16), marks: l.marks}
	case !l.marked && !l.mayNote():
	default:
		*l = tandemTimerLoop{ticks: now, mark: now, next: now + 2*max(4, now-l.mark), gap: max(1, l.gap),
			step: tandem.sh.steps, tired: l.tired, besidePeers: beside, marks: l.marks + 1,
			marked: tandemNoteState()}
	}
	return false
}

// mayNote reports whether a state may be noted again, after something has happened that a loop does
// not repeat. To note it takes as long as to copy the memory. Where traffic comes between the loops
// all the time, that must not be most of what an execution does.
func (l *tandemTimerLoop) mayNote() bool {
	const free, each = 4, 200 // marks, and transitions for each one more
	return l.marks < free || tandem.sh.steps >= each*(l.marks-free+1)
}

// isSame reports whether the state is that at the mark, and nothing has happened since that need
// not happen again.
func (l *tandemTimerLoop) isSame() bool {
	if l.ticks < l.look || !l.repeats() || tandemAlive() != tandemState.alive ||
		tandemHashTimers() != tandemState.timers {
		return false
	}
	if tandemSameGoroutines() && tandemSameMemory() {
		return true
	}
	same, soon := tandemSameGraph()
	if !same && !soon { // a counter in memory: it takes long to find out
		l.look = l.ticks + l.gap
		l.gap *= 2
	}
	return same
}

// foundSame sees to what comes when the state has been found the same: if the program looks at the
// time, a leap of the clock. It reports whether the loops are proven.
func (l *tandemTimerLoop) foundSame() bool {
	switch {
	case !l.timed || l.leap >= tandemTimerLeap:
		l.proven = true
		return true
	case !l.leaping:
		l.leaping, l.leap, l.round = true, tandem.now-tandemState.now, l.ticks-l.mark
		l.gap = 0 // from now on it is the same, or not
	}
	l.leap *= 2
	l.due = true
	l.before = l.ticks + 2*l.round + 8
	return false
}

// foundSameBesidePeers ends the execution if the peers have done nothing for long.
func (l *tandemTimerLoop) foundSameBesidePeers() {
	most := int64(tandemBesidePeers)
	if l.timed {
		most = tandemTimedBesidePeers
	}
	if tandem.now-tandemState.now >= most {
		tandemMessage("goroutines that only loop on timers, while the peers do nothing for minutes")
		tandemEnd(outcomeLimit)
	}
	l.next = l.ticks + 1 // the mark stays
}

// repeats reports whether all operations since the mark find the same again if the state is the
// same.
func (l *tandemTimerLoop) repeats() bool {
	return !(l.effects && l.orders) && !(l.locks && l.tries)
}

// goesRound reports whether a goroutine has gone on since the mark.
func (l *tandemTimerLoop) goesRound(t *tandemG) bool { return l.marked && t.turn > l.step }

// tandemPeerTimersMayBeDue reports whether a timer of the peers may be chosen to be due.
func tandemPeerTimersMayBeDue() bool {
	s := &tandemPeerTimers
	return s.pass != nil && s.passed < tandem.sh.environment.peerTimers
}

// tandemEndInLoops ends an execution in which all that still happens is that goroutines go round
// in loops on timers: a deadlock of the others, if there are any.
func tandemEndInLoops() {
	outcome := uint32(outcomeLivelock)
	message := "no goroutine can go on, and the timers that are set only set themselves again"
	forEachG(func(gp *g) {
		t := &gp.tandem
		switch {
		case t.id == 0 || t.background || readgstatus(gp)&^_Gscan != _Gwaiting:
			return
		case tandem.loop.goesRound(t):
			message = "no goroutine can go on but those that loop on timers for ever"
			return
		}
		_, open := tandemBlockedAt(gp)
		if t.id == 1 || open != 0 || tandemClass(gp.gopc) == callerOpen {
			outcome = outcomeDeadlock
		}
	})
	tandemRecordBlocked()
	tandemMessage(message)
	tandemEnd(outcome)
}

// tandemHashTimers is a hash of how long after now those timers are due that can wake somebody.
func tandemHashTimers() (hash uint64) {
	heap := getg().m.p.ptr().timers.heap
	for i := range heap {
		if t := heap[i].timer; t.state&timerZombie == 0 && tandemWakes(t) {
			hash = tandemMix(hash + 1 + uint64(t.when-tandem.now))
		}
	}
	return hash
}

// tandemSameTime reports whether a word that has changed since the state was noted is the same as
// then, seen from the time: it says when a timer is due, or is a number that only the runtime uses.
func tandemSameTime(at uintptr, was, is uint64) bool {
	passed := uint64(tandem.now - tandemState.now)
	if passed == 0 {
		return false
	}
	heap := getg().m.p.ptr().timers.heap
	array := uintptr(unsafe.Pointer(unsafe.SliceData(heap)))
	if i := at - array; i < uintptr(cap(heap))*unsafe.Sizeof(timerWhen{}) {
		at := i % unsafe.Sizeof(timerWhen{})
		return i >= uintptr(len(heap))*unsafe.Sizeof(timerWhen{}) ||
			at == unsafe.Offsetof(timerWhen{}.when)
	}
	for i := range heap {
		t := heap[i].timer
		switch at - uintptr(unsafe.Pointer(t)) {
		case unsafe.Offsetof(t.when), unsafe.Offsetof(t.seq):
			return true // see tandemHashTimers
		}
		// what has set it may have the same on its stack
		if is == uint64(t.when) && is-was == passed {
			return true
		}
	}
	return false
}

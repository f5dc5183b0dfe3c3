package runtime

import "unsafe"

// Overtime. Where leaks are looked for, main does not end while goroutines of the program are left
// and a timer, of the program or of its peers, could wake one: time passes first, so that those
// which wait for it and then end are no leak. What goes wrong meanwhile is no violation, since
// natively the program has ended. It ends when all are blocked for ever, or when those that are not
// have been proven to go round in loops on timers (tandem_timerloop.go), or at its bounds.
//
// After some advances of the clock to the next timer it goes further, each time twice as far as
// before: as if the program had been stopped for some time, which may happen to any. So a loop that
// waits until a certain time ends soon. A goroutine that goes round and round all the same counts
// as one that loops on its timers for ever. Of others that still wait for a timer nothing is known.
type tandemOvertime struct {
	on       bool
	over     bool
	advances uint32 // of the clock
	idle     uint32 // the last of them, since which no goroutine of the program has done anything
	steps    uint32
	leap     int64 // how far the clock goes at least, in ns
	ends     int64 // no timer fires that is due later
}

// The bounds of overtime.
const (
	tandemOvertimeAdvances = overtimeTimers
	tandemOvertimeYears    = overtimeYears * 365 * 24 * 3600 * 1e9
	tandemOvertimeNear     = 64 // advances that go to the next timer, before the leaps
	tandemOvertimeIdle     = 32 // of the leaps
	tandemOvertimeSteps    = 1 << 14
	tandemOvertimeReserve  = 64 // transitions that are left for the end
	tandemOvertimeLeap     = 1e6
	tandemOvertimeMaxLeap  = 1 << 49 // a week
	tandemLoopsOnTimers    = 128     // transitions at least
)

// tandemWorksOvertime reports whether time is to pass although only the end of main is left.
func tandemWorksOvertime(pp *p) bool {
	o, sh := &tandem.overtime, tandem.sh
	if sh.wantLeaks == 0 || o.over {
		return false
	}
	if !o.on {
		o.ends = tandem.now + tandemOvertimeYears
		tandem.loop.disturbed = true
	}
	switch {
	case !tandemWaits(pp) || tandem.loop.proven || !tandemLeaves(nil),
		o.advances == tandemOvertimeAdvances || o.idle == tandemOvertimeIdle,
		o.steps >= tandemOvertimeSteps || sh.steps+tandemOvertimeReserve > sh.stepLimit,
		tandemFirstAwaited(pp) > o.ends:
		o.over = true
		return false
	}
	o.on = true
	if o.advances++; o.advances > tandemOvertimeNear {
		o.idle++
	}
	return true
}

// tandemWaits reports whether anything is to happen at some time that may wake a goroutine.
func tandemWaits(pp *p) bool {
	return tandemAwaited(pp) || tandemPolledTimer() != 0 || tandemIsLate() || tandemPeersMayAct()
}

// tandemLeap is when the clock goes to, the next timer being due at a time.
func tandemLeap(when int64) int64 {
	o, l := &tandem.overtime, &tandem.loop
	if l.due {
		l.due = false
		return max(when, tandem.now+l.leap)
	}
	if !o.on || o.over || o.advances <= tandemOvertimeNear {
		return when
	}
	o.leap = max(min(2*o.leap, tandemOvertimeMaxLeap), tandemOvertimeLeap)
	return max(when, min(tandem.now+o.leap, o.ends))
}

// tandemNoteOvertime counts the transition of a goroutine that begins.
func tandemNoteOvertime(gp *g) {
	o := &tandem.overtime
	if !o.on || o.over {
		return
	}
	o.steps++
	if gp.tandem.overtime++; gp.tandem.origin&^callerPrivate == callerOpen {
		o.idle = 0
	}
}

// tandemAfterTheEnd is the outcome of an execution: what happens in overtime is none, but that a
// limit was reached, since then nothing is known of those that are left.
func tandemAfterTheEnd(outcome uint32) uint32 {
	if !tandem.overtime.on {
		return outcome
	}
	switch outcome {
	case outcomePanic, outcomeExit, outcomeAssert, outcomeRace, outcomeRefused, outcomeDeadlock,
		outcomeLivelock:
		tandem.sh.exitCode = 0
		return outcomeCompleted
	case outcomeSteps, outcomeLogFull, outcomeRounds, outcomeLimit:
		tandem.sh.exitCode = 0
		tandem.sh.recordLimit = maxRecords
		return tandemOutcomeOfLeaks(true)
	}
	return outcome
}

// tandemLeaked reports how the program ends, which is ending well: whether it leaves goroutines
// behind that can never go on. It records them. The end of main has waited until nothing else could
// happen, so whoever is blocked now stays so, unless a timer is set that can wake somebody, or the
// peers have one. Then nothing is known, but of goroutines that loop on timers.
func tandemLeaked() uint32 {
	if tandem.sh.wantLeaks == 0 {
		return outcomeCompleted
	}
	return tandemOutcomeOfLeaks(tandemWaits(getg().m.p.ptr()) && !tandem.loop.proven)
}

// tandemOutcomeOfLeaks is tandemLeaked where it is known whether something may still wake those
// that are left.
func tandemOutcomeOfLeaks(waited bool) uint32 {
	found, loops := false, false
	tandemLeaves(func(gp *g, at, open uintptr) {
		found = true
		loops = loops || tandemLoops(&gp.tandem)
	})
	switch {
	case !found:
		return outcomeCompleted
	case waited && !loops:
		tandemRecordLeft(leftUnjudged)
		return outcomeUnjudged
	}
	tandemRecordLeft(leftBlocked)
	return outcomeLeaked
}

// tandemLoops reports whether a goroutine loops on timers.
func tandemLoops(t *tandemG) bool {
	if tandem.loop.proven {
		return tandem.loop.goesRound(t)
	}
	return t.overtime >= max(tandemLoopsOnTimers, tandem.overtime.advances/2)
}

// tandemRecordLeft records the goroutines that are left: those that loop on timers as such.
func tandemRecordLeft(others uint32) {
	tandemLeaves(func(gp *g, at, open uintptr) {
		t := &gp.tandem
		r := record{kind: recordLeft, op: t.op, a: t.id, pc: uint64(at), open: uint64(open), number: others}
		if tandemLoops(t) {
			if r.number = leftLooping; tandem.loop.proven {
				r.number = leftLoops
			}
		}
		tandemRecord(r)
	})
}

// tandemLeaves reports whether there are blocked goroutines of the program beside main, and calls
// visit, if it is not nil, with each, where it is blocked, and the nearest call around that which
// is not sealed.
func tandemLeaves(visit func(gp *g, at, open uintptr)) (found bool) {
	forEachG(func(gp *g) {
		t := &gp.tandem
		blocked := readgstatus(gp)&^_Gscan == _Gwaiting
		if t.id <= 1 || t.background || !blocked {
			return // not under control, main, started by package initialisation, or running
		}
		at, open := tandemBlockedAt(gp)
		if open == 0 && tandemClass(gp.gopc) != callerOpen {
			return // a goroutine of a library, such as a reader of an idle connection
		}
		if found = true; visit != nil {
			visit(gp, at, open)
		}
	})
	return found
}

// tandemBlocking are the classes of the callers that are part of what a goroutine is blocked in.
const tandemBlocking = 1<<callerRuntime | 1<<callerAtomic | 1<<callerValue |
	1<<callerChecker | 1<<callerInside

// tandemRecordBlocked records the goroutines that are blocked, but not at a point, where a record
// of their pending operation says so: in select {}, or in Cond.Wait. It also records those that
// loop on timers.
func tandemRecordBlocked() {
	forEachG(func(gp *g) {
		t := &gp.tandem
		loops := tandem.loop.proven && tandem.loop.goesRound(t)
		if t.id == 0 || t.parked && !loops || readgstatus(gp)&^_Gscan != _Gwaiting {
			return
		}
		at, open := tandemBlockedAt(gp)
		r := record{kind: recordLeft, op: t.op, a: t.id, pc: uint64(at), open: uint64(open)}
		if loops {
			r.number = leftLoops
		}
		tandemRecord(r)
	})
}

// tandemBlockedAt finds the call in which a goroutine is blocked, and the
// nearest one around it that is not sealed, 0 if there is none.
func tandemBlockedAt(gp *g) (at, open uintptr) { return tandemCalledFrom(gp, gp.sched.bp) }

// tandemCalledFrom is tandemBlockedAt for what is called from a frame on.
func tandemCalledFrom(gp *g, fp uintptr) (at, open uintptr) {
	for ; fp != 0; fp = *(*uintptr)(unsafe.Pointer(fp)) {
		pc := tandemReturnAddress(gp, fp)
		class := tandemClass(pc) &^ callerPrivate
		if at == 0 && tandemBlocking>>class&1 == 0 {
			at = pc
		}
		if class == callerOpen {
			return at, pc
		}
	}
	return at, 0
}

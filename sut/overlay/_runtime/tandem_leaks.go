package runtime

import "unsafe"

// Overtime. Where leaks are looked for, main does not end while goroutines of the program are left
// and a timer, of the program or of its peers, could wake one: time passes first, so that those
// which wait for it and then end are no leak. What goes wrong meanwhile is no violation, since
// natively the program has ended. Each time the clock advances it goes further than to the next
// timer, twice as far as before: as if the program had been stopped for some time, which may happen
// to any. So a loop that waits until a certain time ends soon. A goroutine that goes round and
// round all the same loops on its timers for ever.
type tandemOvertime struct {
	on       bool
	over     bool
	advances uint32 // of the clock
	idle     uint32 // the last of them, since which no goroutine of the program has done anything
	steps    uint32
	leap     int64 // how far the clock goes at least, in ns
}

// The bounds of overtime, and in how many transitions in it a goroutine loops on timers.
const (
	tandemOvertimeAdvances = 128
	tandemOvertimeIdle     = 32
	tandemOvertimeSteps    = 1 << 13
	tandemOvertimeReserve  = 64 // transitions that are left for the end
	tandemOvertimeLeap     = 1e6
	tandemOvertimeMaxLeap  = 1 << 53 // some hundred days
	tandemLoopsOnTimers    = 64
)

// tandemWorksOvertime reports whether time is to pass although only the end of main is left.
func tandemWorksOvertime(pp *p) bool {
	o, sh := &tandem.overtime, tandem.sh
	switch {
	case sh.wantLeaks == 0 || o.over:
		return false
	case !tandemAwaited(pp) && tandemPolledTimer() == 0 && !tandemIsLate() && !tandemPeersMayAct(),
		!tandemLeaves(nil):
		o.over = true
	case o.advances == tandemOvertimeAdvances || o.idle == tandemOvertimeIdle ||
		o.steps >= tandemOvertimeSteps:
		o.over = true
	case sh.steps+tandemOvertimeReserve > sh.stepLimit:
		o.over = true
	}
	if o.over {
		return false
	}
	o.on = true
	o.advances++
	o.idle++
	return true
}

// tandemLeap is when the clock goes to in overtime, the next timer being due at a time.
func tandemLeap(when int64) int64 {
	o := &tandem.overtime
	if !o.on || o.over {
		return when
	}
	o.leap = max(min(2*o.leap, tandemOvertimeMaxLeap), tandemOvertimeLeap)
	return max(when, tandem.now+o.leap)
}

// tandemNoteOvertime counts the transition of a goroutine that begins.
func tandemNoteOvertime(gp *g) {
	o := &tandem.overtime
	if !o.on || o.over {
		return
	}
	o.steps++
	if gp.tandem.overtime++; tandemClass(gp.gopc) == callerOpen {
		o.idle = 0
	}
}

// tandemAfterTheEnd is the outcome of an execution: what happens in overtime is none.
func tandemAfterTheEnd(outcome uint32) uint32 {
	switch outcome {
	case outcomePanic, outcomeExit, outcomeAssert, outcomeRace, outcomeRefused, outcomeDeadlock,
		outcomeSteps, outcomeLogFull, outcomeRounds, outcomeLimit,
		outcomeLivelock:
		if tandem.overtime.on {
			tandem.sh.exitCode = 0
			return outcomeCompleted
		}
	}
	return outcome
}

// tandemLeaked reports whether the program, which is ending well, leaves goroutines behind that can
// never go on, and records them. The end of main has waited until nothing else could happen, so
// whoever is blocked now stays so, unless a timer is set that can wake somebody, or the peers have
// one. Then nobody knows, but of goroutines that loop on timers.
func tandemLeaked() bool {
	if tandem.sh.wantLeaks == 0 {
		return false
	}
	waited := tandemAwaited(getg().m.p.ptr()) || tandemPolledTimer() != 0 || tandemIsLate() ||
		tandemPeersMayAct()
	found, loops := false, false
	tandemLeaves(func(gp *g, at, open uintptr) {
		found = true
		loops = loops || gp.tandem.overtime >= tandemLoopsOnTimers
	})
	if !found || waited && !loops {
		return false
	}
	tandemLeaves(func(gp *g, at, open uintptr) {
		t := &gp.tandem
		r := record{kind: recordLeft, op: t.op, a: t.id, pc: uint64(at), open: uint64(open)}
		if t.overtime >= tandemLoopsOnTimers {
			r.number = 1
		}
		tandemRecord(r)
	})
	return true
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
// of their pending operation says so: in select {}, or in Cond.Wait.
func tandemRecordBlocked() {
	forEachG(func(gp *g) {
		t := &gp.tandem
		if t.id == 0 || t.parked || readgstatus(gp)&^_Gscan != _Gwaiting {
			return
		}
		at, open := tandemBlockedAt(gp)
		tandemRecord(record{kind: recordLeft, op: t.op, a: t.id, pc: uint64(at), open: uint64(open)})
	})
}

// tandemBlockedAt finds the call in which a goroutine is blocked, and the
// nearest one around it that is not sealed, 0 if there is none.
func tandemBlockedAt(gp *g) (at, open uintptr) {
	for fp := gp.sched.bp; fp != 0; fp = *(*uintptr)(unsafe.Pointer(fp)) {
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

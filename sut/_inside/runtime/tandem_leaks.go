package runtime

import "unsafe"

// tandemLeaked reports whether the program, which is ending well, leaves
// goroutines behind that can never go on, and records them. The end of main has
// waited until nothing else could happen, so whoever is blocked now stays so,
// unless a timer is set: then nobody knows.
func tandemLeaked() bool {
	if tandem.sh.wantLeaks == 0 || tandemTimersPending() {
		return false
	}
	found := false
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
		found = true
		tandemRecord(record{kind: recordLeft, op: t.op, a: t.id, pc: uint64(at), open: uint64(open)})
	})
	return found
}

func tandemTimersPending() bool {
	ts := &getg().m.p.ptr().timers
	return int32(ts.len.Load())-ts.zombies.Load() > 0
}

// tandemBlocking are the classes of the callers that are part of what a goroutine is blocked in.
const tandemBlocking = 1<<callerRuntime | 1<<callerAtomic | 1<<callerValue | 1<<callerChecker | 1<<callerInside

// tandemRecordBlocked records the goroutines that are blocked, but not at a point, where a record of their
// pending operation says so: in select {}, or in Cond.Wait.
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

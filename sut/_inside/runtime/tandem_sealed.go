package runtime

import "unsafe"

// tandemPlain are operations that never have alternatives, nor a counter. Most of those
// of sealed packages are such.
const tandemPlain tandemOperations = 1<<opLock | 1<<opUnlock | 1<<opLoad | 1<<opStore | 1<<opUpdate | 1<<opOnce

// tandemSettling are operations that access what they are on and nothing else, whatever they find. Most of those of open packages
// are such.
const tandemSettling tandemOperations = tandemPlain | 1<<opTryLock | 1<<opReadLock | 1<<opReadUnlock | 1<<opWriteLock | 1<<opWriteUnlock |
	1<<opWriteWait | 1<<opTryReadLock | 1<<opTryWriteLock | 1<<opAdd | 1<<opWait

// tandemSettles reports whether the transition that a goroutine begins is its pending operation and nothing else, wherever it is
// executed. So whatever follows begins another one, even if it is sealed.
func tandemSettles(gp *g) bool {
	t := &gp.tandem
	return t.direct && tandemSettling.has(t.op) && t.choices == 1 && tandem.sh.world.earlyTimers == 0
}

// tandemSettle ends a transition that is settled, before an access that has no point of its own.
func tandemSettle() {
	if t := &getg().tandem; t.settled {
		t.op, t.object, t.state, t.choices, t.settled, t.guarded = opResume, 0, 0, 1, false, false
		mcall(tandemPark)
	}
}

// tandemNotSettled is for what accesses something in the course of a transition.
func tandemNotSettled() {
	if getg().tandem.settled {
		throw("tandem: an access in a transition that was over")
	}
}

// tandemGoesAhead has an operation of a sealed package go ahead, if it can and there is
// nothing to choose.
func tandemGoesAhead(t *tandemG) bool {
	switch {
	case tandemPlain.has(t.op):
		ready, need := tandemReady(t), tandemNeed(t.op)
		if ready&need != need || tandemSealedTurnIsOver() {
			return false
		}
		*tandemNextRecord() = record{
			kind: recordAccess, op: t.op, flag: tandemAccessKind(t), ready: ready, a: tandemNameFor(t),
			pc: uint64(t.caller), open: uint64(t.open),
		}
	case t.waits():
		n, arm, partner := tandemAlternative(t, 0)
		if n != 1 || tandemSealedTurnIsOver() {
			return false
		}
		t.choices, t.choice = 1, 0
		tandemOperateBy(t, n, arm, partner)
	default:
		tandemCountChoices(t)
		if !tandemEnabled(t) || tandemAwaitsPeer(t) || t.choices != 1 || t.op == opYield || t.op == opExit || tandemSealedTurnIsOver() {
			return false
		}
		tandemLogOperation(t)
	}
	return true
}

// tandemAwaitsPeer reports whether an operation on a connection would have waited for a
// peer to accept it or to answer, had the peer taken any time: others can go on meanwhile,
// whatever package it is called from.
func tandemAwaitsPeer(t *tandemG) bool {
	switch t.op {
	case opSocketRead:
		return (*socketQueue)(unsafe.Pointer(t.state)).awaited
	case opSocketWrite:
		out := tandemSockets[t.object].out
		return out != nil && out.awaited
	}
	return false
}

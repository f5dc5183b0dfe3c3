package runtime

import (
	"internal/runtime/sys"
	"unsafe"
)

// tandemPlain are operations that never have alternatives, nor a counter. Most of those
// of sealed packages are such.
const tandemPlain tandemOperations = 1<<opLock | 1<<opUnlock | 1<<opLoad | 1<<opStore | 1<<opUpdate |
	1<<opOnce

// tandemSingleAccess are operations that access what they are on and nothing else, whatever they
// find. Most of those of open packages are such.
const tandemSingleAccess tandemOperations = tandemPlain | 1<<opTryLock | 1<<opReadLock | 1<<opReadUnlock |
	1<<opWriteLock | 1<<opWriteUnlock | 1<<opWriteWait |
	1<<opTryReadLock | 1<<opTryWriteLock | 1<<opAdd | 1<<opWait

// tandemIsSingleAccess reports whether the transition that a goroutine begins is its pending
// operation and nothing else, wherever it is executed. So whatever follows begins another one, even
// if it is sealed.
func tandemIsSingleAccess(gp *g) bool {
	t := &gp.tandem
	if t.op == opAdd && t.delta > 0 { // it may have alternatives: see tandemCountLate
		return false
	}
	return t.direct && tandemSingleAccess.has(t.op) && tandemClock.allowed == 0
}

// tandemEndSingleAccess ends a transition of a single access, before what may access something
// without a point of its own: a system call, the use of a descriptor, and whatever is done while
// the goroutine is pinned, when it cannot be preempted any more. Pointers that are arguments of a
// system call are numbers yet: the stack is not to be moved meanwhile.
//
//go:linkname tandemEndSingleAccess syscall.tandemEndSingleAccess
//go:nosplit
func tandemEndSingleAccess() {
	gp := getg()
	if !gp.tandem.singleAccess || gp != gp.m.curg || gp.m.locks != 0 {
		return
	}
	gp.parkingOnChan.Store(true) // which keeps the garbage collector from doing so
	tandemPointAt(opGoOn, nil, nil, sys.GetCallerPC(), getcallerfp())
	gp.parkingOnChan.Store(false)
}

// tandemGoesAhead has an operation of a sealed package go ahead, if it can and there is
// nothing to choose.
func tandemGoesAhead(t *tandemG) bool {
	switch {
	case tandemPlain.has(t.op):
		ready, need := tandemReady(t), tandemNeed(t.op)
		if ready&need != need || tandemSealedTurnIsOver(t) {
			return false
		}
		tandemNoteEffect(t)
		*tandemNextRecord() = record{
			kind: recordAccess, op: t.op, flag: tandemAccessKind(t), ready: ready, a: tandemNameFor(t),
			pc: uint64(t.caller), open: uint64(t.open),
		}
	case t.waits():
		n, arm, partner := tandemAlternative(t, 0)
		if n != 1 || tandemSealedTurnIsOver(t) {
			return false
		}
		t.choices, t.choice = 1, 0
		tandemNoteEffect(t)
		tandemOperateBy(t, n, arm, partner)
	default:
		tandemCountChoices(t)
		if !tandemEnabled(t) || tandemAwaitsPeer(t) || t.choices != 1 || t.op == opYield ||
			t.op == opExit || tandemSealedTurnIsOver(t) {
			return false
		}
		tandemNoteEffect(t)
		tandemLogOperation(t)
	}
	return true
}

// tandemAwaitsPeer reports whether an operation would have waited for a peer to open a connection,
// to accept one or to answer, had the peer taken any time: others can go on meanwhile, whatever
// package it is called from.
func tandemAwaitsPeer(t *tandemG) bool {
	switch t.op {
	case opSocketRead, opAccept:
		return (*socketQueue)(unsafe.Pointer(t.state)).awaited
	case opSocketWrite:
		out := tandemSockets[t.object].out
		return out != nil && out.awaited
	}
	return false
}

// tandemHasWaited is called when a connect to a peer is over, in which the goroutine would have
// waited had the peer taken any time. In a sealed package the transition ends at the next
// operation, so that others can go on as they can after a choice. It returns false in an open one,
// where every operation begins a transition.
//
//go:linkname tandemHasWaited syscall.tandemHasWaited
func tandemHasWaited() bool {
	t := &getg().tandem
	if t.id == 0 || t.caller == t.open {
		return false
	}
	t.chose = true
	return true
}

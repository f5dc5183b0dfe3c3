package runtime

import "unsafe"

// tandemPlain are operations that never have alternatives, nor a counter. Most of those
// of sealed packages are such.
const tandemPlain tandemOperations = 1<<opLock | 1<<opUnlock | 1<<opLoad | 1<<opStore | 1<<opUpdate | 1<<opOnce

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

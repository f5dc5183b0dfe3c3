package runtime

import (
	"internal/abi"
	"unsafe"
)

// Calls of sealed packages. Between two of them a goroutine is in a package where it may be
// preempted, so that the first operation of a call is at a point as any other there;
// only those after it are sealed. To know an operation that is not the first from one of
// another call, at the same place of a loop, the first one puts tandemReturn in the place of
// the call's return address: if it is still there, then the call has not returned.

// tandemCall is a call of a sealed package under way, by one that is not.
type tandemCall struct {
	// Where its return address belongs, counted from the top of the stack, which may move.
	slot uintptr
	pc   uintptr // that address
}

// tandemNoCall is in the place of a slot where nothing but sealed packages is on the stack.
const tandemNoCall = 1

// tandemMaxCalls is how many can be within each other, by functions that are called back.
// In deeper ones every operation is at a point.
const tandemMaxCalls = 8

// tandemReturn is where a call returns to that was found to be under way. It forgets the
// call, and those within it that ended by a panic, and goes on where the call belongs.
func tandemReturn()

// tandemReturnAddress is where the function with a frame returns to.
//
//go:nosplit
func tandemReturnAddress(gp *g, fp uintptr) uintptr {
	return tandemTrueReturn(gp, fp+8, *(*uintptr)(unsafe.Pointer(fp + 8)))
}

// tandemTrueReturn is where the return address leads to that was found at an address in
// the stack of a goroutine.
//
//go:nosplit
func tandemTrueReturn(gp *g, at, pc uintptr) uintptr {
	if pc != abi.FuncPCABI0(tandemReturn) {
		return pc
	}
	t, slot := &gp.tandem, gp.stack.hi-at
	for i := t.ncalls - 1; i >= 0; i-- {
		if t.calls[i].slot == slot {
			return t.calls[i].pc
		}
	}
	throw("tandem: a call of a sealed package was lost")
	return 0
}

// tandemOpenCaller is where an open package calls what the operation is in, from the frame below
// which its caller is, or 0.
func tandemOpenCaller(gp *g, fp uintptr) uintptr {
	for ; fp != 0; fp = *(*uintptr)(unsafe.Pointer(fp)) {
		if pc := tandemReturnAddress(gp, fp); tandemClass(pc) == callerOpen {
			// and thus not private
			return pc
		}
	}
	return 0
}

// tandemNoteCall finds the call of a sealed package that an operation is in, from the frame below
// which its caller is. It is where an open package makes the call, or 0 if none does; first
// reports whether this is the first operation since then, or since another call
// within this one.
func tandemNoteCall(gp *g, fp uintptr) (open uintptr, first bool) {
	t := &gp.tandem
	for fp != 0 {
		pc := *(*uintptr)(unsafe.Pointer(fp + 8))
		slot := gp.stack.hi - (fp + 8)
		if pc == abi.FuncPCABI0(tandemReturn) {
			first, t.call = t.call != slot, slot
			return tandemTrueReturn(gp, fp+8, pc), first
		}
		if tandemClass(pc) == callerOpen { // and thus not private
			tandemEnterCall(t, tandemCall{slot, pc}, (*uintptr)(unsafe.Pointer(fp+8)))
			return pc, true
		}
		fp = *(*uintptr)(unsafe.Pointer(fp))
	}
	first, t.call = t.call != tandemNoCall, tandemNoCall
	return 0, first
}

// tandemEnterCall has a call noticed when it returns.
func tandemEnterCall(t *tandemG, c tandemCall, address *uintptr) {
	for t.ncalls > 0 && t.calls[t.ncalls-1].slot >= c.slot {
		t.ncalls-- // it has ended by a panic
	}
	t.call = 0
	if t.ncalls < len(t.calls) {
		t.calls[t.ncalls] = c
		t.ncalls++
		t.call = c.slot
		*address = abi.FuncPCABI0(tandemReturn)
	}
}

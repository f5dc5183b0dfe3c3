package runtime

import (
	"internal/runtime/sys"
	"unsafe"
)

// The point, as the packages above the runtime call it.

//go:linkname tandemInternalSyncPoint internal/sync.tandemPoint
//go:nosplit
func tandemInternalSyncPoint(op uint8, object, state unsafe.Pointer) {
	if tandem.on {
		tandemPointAt(op, object, state, sys.GetCallerPC(), getcallerfp())
	}
}

//go:linkname tandemSyncPoint sync.tandemPoint
//go:nosplit
func tandemSyncPoint(op uint8, object, state unsafe.Pointer) {
	if tandem.on {
		tandemPointAt(op, object, state, sys.GetCallerPC(), getcallerfp())
	}
}

//go:linkname tandemSyncAdd sync.tandemAdd
//go:nosplit
func tandemSyncAdd(object, state unsafe.Pointer, delta int) { tandemAdd(object, state, delta) }

// tandemSyncIsSealed reports whether the caller of its caller, Pool.Put, is in a sealed
// package. Where data races are looked for, what such a package puts into a pool is
// dropped, as any pool may: that one request happens to get the buffer of another
// orders the two, and would hide that nothing else does.
//
//go:linkname tandemSyncIsSealed sync.tandemIsSealed
//go:noinline
func tandemSyncIsSealed() bool {
	return tandemClass(tandemReturnAddress(getg(), getcallerfp()))&^callerPrivate != callerOpen
}

//go:linkname tandemSyncWait sync.tandemWait
//go:nosplit
func tandemSyncWait(object, state unsafe.Pointer) bool { return tandemWait(object, state) }

// tandemAtomicPointToSwap is tandemPoint for a CompareAndSwap of so many bytes.
//
//go:linkname tandemAtomicPointToSwap sync/atomic.tandemPointToSwap
//go:nosplit
func tandemAtomicPointToSwap(object unsafe.Pointer, old uint64, width uint8) {
	if tandem.on {
		t := &getg().tandem
		t.expected, t.width = old, width
		tandemPointAt(opUpdate, object, nil, sys.GetCallerPC(), getcallerfp())
		t.width = 0
	}
}

//go:linkname tandemAtomicPoint sync/atomic.tandemPoint
//go:nosplit
func tandemAtomicPoint(op uint8, object, state unsafe.Pointer) {
	if tandem.on {
		tandemPointAt(op, object, state, sys.GetCallerPC(), getcallerfp())
	}
}

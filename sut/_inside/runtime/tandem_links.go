package runtime

import "unsafe"

// The point, as the packages above the runtime call it.

//go:linkname tandemInternalSyncPoint internal/sync.tandemPoint
//go:nosplit
func tandemInternalSyncPoint(op uint8, object, state unsafe.Pointer) {
	tandemPoint(op, object, state)
}

//go:linkname tandemSyncPoint sync.tandemPoint
//go:nosplit
func tandemSyncPoint(op uint8, object, state unsafe.Pointer) { tandemPoint(op, object, state) }

//go:linkname tandemSyncAdd sync.tandemAdd
//go:nosplit
func tandemSyncAdd(object, state unsafe.Pointer, delta int) { tandemAdd(object, state, delta) }

//go:linkname tandemAtomicPoint sync/atomic.tandemPoint
//go:nosplit
func tandemAtomicPoint(op uint8, object, state unsafe.Pointer) { tandemPoint(op, object, state) }

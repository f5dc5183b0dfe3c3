package runtime

import "unsafe"

// tandemCounter is the counter that accesses that commute add to, before they do.
func tandemCounter(t *tandemG) int32 {
	switch t.op {
	case opAdd:
		return int32(*(*uint64)(unsafe.Pointer(t.state)) >> 32)
	case opReadLock, opReadUnlock, opTryReadLock:
		readers, _ := tandemReaders(t.state)
		return readers
	}
	return 0
}

// tandemReaders says how many readers a sync.RWMutex has inside, and whether a
// writer has announced itself. state points to the fields readerCount and, behind
// it, readerWait. Readers that wait are not counted in either: they are parked.
func tandemReaders(state uintptr) (readers int32, announced bool) {
	if readers = *(*int32)(unsafe.Pointer(state)); readers >= 0 {
		return readers, false
	}
	return *(*int32)(unsafe.Pointer(state + 4)), true
}

// tandemTryKind is the kind of access of an operation that does nothing if it fails.
func tandemTryKind(t *tandemG) uint8 {
	ready := tandemReady(t)
	switch {
	case t.op == opTryReadLock && ready&readyReader != 0:
		return accessCommute
	case t.op != opTryReadLock && ready&readyFree != 0:
		return accessWrite
	}
	return accessRead
}

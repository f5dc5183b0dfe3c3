package runtime

import "unsafe"

// tandemAdd is the point of an operation that adds to a counter.
//
//go:nosplit
func tandemAdd(object, state unsafe.Pointer, delta int) {
	if tandem.on {
		getg().tandem.delta = int32(delta)
		tandemPoint(opAdd, object, state)
	}
}

// tandemWait is the point of WaitGroup.Wait. It reports whether that has to panic.
//
//go:nosplit
func tandemWait(object, state unsafe.Pointer) bool {
	if !tandem.on {
		return false
	}
	t := &getg().tandem
	t.entered, t.reused = false, false
	tandemPoint(opWait, object, state)
	return t.reused && tandemCounter(t) != 0
}

// Whoever waits at the point of WaitGroup.Wait may, or may not yet, have gone on to wait
// inside. When the counter has reached zero and is raised again, that makes a
// difference: who has gone on can return late, and panics if the counter is not zero
// then; who has not waits on. So the addition that raises it has alternatives, one for
// each set of those that have gone on.

// tandemMaxLate limits the waiters of which any set is tried.
const tandemMaxLate = 4

func tandemCountLate(t *tandemG) {
	t.choices = 1
	if t.delta <= 0 || tandemCounter(t) != 0 {
		return
	}
	for i := range tandem.nparked {
		if p := &tandem.parked[i].ptr().tandem; p.op == opWait && p.object == t.object && p.entered &&
			t.choices < 1<<tandemMaxLate {
			t.choices *= 2
		}
	}
}

// tandemNoteWaiters is called before an addition to the counter of a wait group.
func tandemNoteWaiters(t *tandemG) {
	before := tandemCounter(t)
	after, late := before+t.delta, t.choice
	if t.choices == 1 {
		late = 0
	}
	if (before > 0) == (after > 0) {
		return
	}
	for i := range tandem.nparked {
		p := &tandem.parked[i].ptr().tandem
		if p.op != opWait || p.object != t.object {
			continue
		}
		switch {
		case before > 0 && after == 0:
			p.entered = true
		case before == 0 && after > 0 && p.entered:
			if p.entered = false; late&1 != 0 {
				p.op, p.reused = opReused, true
			}
			late /= 2
		}
	}
}

// tandemOperations is a set of operations, a bit each.
type tandemOperations uint64

//go:nosplit
func (s tandemOperations) has(op uint8) bool { return s>>op&1 != 0 }

// tandemCounts are the operations on what has a counter.
const tandemCounts tandemOperations = 1<<opAdd | 1<<opWait | 1<<opReused |
	1<<opReadLock | 1<<opReadUnlock | 1<<opTryReadLock

// tandemDelta is what an access that commutes adds to its counter.
func tandemDelta(t *tandemG) int32 {
	switch t.op {
	case opAdd:
		return t.delta
	case opReadLock:
		return 1
	case opTryReadLock:
		return int32(tandemReady(t) & readyReader / readyReader)
	case opReadUnlock:
		return -1
	}
	return 0
}

// tandemCounter is the counter that accesses that commute add to, before they do.
func tandemCounter(t *tandemG) int32 {
	switch t.op {
	case opAdd, opWait, opReused, opNone:
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

// tandemEnabled reports whether the pending operation of a goroutine can go
// ahead in the present state.
func tandemEnabled(t *tandemG) bool {
	if t.waits() {
		return t.choices > 0
	}
	return tandemReady(t)&tandemNeed(t.op) == tandemNeed(t.op)
}

// tandemNeed is the wait condition of an operation.
func tandemNeed(op uint8) uint8 {
	switch op {
	case opLock, opWait, opWriteWait, opSocketRead, opPollWait, opAccept, opFileLock, opSignalReceive,
		opAdvance:
		return readyFree
	case opReadLock, opBufferWrite, opPollWrite, opFileShare, opSignalArrive, opPeerTimer:
		return readyReader
	}
	return 0
}

// tandemReady reads which wait conditions hold on the object of an operation.
func tandemReady(t *tandemG) uint8 {
	if t.state == 0 {
		return readyFree | readyReader
	}
	ready := uint8(0)
	switch t.op {
	case opLock, opTryLock, opUnlock:
		if *(*int32)(unsafe.Pointer(t.state))&1 == 0 {
			ready = readyFree
		}
	case opAdd, opWait, opReused:
		if *(*uint64)(unsafe.Pointer(t.state))>>32 == 0 {
			ready = readyFree
		}
	case opReadLock, opReadUnlock, opWriteLock, opWriteUnlock, opWriteWait, opTryReadLock, opTryWriteLock:
		if readers, announced := tandemReaders(t.state); !announced {
			ready = readyReader
			if readers == 0 {
				ready |= readyFree
			}
		} else if readers == 0 {
			ready = readyFree
		}
	case opFileWrite, opFileLock, opFileShare:
		ready = tandemFileLockReady(t.state)
	case opSignalSend, opSignalSet, opSignalReceive, opSignalArrive:
		ready = tandemSignalReady()
	case opPeerTimer:
		ready = tandemPeerTimersReady()
	case opAdvance, opReadClock:
		ready = tandemClockReady()
	default:
		if tandemIsSocketOp(t.op) {
			ready = tandemSocketReady(t)
		}
	}
	return ready
}

// tandemSwapFails reports whether the pending operation is a CompareAndSwap that would not find
// what it expects now. One of what is at nil is to fault in the program, not here.
func tandemSwapFails(t *tandemG) bool {
	if t.object < minLegalPointer {
		return false
	}
	switch object := unsafe.Pointer(t.object); t.width {
	case 4:
		return *(*uint32)(object) != uint32(t.expected)
	case 8:
		return *(*uint64)(object) != t.expected
	}
	return false
}

// tandemAccessKind says how an operation's access relates to others on its object.
func tandemAccessKind(t *tandemG) uint8 {
	// So much is added at once to so much by what commutes: in as many transitions as an execution
	// may have at most, 10 million, a counter of 32 bits does not overflow.
	const tandemCommuting, tandemCommutingCount = 64, 1 << 30
	switch t.op {
	case opLoad, opWeak, opReadClock, opWait, opWriteWait, opMapRead, opSocketTry, opFileRead,
		opFileSync:
		return accessRead
	case opTryLock, opTryReadLock, opTryWriteLock:
		return tandemTryKind(t)
	case opUpdate:
		if tandemSwapFails(t) {
			return accessRead
		}
	case opAdd, opReadLock, opReadUnlock:
		count, delta := tandemCounter(t), tandemDelta(t)
		if count+delta < 0 {
			return accessWrite // misuse: whether it is depends on the others
		}
		if delta > tandemCommuting || delta < -tandemCommuting || count > tandemCommutingCount {
			return accessWrite // whether the sum of all gets too large may depend on their order
		}
		return accessCommute
	case opConnect:
		if t.state != 0 {
			return accessRead // of the address
		}
	case opOnce:
		if *(*uint32)(unsafe.Pointer(t.state)) != 0 {
			return accessRead
		}
	}
	return accessWrite
}

package runtime

import (
	"internal/goarch"
	"internal/stringslite"
	"unsafe"
)

// Livelock. An execution never ends where all goroutines that can go on go round in loops without
// an effect, and nothing else can happen: no timer is set, and nothing can arrive. It is told from
// one whose loops count, and end by themselves, by its state: that has to be the same at two
// moments, between which
//
//   - every goroutine that can go on has gone on, and so has every one that waits for a lock, which
//     may have been free meanwhile,
//   - no operation had an effect, or looked at the clock, or had alternatives (tandemNoteEffect),
//     but for locks, which were taken and released and never tried.
//
// What a goroutine does next follows from its state and from what its operations find. These find
// the same again, in whatever order the goroutines go on: nobody changes it. (What a goroutine has
// written and put back meanwhile, others cannot have seen, or there is a data race.) So each goes
// round in its loop for ever, and no schedule leads out.
//
// The state is all memory of the program: its variables, the objects of its heap, and what is on
// the stacks of its goroutines, with where they are. What was allocated since the first moment does
// not count: where all that was there before is as it was, nothing leads to it. Nor does what the
// scheduler and the allocator keep for themselves, which no program can see.

// tandemQuiet is how long nothing has had an effect.
type tandemQuiet struct {
	steps  uint32 // transitions
	locks  bool   // there were operations on locks, since the state was noted
	tries  bool   // there were tries to get one, likewise
	marked bool   // the state at an earlier one of these transitions was noted
	mark   uint32 // the transition, as shared.steps counts
	next   uint32 // for so long this state counts, then a later one is noted
	look   uint32 // the state is not compared before this transition
	gap    uint32 // and then not for so many
}

// tandemNoteEffect is called before an operation.
func tandemNoteEffect(t *tandemG) {
	tandemNoteInLoop(t)
	tandemNoteForStates(t)
	q := &tandem.quiet
	t.vain++
	switch {
	case !tandemHarmless(t):
		*q, t.vain = tandemQuiet{}, 0
	case tandemLocking.has(t.op):
		q.locks = true
	case tandemTrying.has(t.op):
		q.tries = true
	}
}

// tandemEffect notes that something happened that is no operation, or may be found to be different
// next time.
//
//go:nosplit
func tandemEffect() { tandem.quiet = tandemQuiet{} }

const (
	tandemLocking tandemOperations = 1<<opLock | 1<<opUnlock | 1<<opReadLock | 1<<opReadUnlock |
		1<<opWriteLock | 1<<opWriteUnlock | 1<<opWriteWait
	tandemTrying tandemOperations = 1<<opTryLock | 1<<opTryReadLock | 1<<opTryWriteLock
	// tandemLooking are operations that find the same again, as long as nobody does anything. Those
	// on connections may move data, but then the state is another one.
	tandemLooking tandemOperations = 1<<opResume | 1<<opYield | 1<<opLength | 1<<opLoad | 1<<opWeak |
		1<<opMapRead | 1<<opFileRead | 1<<opFileSync | 1<<opSocketRead | 1<<opSocketTry |
		1<<opPollWait | 1<<opPollWrite | 1<<opBufferWrite
)

// tandemHarmless reports whether an operation that is about to be performed has no effect, or one
// on a lock.
func tandemHarmless(t *tandemG) bool {
	switch {
	case t.choices > 1:
		return false
	case t.hasArms():
		return tandemFruitless(t)
	case tandemLooking.has(t.op) || tandemLocking.has(t.op) || t.op == opGoOn || t.op == opDescriptorUse,
		t.op == opState:
		return true
	case tandemTrying.has(t.op) || t.op == opUpdate || t.op == opWait || t.op == opOnce:
		return tandemAccessKind(t) == accessRead
	}
	return false
}

// tandemLivelocked reports whether nothing will ever happen any more but what happens now.
func tandemLivelocked() bool {
	q := &tandem.quiet
	if q.steps < tandemBarren || tandem.owner != 0 || tandem.partner != 0 {
		return false
	}
	if tandemAwaited(getg().m.p.ptr()) || tandemPolledTimer() != 0 || tandemIsLate() {
		return false
	}
	enabled, all := uint32(0), true
	for i := range tandem.nparked {
		t := &tandem.parked[i].ptr().tandem
		tandemCountChoices(t)
		if t.op == opExit || t.op == opAdvance {
			continue
		}
		if !tandemEnabled(t) {
			if tandemLocking.has(t.op) { // it can go on whenever the lock is free
				all = all && t.turn > q.mark
			}
			continue
		}
		if !tandemHarmless(t) {
			return false
		}
		enabled++
		all = all && t.turn > q.mark
	}
	if enabled == 0 || q.steps < tandemBarren*enabled {
		return false
	}
	now := tandem.sh.steps
	switch {
	case !q.marked:
		q.gap = 32
	case all && !(q.locks && q.tries) && now >= q.look && tandemSameGoroutines():
		if tandemSameMemory() {
			return true
		}
		q.look = now + q.gap // a counter in memory: it takes long to find out
		q.gap *= 2
		return false
	case now < q.next:
		return false
	}
	if tandemState == nil {
		return false
	}
	q.next = now + 2*max(32, now-q.mark)
	q.marked, q.mark, q.look, q.locks, q.tries = tandemNoteState(), now, 0, false, false
	return false
}

const tandemStateBytes = 128 << 20 // that a noted state can have

// tandemStateHead is what a noted state begins with. Pieces of memory follow, each with its own
// head and rounded up to words.
type tandemStateHead struct {
	used       uintptr // bytes, this included
	goroutines uintptr // what is noted of them ends there, and the rest of the memory begins
	alive      int     // goroutines
	now        int64
	timers     uint64  // when those are due that can wake somebody, seen from now: a hash
	heap       uintptr // of the timers
	heapLength int
	full       bool // there was not enough room
}

// tandemPiece is memory that is noted.
type tandemPiece struct {
	address, length uintptr
}

// tandemState is in memory that is not put back after an execution, nor part of a state.
var tandemState *tandemStateHead

func tandemMapState() {
	tandemState = (*tandemStateHead)(tandemMap(tandemStateBytes, mapSharedAnonymous, -1))
	tandemPairs = (*tandemPairing)(tandemMap(unsafe.Sizeof(tandemPairing{}), mapSharedAnonymous, -1))
}

// tandemNoteState notes the present state. It reports whether there was enough room.
func tandemNoteState() bool {
	tandemKeepNone() // what is noted is in no place
	heap := getg().m.p.ptr().timers.heap
	*tandemState = tandemStateHead{used: unsafe.Sizeof(tandemStateHead{}), alive: tandemAlive(),
		now: tandem.now, timers: tandemHashTimers(), heapLength: len(heap),
		heap: uintptr(unsafe.Pointer(unsafe.SliceData(heap)))}
	forEachG(func(gp *g) {
		if tandemIsAlive(gp) {
			tandemNoteGoroutine(gp)
		}
	})
	tandemState.goroutines = tandemState.used
	for m := &firstmoduledata; m != nil; m = m.next {
		tandemNote(m.noptrdata, m.enoptrdata)
		tandemNote(m.data, m.edata)
		tandemNote(m.bss, m.ebss)
		tandemNote(m.noptrbss, m.enoptrbss)
	}
	for _, s := range mheap_.allspans {
		if s.state.get() == mSpanInUse {
			tandemNoteObjects(s)
		}
	}
	return !tandemState.full
}

// tandemIsAlive reports whether a goroutine is under control, and has not ended.
func tandemIsAlive(gp *g) bool {
	return readgstatus(gp)&^_Gscan != _Gdead && gp.tandem.id != 0
}

func tandemAlive() (n int) {
	forEachG(func(gp *g) {
		if tandemIsAlive(gp) {
			n++
		}
	})
	return n
}

// tandemNoteGoroutine notes where a goroutine is, what it has on its stack, and what it carries.
func tandemNoteGoroutine(gp *g) {
	note := func(p unsafe.Pointer, n uintptr) { tandemNote(uintptr(p), uintptr(p)+n) }
	note(unsafe.Pointer(&gp.sched), unsafe.Sizeof(gp.sched))
	note(unsafe.Pointer(&gp._panic), unsafe.Sizeof(gp._panic))
	note(unsafe.Pointer(&gp._defer), unsafe.Sizeof(gp._defer))
	note(unsafe.Pointer(&gp.tandem.id), unsafe.Sizeof(gp.tandem.id))
	note(unsafe.Pointer(&gp.tandem.children), unsafe.Sizeof(gp.tandem.children))
	note(unsafe.Pointer(&gp.tandem.drawn), unsafe.Sizeof(gp.tandem.drawn))
	note(unsafe.Pointer(&gp.tandem.op), unsafe.Sizeof(gp.tandem.op))
	note(unsafe.Pointer(&gp.tandem.parked), unsafe.Sizeof(gp.tandem.parked))
	note(unsafe.Pointer(&gp.tandem.object), unsafe.Sizeof(gp.tandem.object))
	note(unsafe.Pointer(&gp.tandem.caller), unsafe.Sizeof(gp.tandem.caller))
	tandemNote(tandemOwnStack(gp), gp.stack.hi)
}

// tandemOwnStack is where the frames end that are not of the runtime's functions: what these have
// on the stack follows from what they were called for.
func tandemOwnStack(gp *g) uintptr {
	for fp := gp.sched.bp; fp != 0; fp = *(*uintptr)(unsafe.Pointer(fp)) {
		f := findfunc(tandemReturnAddress(gp, fp) - 1)
		if f.valid() && !stringslite.HasPrefix(funcname(f), "runtime.") {
			return fp + goarch.PtrSize // the return address is the first word
		}
	}
	return gp.sched.sp
}

// tandemNoteObjects notes the objects of a span that are allocated.
func tandemNoteObjects(s *mspan) {
	tandemNote(s.base(), s.base()+uintptr(s.freeindex)*s.elemsize)
	for i := uintptr(s.freeindex); i < uintptr(s.nelems); i++ {
		// after garbage was collected some may be behind
		if !s.isFree(i) {
			tandemNote(s.base()+i*s.elemsize, s.base()+(i+1)*s.elemsize)
		}
	}
}

func tandemNote(from, to uintptr) {
	h, length := tandemState, (to-from)&^7
	size := unsafe.Sizeof(tandemPiece{}) + length
	if length == 0 || h.full {
		return
	}
	if h.used+size > tandemStateBytes {
		h.full = true
		return
	}
	piece := (*tandemPiece)(add(unsafe.Pointer(h), h.used))
	*piece = tandemPiece{from, length}
	memmove(add(unsafe.Pointer(piece), unsafe.Sizeof(*piece)), unsafe.Pointer(from), length)
	h.used += size
}

// tandemSameGoroutines reports whether the goroutines are as in the noted state.
func tandemSameGoroutines() bool {
	for at := unsafe.Sizeof(tandemStateHead{}); at < tandemState.goroutines; {
		piece := (*tandemPiece)(add(unsafe.Pointer(tandemState), at))
		at += unsafe.Sizeof(*piece)
		if !memequal(add(unsafe.Pointer(tandemState), at), unsafe.Pointer(piece.address), piece.length) &&
			!tandemSameWords(at, piece.address, piece.length, tandemSameTime) {
			return false
		}
		at += piece.length
	}
	return true
}

// tandemSameMemory reports whether the rest of the memory is as in the noted state.
func tandemSameMemory() bool {
	const block = 512
	for at := tandemState.goroutines; at < tandemState.used; {
		piece := (*tandemPiece)(add(unsafe.Pointer(tandemState), at))
		at += unsafe.Sizeof(*piece)
		for i := uintptr(0); i < piece.length; i += block {
			n := min(block, piece.length-i)
			if !memequal(add(unsafe.Pointer(tandemState), at+i), unsafe.Pointer(piece.address+i), n) &&
				!tandemSameWords(at+i, piece.address+i, n, tandemSameOrUnseen) {
				return false
			}
		}
		at += piece.length
	}
	return true
}

// tandemSameWords compares n bytes of the noted state with what is there now, word by word, but for
// words whose difference does not count.
func tandemSameWords(noted, address, n uintptr, same func(at uintptr, was, is uint64) bool) bool {
	for i := uintptr(0); i < n; i += 8 {
		was := *(*uint64)(add(unsafe.Pointer(tandemState), noted+i))
		is := *(*uint64)(unsafe.Pointer(address + i))
		if was != is && !same(address+i, was, is) {
			return false
		}
	}
	return true
}

// tandemSameOrUnseen leaves out what is not the program's.
func tandemSameOrUnseen(at uintptr, was, is uint64) bool {
	return tandemUnseen(at) || tandemSameTime(at, was, is)
}

// tandemUnseen reports whether an address belongs to what the scheduler, the allocator and the
// checker keep for themselves.
func tandemUnseen(at uintptr) bool {
	in := func(p unsafe.Pointer, n uintptr) bool { return at-uintptr(p) < n }
	switch {
	case in(unsafe.Pointer(&tandem), unsafe.Sizeof(tandem)), in(unsafe.Pointer(&sched), unsafe.Sizeof(sched)),
		in(unsafe.Pointer(&mheap_), unsafe.Sizeof(mheap_)),
		in(unsafe.Pointer(&memstats), unsafe.Sizeof(memstats)),
		in(unsafe.Pointer(&gcController), unsafe.Sizeof(gcController)),
		in(unsafe.Pointer(&work), unsafe.Sizeof(work)),
		in(unsafe.Pointer(&tandemClock), unsafe.Sizeof(tandemClock)),
		in(unsafe.Pointer(&tandemHeap), unsafe.Sizeof(tandemHeap)),
		in(unsafe.Pointer(&tandemNaming), unsafe.Sizeof(tandemNaming)),
		in(unsafe.Pointer(&m0), unsafe.Sizeof(m0)), in(unsafe.Pointer(&g0), unsafe.Sizeof(g0)),
		tandemUnseenOfRaces(at):
		return true
	}
	for _, p := range allp {
		if in(unsafe.Pointer(p), unsafe.Sizeof(*p)) {
			return true
		}
	}
	for m := allm; m != nil; m = m.alllink {
		if in(unsafe.Pointer(m), unsafe.Sizeof(*m)) || in(unsafe.Pointer(m.g0), unsafe.Sizeof(*m.g0)) {
			return true
		}
	}
	found := false
	forEachG(func(gp *g) { found = found || in(unsafe.Pointer(gp), unsafe.Sizeof(*gp)) })
	return found
}

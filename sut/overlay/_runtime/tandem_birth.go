package runtime

import "unsafe"

// The names of objects in the log. An address would not do: it depends on what other goroutines
// have allocated before, so that the same object has several in executions that differ only in the
// order of what is independent, and another object has it there. The search would take what it
// compares across executions for dependent, or for independent, where it is not.
//
// So an object of the heap is named after the goroutine that allocates it, and by how many it has
// allocated before. That is noted in a table beside the heap, which is no part of the memory that
// is put back: what is there of earlier executions has their number. What was there before main has
// its address, and so have the program's variables.

// tandemBirth is the note on an object.
type tandemBirth struct {
	name      uint64
	execution uint64
}

const (
	tandemHeapLimit = 1 << 36 // bytes of the heap that have a table
	tandemMinObject = 8       // size of the smallest objects
	tandemHeader    = 8       // of objects with pointers that are too large for bits in the span
)

// tandemBirths is the table.
var tandemBirths struct {
	heap       uintptr // address at which the heap begins
	executions *uint64 // how many there have been: in the table's own memory
	table      uintptr
}

// tandemMapBirths makes the table. It runs before the snapshot is taken.
func tandemMapBirths() {
	b := &tandemBirths
	b.executions = (*uint64)(tandemMap(unsafe.Sizeof(*b.executions), mapSharedAnonymous, -1))
	b.table = tandemTable(tandemHeapLimit / tandemMinObject * unsafe.Sizeof(tandemBirth{}))
}

// tandemBirthsNewExecution begins an execution.
func tandemBirthsNewExecution() {
	*tandemBirths.executions++
	tandem.execution = *tandemBirths.executions
}

// tandemBirthOf returns the note on the object that begins at an address; nil if there can be none.
//
//go:nosplit
func tandemBirthOf(base uintptr) *tandemBirth {
	at := base - tandemBirths.heap
	if at >= tandemHeapLimit {
		return nil
	}
	at = at / tandemMinObject * unsafe.Sizeof(tandemBirth{})
	return (*tandemBirth)(unsafe.Pointer(tandemBirths.table + at))
}

// tandemBorn notes the birth of an object. What the runtime allocates for itself, while it holds a
// lock or on the system stack, is not counted: it is kept and used again by any goroutine.
func tandemBorn(x unsafe.Pointer) {
	gp := getg()
	t := &gp.tandem
	if t.id == 0 || gp.m.locks != 0 {
		return
	}
	if b := tandemBirthOf(uintptr(x)); b != nil {
		t.allocated++
		b.name, b.execution = tandemMix(t.id^tandemMix(1<<63|t.allocated))&^(tandemMinObject-1),
			tandem.execution
	}
}

// tandemName is the name of what is at an address.
//
//go:nosplit
func tandemName(p uintptr) uint64 {
	s := spanOfHeap(p)
	if s == nil {
		return uint64(p)
	}
	base := s.base() + s.objIndex(p)*s.elemsize
	if s.spanclass.sizeclass() != 0 && !s.spanclass.noscan() && !heapBitsInSpan(s.elemsize) {
		base += tandemHeader
	}
	b := tandemBirthOf(base)
	if b == nil || b.execution != tandem.execution {
		return uint64(p)
	}
	return b.name + uint64(p-base)
}

// tandemNameFor is tandemName for the object of an operation, which may be on the goroutine's
// stack: it then has a name of its own, by its place from the end, which stays if the stack grows.
//
//go:nosplit
func tandemNameFor(t *tandemG) uint64 {
	gp := (*g)(unsafe.Pointer(uintptr(unsafe.Pointer(t)) - unsafe.Offsetof(g{}.tandem)))
	if t.object-gp.stack.lo < gp.stack.hi-gp.stack.lo {
		return tandemMix(t.id)&^(tandemMinObject-1) - uint64(gp.stack.hi-t.object)
	}
	return tandemName(t.object)
}

// tandemObject is the name of the object of a pending operation.
func tandemObject(t *tandemG) uint64 {
	if t.op != opDescriptorClose && tandemIsSocketOp(t.op) {
		return tandemSocketObject(t)
	}
	return tandemNameFor(t)
}

package runtime

import (
	linux "internal/runtime/syscall/linux"
	"unsafe"
)

// Places are states in the middle of an execution that later ones can begin from, in place of
// main.main. A place is a copy of all pages that executions write, and of what lies beside them:
// the tables of births and of races, and a few words of the shared memory. The log before it is
// still in the shared memory, since all places are on the path of the last execution.
//
// What does not go back with memory makes places useless, or is undone by itself: descriptors, in
// tandem_keep_fd.go. A mapping that an execution has made is undone by starting at main.main.

const (
	tandemPrivate   = 0x4022 // MAP_PRIVATE, MAP_ANONYMOUS and MAP_NORESERVE
	tandemFstat     = 5
	tandemStatWords = 18
	tandemStatSize  = 6 // index of st_size
)

// tandemTable maps memory that is not put back when an execution begins at main.main, but is when
// it begins at a place.
func tandemTable(size uintptr) uintptr {
	p := uintptr(tandemMap(size, tandemPrivate, -1))
	ps := &tandem.sh.places
	for i := range ps.table {
		if t := &ps.table[i]; t.length == 0 {
			*t = region{address: uint64(p), length: uint64((size + 4095) &^ 4095)}
			return p
		}
	}
	throw("tandem: too many tables")
	return 0
}

// tandemUses notes how much of a table is in use. It never becomes less.
func tandemUses(table, size uintptr) {
	ps := &tandem.sh.places
	for i := range ps.table {
		if t := &ps.table[i]; t.address == uint64(table) {
			t.saved = max(t.saved, min(uint64(size+4095)&^4095, t.length))
		}
	}
}

// tandemNoteTables notes how much of all tables is in use.
func tandemNoteTables() {
	heap := mheap_.curArena.base - tandemBirths.heap
	if heap > tandemHeapLimit {
		tandemKeepNone() // the heap has got where no table is
		return
	}
	tandemUses(tandemBirths.table, heap*(unsafe.Sizeof(tandemBirth{})/tandemMinObject))
	if raceenabled {
		tandemNoteRaceTables(heap)
	}
}

// tandemForgetPlaces says that no place that was kept until now can be gone back to.
//
//go:nosplit
func tandemForgetPlaces() { tandem.sh.places.lost = max(tandem.sh.places.lost, tandem.position) }

// tandemKeepNone says that no place of this execution can be gone back to, and that none is kept.
func tandemKeepNone() { tandem.sh.places.lost, tandem.sh.places.next = noPosition, noPosition }

// tandemPass is where a place may be kept: before it is decided what comes at a position.
func tandemPass() {
	if tandem.position >= tandem.sh.places.next {
		tandemKeepPlace()
	}
}

// tandemKeepPlace keeps the present state. Executions that begin at it return from here, too. Its
// frame is in the copy, so nothing may change it between the two calls: they are functions of their
// own.
//
//go:noinline
func tandemKeepPlace() {
	p := tandemPreparePlace()
	if p == nil {
		return
	}
	if tandemSaveContext(&p.context) == 0 {
		tandemCopyPlace(p)
		return
	}
	tandem.sleepers = false // the sleep set is that of another schedule
}

// tandemPreparePlace is the place that is to be kept here; nil if there is none.
func tandemPreparePlace() *sharedPlace {
	sh := tandem.sh
	ps := &sh.places
	slot := uint32(0)
	for ps.at < ps.keeps && ps.keep[ps.at].position <= tandem.position {
		slot = ps.keep[ps.at].slot
		ps.at++
	}
	ps.next = noPosition
	if ps.at < ps.keeps {
		ps.next = ps.keep[ps.at].position
	}
	if sh.mappings > 0 || tandemMinorFaults() != ps.faults {
		return nil // a page was written that is in no region, or may have been
	}
	p := &ps.place[slot]
	*p = sharedPlace{position: tandem.position, records: sh.records, steps: sh.steps,
		exchanges: ps.exchanges, changes: ps.changes, weight: sh.weight, points: sh.points}
	for i := range p.printed {
		p.printed[i] = ps.printed[i] + tandemPrinted(i+1)
	}
	return p
}

// The checker empties the files after each execution, so the size is what was printed since.

// tandemPrinted is how many bytes the checker has not taken yet of an output.
func tandemPrinted(fd int) uint64 {
	var stat [tandemStatWords]int64
	linux.Syscall6(tandemFstat, uintptr(fd), uintptr(unsafe.Pointer(&stat)), 0, 0, 0, 0)
	return uint64(stat[tandemStatSize])
}

// tandemMinorFaults counts page faults. One more than expected says that a page may have been
// written which is in no region.
func tandemMinorFaults() uint64 {
	var usage [18]int64
	linux.Syscall6(tandemGetrusage, 0, uintptr(unsafe.Pointer(&usage)), 0, 0, 0, 0)
	return uint64(usage[8])
}

// tandemCopyPlace copies all pages. The copies lie one after the other.
//
//go:noinline
func tandemCopyPlace(p *sharedPlace) {
	sh := tandem.sh
	ps := &sh.places
	at := tandemCopyOf(p)
	for i := range sh.regions + ps.tables {
		r := &sh.region[i]
		memmove(unsafe.Pointer(at), unsafe.Pointer(uintptr(r.address)), uintptr(r.length))
		at += uintptr(r.length)
	}
	p.kept = 1
	ps.faults = tandemMinorFaults() // some of the copies may be where no others were
}

// tandemCopyOf is where the copy of a place begins.
func tandemCopyOf(p *sharedPlace) uintptr {
	ps := &tandem.sh.places
	slot := (uintptr(unsafe.Pointer(p)) - uintptr(unsafe.Pointer(&ps.place))) / unsafe.Sizeof(*p)
	return uintptr(ps.area + uint64(slot)*ps.slotBytes)
}

// tandemRest waits, where an execution has ended, for what is next. The memory is put back then: it
// may be to another place than main.main.
func tandemRest() {
	sh := tandem.sh
	tandemNoteTables()
	if sh.mappings > 0 { // to be removed before the checker looks at the pages
		tandemGoToMain()
	}
	sh.places.resting = 1
	sh.faults = tandemMinorFaults()
	tandemAnswer(answerEnd)
	for {
		switch tandemCommand() {
		case commandQuit:
			exit0(0)
		case commandRun:
			tandemGoBack()
		}
	}
}

// tandemBegin is called when the next execution is to be run.
func tandemBegin() {
	ps := &tandem.sh.places
	ps.lost, ps.faults = 0, tandem.sh.faults
}

// tandemGoBack begins the next execution, which is to be run now.
func tandemGoBack() {
	tandemBegin()
	sh := tandem.sh
	ps := &sh.places
	if ps.resume == 0 {
		tandemGoToMain()
	}
	p := &ps.place[ps.resume-1]
	ps.resting = 0
	tandemUndoChanges(p.changes)
	sh.records, sh.steps, sh.weight, sh.points = p.records, p.steps, p.weight, p.points
	ps.exchanges, ps.printed = p.exchanges, p.printed
	tandemRestore(&p.context, &sh.region[0], sh.regions+ps.tables, tandemCopyOf(p))
}

// tandemGoToMain puts back what there was before main.main, but for the tables: what they have of
// earlier executions is told apart by its number or clock. It goes on in tandemLoop.
func tandemGoToMain() {
	tandemRestore(&tandem.sh.context, &tandem.sh.region[0], tandem.sh.regions, 0)
}

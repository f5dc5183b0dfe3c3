//go:build race

package runtime

import (
	"internal/runtime/sys"
	"unsafe"
)

// The race detector finds the first two accesses to the same memory that are
// not ordered by happens-before, at least one of which writes, by vector clocks
// (Flanagan and Freund, "FastTrack: Efficient and Precise Dynamic Race
// Detection", PLDI 2009). For every eight bytes of memory it keeps the accesses
// that a later one could still race with: each a word that holds the bytes, the
// kind, and the accessing goroutine's epoch. It is exact: nothing is forgotten,
// and bytes are told apart.
//
// All that it keeps lies outside of the memory that is put back after an
// execution. Clocks go on from execution to execution, and each begins with all
// clocks at its base: accesses and clocks of earlier ones thus precede
// everything, and nothing ever has to be cleared.

// A word of the shadow memory:
//
//	63        24 23    12 11    4   3      2      1       0
//	   clock      slot     bytes    -    chain  atomic  write
const (
	raceRead   = 0
	raceWrite  = memoryWrite
	raceAtomic = memoryAtomic

	// The word does not hold an access but, in place of slot and bytes, the number of a raceBlock.
	raceChain      = 1 << 2
	raceByRuntime  = 1 << 3 // for raceAccess only: the runtime performs it for its caller
	raceBytesShift = 4
	raceBytes      = 0xff << raceBytesShift
	raceSlotShift  = 12
	raceClockShift = 24
)

// Limits of one execution. An execution that reaches one is refused.
const (
	// Goroutines that nothing orders after the end of others.
	raceSlots = 1 << 12
	// Where the heap of a program built for race detection begins.
	raceHeapStart = 0xc0 << 32
	raceHeapLimit = 1 << 36 // bytes of it that have a shadow
	// Places for accesses that find none beside their memory.
	raceBlocks    = 1 << 20
	raceClocks    = 1 << 24                      // components of vector clocks
	raceObjects   = 1 << 16                      // addresses that synchronise
	raceLastClock = 1 << 39                      // a shadow with greater clocks is thrown away
	raceAdvice    = "; --races off does without" // ends every refusal
)

// raceCell is the shadow of eight bytes: two words, the second of which may
// lead to a block with more.
type raceCell [2]uint64

// raceBlock holds words; the last may lead to another block.
type raceBlock [8]uint64

// raceState is the detector's own memory.
type raceState struct {
	base    uint64 // clocks that count from zero in an execution are relative to it
	ticks   uint64 // how far any clock can have advanced since
	slots   uint32 // in use, 0 included
	blocks  uint32
	clocks  uint32
	objects uint32
	ended   [raceSlots]uint32 // slots of goroutines that have ended
	nended  uint32

	context [raceSlots]raceContext
	object  [raceObjects]raceObject
	block   [raceBlocks]raceBlock
	clock   [raceClocks]uint32
}

var (
	raceHeapEnd  uintptr
	raceDataFrom uintptr
	raceDataSize uintptr
	// The shadow of an address is at the address's offset, twice.
	raceHeapShadow uintptr
	raceDataShadow uintptr
	raceMemory     uintptr // *raceState, that no collector needs to know
)

// raceArguments are those of the functions below that run on the system stack.
var raceArguments struct {
	g       uintptr
	address uintptr
	size    uintptr
	kind    uint64
	pc, fp  uintptr
	context uintptr
	pass    uint8
}

func races() *raceState { return (*raceState)(unsafe.Pointer(raceMemory)) }

// tandemRaceMap makes the detector's memory. It runs before the snapshot is taken.
func tandemRaceMap() {
	m := &firstmoduledata
	raceDataFrom = min(m.noptrdata, m.data, m.noptrbss, m.bss) &^ 7
	raceDataSize = max(m.enoptrdata, m.edata, m.enoptrbss, m.ebss) - raceDataFrom
	raceHeapShadow = tandemTable(2 * raceHeapLimit)
	raceDataShadow = tandemTable(2 * (raceDataSize + 8))
	raceMemory = tandemTable(unsafe.Sizeof(raceState{}))
}

// tandemNoteRaceTables notes how much of the detector's memory is in use, with a heap of so many
// bytes.
func tandemNoteRaceTables(heap uintptr) {
	tandemUses(raceHeapShadow, 2*(tandemBirths.heap+heap-raceHeapStart))
	tandemUses(raceDataShadow, 2*(raceDataSize+8))
	tandemUses(raceMemory, unsafe.Sizeof(raceState{}))
}

// tandemRaceNewExecution begins an execution: all that has happened precedes it.
func tandemRaceNewExecution() {
	s := races()
	s.base += s.ticks + 2
	if s.base > raceLastClock {
		raceThrowAway()
		s.base = 2
	}
	s.ticks, s.slots, s.blocks, s.clocks, s.objects, s.nended = 0, 1, 0, 0, 0, 0
	forEachG(func(gp *g) {
		if readgstatus(gp)&^_Gscan != _Gdead {
			gp.racectx = racectxstart(0, 0)
			gp.raceignore = 0
		}
	})
}

// raceThrowAway makes the shadow memory fresh, once in 2^39 steps of a clock.
func raceThrowAway() {
	memclrNoHeapPointers(unsafe.Pointer(raceDataShadow), 2*raceDataSize)
	memclrNoHeapPointers(unsafe.Pointer(raceHeapShadow), 2*min(raceHeapEnd-raceHeapStart, raceHeapLimit))
	clear(races().object[:])
}

// raceCellOf returns where the shadow of an address is, or nil if it has none:
// memory that is neither data of the program nor its heap.
//
//go:nosplit
func raceCellOf(addr uintptr) *raceCell {
	if at := addr - raceHeapStart; at < raceHeapLimit {
		return (*raceCell)(unsafe.Pointer(raceHeapShadow + at&^7*2))
	}
	if at := addr - raceDataFrom; at < raceDataSize {
		return (*raceCell)(unsafe.Pointer(raceDataShadow + at&^7*2))
	}
	return nil
}

// raceKnown reports whether an access need not be looked at: the same one is
// the last that is noted, or no execution is under way.
//
//go:nosplit
func raceKnown(addr uintptr, kind uint64) bool {
	epoch := uint64(getg().racectx)
	if epoch == 0 {
		return true
	}
	cell := raceCellOf(addr)
	if cell == nil {
		return true
	}
	word := epoch | 1<<(addr&7+raceBytesShift)
	return cell[0] == word|raceWrite || kind == raceRead && (cell[0] == word || cell[1] == word)
}

// raceBasic is in place of the size of a variable of a basic type.
const raceBasic = 0

// raceAccess is an access to memory of a size that is not 0, or raceBasic.
//
//go:nosplit
func raceAccess(addr, size uintptr, kind uint64, pc, fp uintptr) {
	gp := getg()
	if gp.racectx == 0 || gp != gp.m.curg {
		return
	}
	a := &raceArguments
	a.address, a.size, a.kind, a.pc, a.fp = addr, size, kind, pc, fp
	systemstack(raceAccessAll)
}

// raceAccessAll notes an access in the shadow of all of its bytes.
func raceAccessAll() {
	a := &raceArguments
	gp := getg().m.curg
	if raceHeapEnd > raceHeapStart+raceHeapLimit {
		tandemCutOff("more than 64 GiB of memory, with data races looked for" + raceAdvice)
	}
	if a.kind&raceByRuntime != 0 {
		if tandemClass(a.pc)&^callerPrivate == callerChecker {
			return
		}
		a.kind &^= raceByRuntime
	}
	c := raceContextOf(gp.racectx)
	gp.racectx = raceEpoch(c)
	end := a.address + max(a.size, 1)
	for at := a.address; at < end; at = at&^7 + 8 {
		cell := raceCellOf(at)
		if cell == nil {
			return
		}
		bytes := uint64(0xff) << (at & 7) & 0xff
		if end < at&^7+8 {
			bytes &= 1<<(end&7) - 1
		}
		word := uint64(gp.racectx) | bytes<<raceBytesShift | a.kind
		raceWatch(c, at, bytes, word)
		if other := raceNote(cell, word, c); other != 0 {
			raceFound(at&^7, other, word, c)
		}
	}
}

// raceNote adds an access to those of a cell, and removes those that a race can
// no longer be with without being with the new one too. It returns an access
// that the new one races with, or 0.
func raceNote(cell *raceCell, word uint64, c *raceContext) uint64 {
	s := races()
	oldest := s.base << raceClockShift
	free, same := (*uint64)(nil), (*uint64)(nil)
	block := cell[:]
	for {
		last := len(block) - 1
		chain := block[last]&raceChain != 0 && block[last] >= oldest
		for i := range block {
			p := &block[i]
			old := *p
			switch {
			case i == last && chain:
			case old < oldest: // empty, or of an earlier execution
				if free == nil {
					free = p
				}
			case (old^word)&^raceBytes == 0:
				same = p
			case old&word&raceBytes == 0:
			case raceConflict(old, word) && !raceOrdered(old, c):
				return old
			case raceReplaces(word, old) && raceOrdered(old, c):
				if *p = old &^ (word & raceBytes); *p&raceBytes == 0 {
					*p = 0
					free = p
				}
			}
		}
		if !chain {
			break
		}
		block = s.block[block[last]>>raceBytesShift&(raceBlocks-1)][:]
	}
	switch {
	case same != nil:
		*same |= word
	case free != nil:
		*free = word
	default:
		raceExtend(&block[len(block)-1], word)
	}
	return 0
}

// raceExtend puts a block in the place of a word, and that and another one into it.
func raceExtend(p *uint64, word uint64) {
	s := races()
	if s.blocks == raceBlocks {
		tandemCutOff("too many goroutines that access the same memory, with data races looked for" +
			raceAdvice)
	}
	b := &s.block[s.blocks]
	*b = raceBlock{*p, word}
	*p = s.base<<raceClockShift | uint64(s.blocks)<<raceBytesShift | raceChain
	s.blocks++
}

// raceConflict reports whether two unordered accesses to a byte are a race.
func raceConflict(a, b uint64) bool { return (a|b)&raceWrite != 0 && a&b&raceAtomic == 0 }

// raceReplaces reports whether everything that can race with the access old, which
// precedes the access new to the same bytes, races with new too.
func raceReplaces(new, old uint64) bool {
	switch new & (raceWrite | raceAtomic) {
	case raceWrite:
		return true
	case raceRead:
		return old&raceWrite == 0
	case raceAtomic:
		return old&(raceWrite|raceAtomic) == raceAtomic
	}
	return old&raceAtomic != 0 // an atomic write
}

// raceOrdered reports whether an access happened before what c does now.
func raceOrdered(word uint64, c *raceContext) bool {
	return uint32(word>>raceClockShift-races().base) <= c.known.get(uint32(word>>raceSlotShift)&(raceSlots-1))
}

// raceForget makes memory as good as never used: it has got a new purpose.
//
//go:nosplit
func raceForget(addr, size uintptr) {
	if !tandem.on || size == 0 {
		return
	}
	cell := raceCellOf(addr)
	if cell == nil || raceCellOf(addr+size-1) == nil {
		return
	}
	memclrNoHeapPointers(unsafe.Pointer(cell), ((addr+size+7)&^7-addr&^7)*2)
}

// raceWatch notes the stack of the access that the checker wants to know about:
// the first of its kind to its byte in its epoch.
func raceWatch(c *raceContext, at uintptr, bytes, word uint64) {
	sh := tandem.sh
	w := &sh.raceEarlier
	if sh.details.raceWatch == 0 || w.stackLength != 0 || w.slot != c.slot || w.clock != c.now ||
		w.kind != uint32(word&(raceWrite|raceAtomic)) {
		return
	}
	if uintptr(w.address)&^7 == at&^7 && bytes>>(w.address&7)&1 != 0 {
		raceDescribe(w)
	}
}

// raceFound ends the execution: what is noted as old and what is done now are a race.
func raceFound(granule uintptr, old, word uint64, c *raceContext) {
	sh := tandem.sh
	at := uint64(granule) + uint64(sys.TrailingZeros64(old&word&raceBytes>>raceBytesShift))
	later := &sh.raceLater
	later.address, later.kind = at, uint32(word&(raceWrite|raceAtomic))
	later.slot, later.clock = c.slot, c.now
	raceDescribe(later)
	earlier := &sh.raceEarlier
	if sh.details.raceWatch == 0 {
		*earlier = memoryAccess{address: at, kind: uint32(old & (raceWrite | raceAtomic))}
		earlier.slot = uint32(old>>raceSlotShift) & (raceSlots - 1)
		earlier.clock = uint32(old>>raceClockShift - races().base)
	}
	tandemEnd(outcomeRace)
}

// raceDescribe fills in who performs the present access, and where.
func raceDescribe(m *memoryAccess) {
	a := &raceArguments
	m.goroutine, m.size = getg().m.curg.tandem.id, uint32(a.size)
	pc, fp, n := a.pc, a.fp, uint64(0)
	for n < uint64(len(m.stack)) {
		m.stack[n] = uint64(pc)
		n++
		if fp == 0 {
			break
		}
		pc, fp = tandemReturnAddress(getg().m.curg, fp), *(*uintptr)(unsafe.Pointer(fp))
	}
	m.stackLength = n
}

// tandemUnseenOfRaces is tandemUnseen for what the detector keeps in the memory of the program.
func tandemUnseenOfRaces(at uintptr) bool {
	return at-uintptr(unsafe.Pointer(&raceArguments)) < unsafe.Sizeof(raceArguments)
}

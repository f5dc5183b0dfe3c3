//go:build race

package runtime

import "unsafe"

// raceContext is what the detector knows of a goroutine, or of something else
// that runs code. Its slot names it until it has ended and its end precedes the
// beginning of another one, which may then continue its clock. A g keeps its
// present epoch, shifted as in a word of the shadow memory, in racectx; 0 is
// that of code which nobody looks at.
type raceContext struct {
	known raceClock // what has happened before what it does now, by slot
	now   uint32    // its own clock; always known to itself
	slot  uint32
}

// raceObject is the clock of an address that synchronises.
type raceObject struct {
	address uintptr
	base    uint64 // of the execution that it belongs to
	known   raceClock
}

// raceClock is a vector clock, without the zeros at its end.
type raceClock struct {
	from uint32 // index into raceState.clock
	n    uint32
}

func (v *raceClock) component(slot uint32) *uint32 { return &races().clock[v.from+slot] }

func (v *raceClock) get(slot uint32) uint32 {
	if slot >= v.n {
		return 0
	}
	return *v.component(slot)
}

// reserve makes room for n components.
func (v *raceClock) reserve(n uint32) {
	if n <= v.n {
		return
	}
	n = (n + 7) &^ 7
	s := races()
	if s.clocks+n > raceClocks {
		tandemCutOff("too many goroutines and objects that they synchronise with, with data races " +
			"looked for" + raceAdvice)
	}
	from := s.clocks
	s.clocks += n
	for i := range n {
		s.clock[from+i] = v.get(i)
	}
	v.from, v.n = from, n
}

func (v *raceClock) set(slot, clock uint32) {
	v.reserve(slot + 1)
	*v.component(slot) = clock
}

// join makes v know what w knows.
func (v *raceClock) join(w *raceClock) {
	v.reserve(w.n)
	for i := range w.n {
		p := v.component(i)
		*p = max(*p, *w.component(i))
	}
}

// assign makes v know what w knows, and nothing else.
func (v *raceClock) assign(w *raceClock) {
	v.reserve(w.n)
	for i := range v.n {
		*v.component(i) = w.get(i)
	}
}

//go:nosplit
func raceContextOf(racectx uintptr) *raceContext {
	return &races().context[racectx>>raceSlotShift&(raceSlots-1)]
}

//go:nosplit
func raceEpoch(c *raceContext) uintptr {
	return uintptr(races().base+uint64(c.now))<<raceClockShift | uintptr(c.slot)<<raceSlotShift
}

// advance begins a new epoch: what c does from now on is not known to those
// that have learned from it.
func (c *raceContext) advance() {
	s := races()
	if c.now++; c.now == 1<<31 {
		tandemCutOff("too many operations, with data races looked for" + raceAdvice)
	}
	s.ticks = max(s.ticks, uint64(c.now))
	c.known.set(c.slot, c.now)
}

// racectxstart begins a context that goes on from the one of parent.
//
//go:nosplit
func racectxstart(pc, parent uintptr) uintptr {
	if !tandem.on {
		return 0
	}
	raceArguments.context = parent
	systemstack(raceStart)
	return raceArguments.context
}

func raceStart() {
	s := races()
	var parent *raceContext
	if raceArguments.context != 0 {
		parent = raceContextOf(raceArguments.context)
	}
	slot, clock := raceFreeSlot(parent), uint32(0)
	if slot == 0 {
		if s.slots == raceSlots {
			tandemCutOff("more than 4095 goroutines that nothing orders, with data races looked for" +
				raceAdvice)
		}
		slot = s.slots
		s.slots++
	} else {
		clock = s.context[slot].now
	}
	c := &s.context[slot]
	*c = raceContext{slot: slot, now: clock}
	if parent != nil {
		c.known.assign(&parent.known)
		parent.advance()
	}
	c.advance()
	raceArguments.context = raceEpoch(c)
}

// raceFreeSlot takes a slot whose last goroutine ended before what parent does
// now; 0: there is none.
func raceFreeSlot(parent *raceContext) uint32 {
	if parent == nil {
		return 0
	}
	s := races()
	for i := range s.nended {
		slot := s.ended[i]
		if s.context[slot].now <= parent.known.get(slot) {
			s.nended--
			s.ended[i] = s.ended[s.nended]
			return slot
		}
	}
	return 0
}

//go:nosplit
func racectxend(racectx uintptr) {
	if racectx == 0 {
		return
	}
	s := races()
	s.ended[s.nended] = uint32(racectx>>raceSlotShift) & (raceSlots - 1)
	s.nended++
}

// How a context and an address exchange what they know.
const (
	raceAcquireFrom = iota
	raceReleaseTo
	raceMergeInto
	raceExchange
)

// raceSynchronise passes knowledge between a goroutine and an address.
//
//go:nosplit
func raceSynchronise(gp *g, addr unsafe.Pointer, pass uint8) {
	racePassAt(gp, uintptr(addr), pass)
}

//go:nosplit
func racePassAt(gp *g, addr uintptr, pass uint8) {
	if gp.racectx == 0 || getg().raceignore != 0 {
		return
	}
	a := &raceArguments
	a.g, a.address, a.pass = uintptr(unsafe.Pointer(gp)), addr, pass
	systemstack(racePass)
}

func racePass() {
	a := &raceArguments
	gp := (*g)(unsafe.Pointer(a.g))
	c := raceContextOf(gp.racectx)
	o := raceObjectAt(a.address)
	if a.pass == raceAcquireFrom || a.pass == raceExchange {
		c.known.join(&o.known)
	}
	if a.pass == raceAcquireFrom {
		return
	}
	if a.pass == raceReleaseTo {
		o.known.assign(&c.known)
	} else {
		o.known.join(&c.known)
	}
	c.advance()
	gp.racectx = raceEpoch(c)
}

// tandemRaceTouch is an access to something outside of the memory: a file, a
// connection, the peers. Who reads knows what those who wrote knew. The
// standard library itself has every read after every write.
func tandemRaceTouch(gp *g, object uint64, kind uint8) {
	pass := uint8(raceExchange)
	if kind == accessRead {
		pass = raceAcquireFrom
	}
	racePassAt(gp, uintptr(object), pass)
}

// raceacquirectx makes a context begin anew with what is known at an address.
// It is that of the timers: one that fires knows nothing of those before it.
//
//go:nosplit
func raceacquirectx(racectx uintptr, addr unsafe.Pointer) {
	if racectx != 0 {
		raceArguments.context, raceArguments.address = racectx, uintptr(addr)
		systemstack(raceRenew)
	}
}

func raceRenew() {
	c := raceContextOf(raceArguments.context)
	c.known.assign(&raceObjectAt(raceArguments.address).known)
	c.advance()
}

func raceAcquireAll() {
	gp := getg().m.curg
	if gp.racectx == 0 {
		return
	}
	s, c := races(), raceContextOf(gp.racectx)
	for slot := range s.slots {
		c.known.join(&s.context[slot].known)
	}
}

// raceObjectAt finds or makes the clock of an address, in a hash table with
// open addressing.
func raceObjectAt(address uintptr) *raceObject {
	s := races()
	for i := uint64(address) * 0x9e3779b97f4a7c15 >> 32; ; i++ {
		o := &s.object[i%raceObjects]
		if o.base == s.base && o.address == address {
			return o
		}
		if o.base != s.base {
			if s.objects++; s.objects > raceObjects*3/4 {
				tandemCutOff("too many objects that goroutines synchronise with, with data races looked " +
					"for" + raceAdvice)
			}
			*o = raceObject{address: address, base: s.base}
			return o
		}
	}
}

// tandemAtomic is called after an atomic operation: kind says what it did to the
// memory, and knowledge goes the same way.
//
//go:linkname tandemAtomic sync/atomic.tandemAtomic
//go:nosplit
//go:noinline
func tandemAtomic(addr unsafe.Pointer, kind uint8) {
	if gp := getg(); gp.racectx == 0 || gp.raceignore != 0 {
		return
	}
	raceForCaller(uintptr(addr), raceBasic, uint64(kind&memoryWrite)|memoryAtomic, getcallerfp())
	switch kind {
	case atomicLoad:
		raceacquire(addr)
	case atomicStore:
		racerelease(addr)
	default:
		racereleaseacquire(addr)
	}
}

package runtime

// What becomes of goroutines: they are created, woken, moved, and end.

// tandemSpawn is called when newg has been made by parent, before it runs.
func tandemSpawn(newg, parent *g, fn uintptr, pc uintptr) {
	newg.tandem = tandemG{}
	if !tandem.on || isSystemGoroutine(newg, false) {
		return
	}
	id, nth := uint64(0), uint64(0)
	if parent.tandem.id != 0 {
		parent.tandem.children++
		id, nth = parent.tandem.id, parent.tandem.children
	} else { // a timer's function: the clock is its parent
		tandem.ticks++
		nth = tandem.ticks
	}
	tandemEffect()
	tandem.loop.effects, tandem.loop.orders = true, tandem.loop.orders || tandem.loop.several
	tandemAdopt(newg, tandemMix(id^tandemMix(nth)))
	newg.tandem.origin = tandemOrigin(parent, pc)
	newg.tandem.op, newg.tandem.call = opStart, tandemNoCall
	newg.tandem.caller = pc
	tandemRecord(record{kind: recordSpawn, op: opStart, a: newg.tandem.id, b: uint64(fn), pc: uint64(pc),
		open: uint64(parent.tandem.open)})
}

// tandemAdopt puts a goroutine under control.
func tandemAdopt(gp *g, id uint64) {
	tandem.spawned++
	gp.tandem.id, gp.tandem.seed, gp.tandem.order = id, id, tandem.spawned
	if draws := tandem.sh.guide.draws; draws != 0 {
		gp.tandem.seed = tandemMix(id ^ tandemMix(draws))
	}
}

// tandemWoken is called when a goroutine that was blocked becomes runnable. One
// that was blocked in a select no longer waits on any of its channels.
func tandemWoken(gp *g) {
	t := &gp.tandem
	if !tandem.on || t.id == 0 {
		return
	}
	tandemEffect()
	tandemRecord(record{kind: recordWake, a: t.id})
	if t.cases != 0 {
		tandemAccessArms(t)
		t.cases = 0
	}
}

// tandemStackMoved is called when a stack has been copied to where there is more room:
// what a pending operation knows of it has moved along.
func tandemStackMoved(gp *g, old stack, delta uintptr) {
	t := &gp.tandem
	for _, p := range [...]*uintptr{&t.cases, &t.frame} {
		if old.lo <= *p && *p < old.hi {
			*p += delta
		}
	}
}

// tandemGone is called when a goroutine has ended, on the system stack.
func tandemGone(gp *g) {
	if tandem.on && gp.tandem.id != 0 {
		tandemEffect()
		tandemRecord(record{kind: recordEnd, a: gp.tandem.id})
	}
	gp.tandem = tandemG{}
}

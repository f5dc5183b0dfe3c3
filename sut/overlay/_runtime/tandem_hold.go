package runtime

// Holds: a goroutine that is to be kept back before a transition is not picked as long as another
// one can be.

// tandemKeepBack tells for the next pick which goroutines are held. If only these can be picked, or
// the others only go round in loops that wait, it releases the first hold of which that is true.
// What is no goroutine of the program does not count, but the clock where it may advance early:
// time passes before one is released. No signal arrives at such a pick, nor anything else from
// outside: the hold would have been released for nothing.
func tandemKeepBack() {
	if tandem.sh.guide.holds == 0 {
		return
	}
	free, kept, clock := 0, 0, (*g)(nil)
	for i := range tandem.nparked {
		gp := tandem.parked[i].ptr()
		t := &gp.tandem
		// What comes from outside may have been kept back for one pick only.
		if after := t.turn + 1; t.heldAt != after || tandemOutside(t.op) {
			t.heldAt, t.held = after, tandemIsHeld(t)
		}
		switch {
		case !tandemAwakeCandidate(gp):
		case t.held:
			kept++
		case t.op == opAdvance:
			clock = gp
		case !tandemOutside(t.op):
			free++
		}
	}
	if kept == 0 || free > 0 && tandem.barren < tandemLoopPatience*free {
		return
	}
	next := clock
	if free > 0 || clock == nil {
		next = tandemRelease()
	}
	for i := range tandem.nparked {
		if gp := tandem.parked[i].ptr(); free == 0 && gp != next && tandemOutside(gp.tandem.op) {
			gp.tandem.held = true
		}
	}
}

// tandemRelease releases the first hold in the list whose goroutine can be picked otherwise, and
// returns that goroutine. There is one.
func tandemRelease() *g {
	guide := &tandem.sh.guide
	for i := range guide.holds {
		h := &guide.hold[i]
		gp := tandemParkedAs(h.goroutine)
		if gp == nil || !gp.tandem.held || !tandemHoldsAt(h, &gp.tandem) || !tandemAwakeCandidate(gp) {
			continue
		}
		for j := range guide.holds {
			if other := &guide.hold[j]; tandemHoldsAt(other, &gp.tandem) {
				other.released = 1
			}
		}
		gp.tandem.held = false
		return gp
	}
	throw("tandem: a goroutine is held by nothing")
	return nil
}

// tandemIsHeld reports whether a goroutine has come to where it is kept back.
func tandemIsHeld(t *tandemG) bool {
	guide := &tandem.sh.guide
	for i := range guide.holds {
		h := &guide.hold[i]
		if h.released == 0 && tandemHoldsAt(h, t) {
			return true
		}
	}
	return false
}

// tandemHoldsAt reports whether a hold is one before what a goroutine is about to do.
func tandemHoldsAt(h *sharedHold, t *tandemG) bool {
	reading := uint32(0)
	if t.op == opReadClock {
		reading = t.readings + 1
	}
	return h.goroutine == t.id && h.nth == t.transitions+1 && h.reading == reading
}

// tandemCountTransition counts one for the holds. Readings of the clock are transitions only where
// it may advance early, and holds are to mean the same where it may not: they are counted apart.
func tandemCountTransition(t *tandemG) {
	if t.op == opReadClock {
		t.readings++
	} else {
		t.transitions, t.readings = t.transitions+1, 0
	}
}

// tandemAwakeCandidate reports whether a goroutine can be picked and is not asleep, where that
// counts.
func tandemAwakeCandidate(gp *g) bool {
	return tandemCandidate(gp) && (tandem.sh.guide.picks != picksNext || tandemFirstAwake(&gp.tandem))
}

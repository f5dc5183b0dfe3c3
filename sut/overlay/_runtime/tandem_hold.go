package runtime

// Holds: a goroutine that is to be kept back before a transition is not picked as long as another
// one can be.

// tandemKeepBack tells for the next pick which goroutines are held. If only these can be picked, or
// the others only go round in loops that wait, it releases the first hold of which that is true.
// What is no goroutine of the program does not count, but the clock where it may advance early:
// time passes before one is released.
func tandemKeepBack() {
	guide := &tandem.sh.guide
	if guide.holds == 0 {
		return
	}
	free, passes := 0, false
	for i := range tandem.nparked {
		gp := tandem.parked[i].ptr()
		t := &gp.tandem
		if next := t.transitions + 1; t.heldAt != next {
			t.heldAt, t.held = next, tandemIsHeld(t)
		}
		passes = passes || t.op == opAdvance && tandemAwakeCandidate(gp)
		if !t.held && !tandemOutside(t.op) && tandemAwakeCandidate(gp) {
			free++
		}
	}
	if free == 0 && passes || free > 0 && tandem.barren < tandemLoopPatience*free {
		return
	}
	for i := range guide.holds {
		h := guide.hold[i]
		gp := tandemParkedAs(h.goroutine)
		if gp == nil || !gp.tandem.held || gp.tandem.transitions+1 != h.nth || !tandemAwakeCandidate(gp) {
			continue
		}
		for j := range guide.holds {
			if other := &guide.hold[j]; other.goroutine == h.goroutine && other.nth == h.nth {
				other.released = 1
			}
		}
		gp.tandem.held = false
		return
	}
}

// tandemIsHeld reports whether a goroutine has come to where it is kept back.
func tandemIsHeld(t *tandemG) bool {
	guide := &tandem.sh.guide
	for i := range guide.holds {
		h := &guide.hold[i]
		if h.goroutine == t.id && h.nth == t.transitions+1 && h.released == 0 {
			return true
		}
	}
	return false
}

// tandemAwakeCandidate reports whether a goroutine can be picked and is not asleep, where that
// counts.
func tandemAwakeCandidate(gp *g) bool {
	return tandemCandidate(gp) && (tandem.sh.guide.picks != picksNext || tandemFirstAwake(&gp.tandem))
}

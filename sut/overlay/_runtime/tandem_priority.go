package runtime

// Random picks: uniform, or by priorities that are random and change at given
// transitions (Burckhardt, Kothari, Musuvathi, Nagarakatte: A Randomized Scheduler
// with Probabilistic Guarantees of Finding Bugs, ASPLOS 2010).

// The priorities: those that goroutines begin with, those that changes give, and
// below them those of goroutines that had more than their turn.
const (
	tandemFirstPriority  = 1 << 63
	tandemChangePriority = 1 << 32
)

// tandemLoopPatience is how many rounds of a loop that waits, without any effect, a
// goroutine of high priority has before it goes behind all others: it waits for one.
const tandemLoopPatience = 32

// tandemWeigh counts that was picked among n, uniformly.
func tandemWeigh(n uint32) {
	w := &tandem.sh.weight
	w.mantissa *= uint64(n)
	for w.mantissa >= 1<<32 {
		w.mantissa >>= 1
		w.exponent++
	}
}

// tandemRandomPick draws one of the goroutines that can be picked, and one of its alternatives. The
// clock, and the arrival of a signal, are among them only if there is nobody else, or at the points
// that the schedule names.
func tandemRandomPick() *g {
	candidates, sources := uint32(0), uint32(0)
	for i := range tandem.nparked {
		if gp := tandem.parked[i].ptr(); tandemPickable(gp) {
			if tandemRareSource(gp) != rareKinds {
				sources++
			} else {
				candidates++
			}
		}
	}
	if candidates > 0 && sources > 0 {
		if gp := tandemRareArrival(); gp != nil {
			return gp
		}
	}
	gp := (*g)(nil)
	switch picks := tandem.sh.guide.picks; {
	case candidates > 0 && picks == picksPartialOrder:
		gp = tandemPartialOrderPick()
		tandemRandomChoice(&gp.tandem)
	case candidates > 0 && picks == picksWalk:
		gp = tandemWalkPick()
		tandemRandomChoice(&gp.tandem)
	case candidates > 0:
		gp = tandemUniformPick(candidates, false)
	default:
		gp = tandemUniformPick(sources, true)
	}
	return gp
}

// tandemUniformPick draws one of the goroutines that can be picked, which are so many: of those for
// which that is a rare event, or of the others.
func tandemUniformPick(candidates uint32, sources bool) *g {
	n := uint32(tandemMix(tandem.sh.guide.seed+uint64(tandem.position)) % uint64(candidates))
	for i := range tandem.nparked {
		gp := tandem.parked[i].ptr()
		if !tandemPickable(gp) || tandemRareSource(gp) != rareKinds != sources {
			continue
		}
		if n == 0 {
			tandemRandomChoice(&gp.tandem)
			tandemWeigh(candidates)
			tandemWeigh(gp.tandem.choices)
			return gp
		}
		n--
	}
	throw("tandem: the enabled goroutines changed while they were counted")
	return nil
}

func tandemRandomChoice(t *tandemG) {
	random := tandemMix(tandem.sh.guide.seed ^ tandemMix(uint64(tandem.position)))
	kind := tandemRareChoice(t)
	switch {
	case kind == rareKinds:
		t.choice = uint32(random % uint64(t.choices))
	case t.choices > 1 && tandemRareNow(kind):
		t.choice = 1 + uint32(random%uint64(t.choices-1))
	default:
		t.choice = 0
	}
}

// tandemRareChoice is the kind of rare event that an operation has alternatives for; rareKinds:
// none.
func tandemRareChoice(t *tandemG) uint32 {
	switch t.op {
	case opFault:
		return rareFault
	case opShort:
		return rareShortRead + t.faults
	}
	return rareKinds
}

// tandemRareSource is the kind of rare event that it is for a goroutine to be picked; rareKinds:
// none.
func tandemRareSource(gp *g) uint32 {
	switch gp.tandem.op {
	case opAdvance:
		return rareEarlyTimer
	case opSignalArrive:
		return rareSignal
	}
	return rareKinds
}

// tandemRareNow counts a point of a kind of rare event, and reports whether the event happens
// there.
func tandemRareNow(kind uint32) bool {
	sh := tandem.sh
	sh.points.rare[kind]++
	guide := &sh.guide
	for i := range guide.rares {
		if guide.rare[i].kind == kind && guide.rare[i].at == sh.points.rare[kind] {
			return true
		}
	}
	return false
}

// tandemRareArrival is the clock, or who has a signal arrive, if that happens now although
// goroutines can go on.
func tandemRareArrival() (now *g) {
	for i := range tandem.nparked {
		gp := tandem.parked[i].ptr()
		if kind := tandemRareSource(gp); kind != rareKinds && tandemPickable(gp) && tandemRareNow(kind) &&
			now == nil {
			now = gp
		}
	}
	if now != nil && now.tandem.op == opSignalArrive { // one of the signals, and not none
		random := tandemMix(tandem.sh.guide.seed ^ tandemMix(uint64(tandem.position)))
		now.tandem.choice = uint32(random % uint64(max(now.tandem.choices, 2)-1))
	} else if now != nil {
		now.tandem.choice = 0
	}
	return now
}

// tandemCandidate reports whether a goroutine, not main at its end, can be picked.
func tandemCandidate(gp *g) bool {
	return gp.tandem.op != opExit && tandemEnabled(&gp.tandem) && tandemAffordable(gp)
}

// tandemPickable reports the same of one that may be held.
func tandemPickable(gp *g) bool { return !gp.tandem.held && tandemCandidate(gp) }

// tandemPriorityPick takes the goroutine of the highest priority. Its alternative is random.
func tandemPriorityPick() *g {
	tandemYieldTurn()
	best := (*g)(nil)
	for i := range tandem.nparked {
		gp := tandem.parked[i].ptr()
		if tandemPickable(gp) && (best == nil || tandemPriority(&gp.tandem) > tandemPriority(&best.tandem)) {
			best = gp
		}
	}
	tandemRandomChoice(&best.tandem)
	tandemChangeAt(&best.tandem)
	return best
}

// tandemPriority is the priority of a goroutine: at first a hash of its name, so that
// any order of any goroutines is as likely as any other.
func tandemPriority(t *tandemG) uint64 {
	if t.priority == 0 {
		t.priority = tandemMix(tandem.sh.guide.seed^tandemMix(t.id)) | tandemFirstPriority
	}
	return t.priority
}

// tandemChangeAt lowers the priority of the goroutine that has been picked for the
// present transition, if it is one at which priorities change.
func tandemChangeAt(t *tandemG) {
	guide := &tandem.sh.guide
	for i := range guide.changes {
		if guide.change[i] == tandem.position {
			t.priority = tandemChangePriority + uint64(i)
		}
	}
}

// tandemYieldTurn puts the running goroutine behind all others if it goes round in a
// loop that waits, or has had its turn (tandem_fair.go).
func tandemYieldTurn() {
	f, gp := &tandem.fair, tandem.current.ptr()
	if gp == nil || f.rounds < tandemLoopPatience && f.streak < turnLength {
		return
	}
	tandem.demoted++
	gp.tandem.priority = tandemChangePriority - uint64(tandem.demoted)
}

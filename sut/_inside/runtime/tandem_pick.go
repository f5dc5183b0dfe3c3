package runtime

// Most transitions go on with the goroutine that runs, or with the one that the
// schedule names. Then nothing need be known of the others, and the goroutine that runs
// need not be parked. What the log says is the same.

// tandemStays begins the next transition of the running goroutine, which has arrived at its
// point, and reports whether that was the one to be picked.
func tandemStays(gp *g) bool {
	pp := getg().m.p.ptr()
	if tandem.owner != 0 || gp.bubble != nil || !runqempty(pp) || !sched.runq.empty() || tandemTimerFires(pp) || !tandemIsNext(gp) {
		return false
	}
	tandemBegin(gp)
	return true
}

// tandemTimerFires reports whether the scheduler has something to do with the timers
// before a goroutine runs.
func tandemTimerFires(pp *p) bool {
	next := pp.timers.wakeTime()
	return next != 0 && (next <= tandem.now || pp.timers.zombies.Load() != 0)
}

// tandemForeseen is the goroutine that is to be picked, if that can be told.
func tandemForeseen() *g {
	gp := tandem.current.ptr()
	if sh := tandem.sh; tandem.position < sh.prefixLength {
		gp = tandemParkedAs(sh.prefix[tandem.position].goroutine)
	}
	if gp == nil || !gp.tandem.parked || !tandemIsNext(gp) {
		return nil
	}
	return gp
}

func tandemParkedAs(id uint64) *g {
	for i := range tandem.nparked {
		if gp := tandem.parked[i].ptr(); gp.tandem.id == id {
			return gp
		}
	}
	return nil
}

// tandemIsNext picks a goroutine, and reports whether it could. Where that takes more than
// a look at the goroutine it does nothing.
func tandemIsNext(gp *g) bool {
	sh, t := tandem.sh, &gp.tandem
	if sh.wantEnabled != 0 || tandemBounded() || sh.steps >= sh.stepLimit || tandem.barren >= tandemBarren ||
		sh.roundLimit > 0 && tandem.fair.rounds > sh.roundLimit || t.op == opExit || t.op == opAdvance {
		return false
	}
	if tandemCountChoices(t); !tandemEnabled(t) {
		return false
	}
	if tandem.position < sh.prefixLength {
		want := &sh.prefix[tandem.position]
		if want.goroutine != t.id || want.choice >= t.choices {
			return false
		}
		tandemWakeSleepers()
		tandemFallAsleep()
		t.choice = want.choice
	} else {
		if sh.seed != 0 || gp != tandem.current.ptr() || tandemTurnIsOver() {
			return false
		}
		tandemWakeSleepers()
		if !tandemFirstAwake(t) {
			return false
		}
	}
	tandem.position++
	sh.steps++
	return true
}

// tandemRecordCandidates records what can be picked for the next transition.
func tandemRecordCandidates() {
	if tandem.sh.wantEnabled == 0 {
		return
	}
	for i := range tandem.nparked {
		if gp := tandem.parked[i].ptr(); tandemCandidate(gp) {
			tandemRecordEnabled(&gp.tandem)
		}
	}
}

func tandemRecordEnabled(t *tandemG) {
	if tandem.sh.wantEnabled != 0 {
		tandemRecord(record{kind: recordEnabled, op: t.op, a: t.id, number: t.choices})
	}
}

package runtime

// Most transitions go on with the goroutine that runs, or with the one that the
// schedule names, or else with the next in order. Then nothing need be known of those
// behind it, and the goroutine that runs need not be parked. What the log says is the same.

// tandemStays begins the next transition of the running goroutine, which has arrived at its
// point, and reports whether that was the one to be picked.
func tandemStays(gp *g) bool {
	pp := getg().m.p.ptr()
	tandemPass() // nothing has been decided yet
	if tandem.owner != 0 || gp.bubble != nil || !runqempty(pp) || !sched.runq.empty() ||
		tandemTimerFires(pp) || !tandemForeseeable() {
		return false
	}
	if tandem.position < tandem.sh.prefixLength {
		if !tandemFollows(gp) {
			return false
		}
	} else if gp != tandem.current.ptr() || tandemTurnIsOver() || !tandemGoesOn(gp) {
		return false
	}
	tandemBeginTransition(gp)
	return true
}

// tandemTimerFires reports whether the scheduler has something to do with the timers
// before a goroutine runs.
func tandemTimerFires(pp *p) bool {
	next := pp.timers.wakeTime()
	return next != 0 && (next <= tandem.now || pp.timers.zombies.Load() != 0)
}

// tandemForeseeable reports whether nobody wants to know what else could be picked, or how
// many of them there are.
func tandemForeseeable() bool {
	sh := tandem.sh
	return sh.wantEnabled == 0 && !tandemDependsOnStates() && !tandemBounded() && sh.steps < sh.stepLimit &&
		!tandem.loop.marked &&
		tandem.barren < tandemBarren && tandem.quiet.steps < tandemBarren &&
		(sh.roundLimit == 0 || tandem.fair.rounds <= sh.roundLimit) &&
		(tandem.position < sh.prefixLength || sh.guide.picks|sh.guide.holds == 0)
}

// tandemForeseen is the goroutine that is to be picked, if that can be told. It comes first when
// a goroutine is picked.
func tandemForeseen() *g {
	tandemPass()
	if !tandemForeseeable() {
		return nil
	}
	if sh := tandem.sh; tandem.position < sh.prefixLength {
		if gp := tandemParkedAs(sh.prefix[tandem.position].goroutine); gp != nil && tandemFollows(gp) {
			return gp
		}
		return nil
	}
	first := tandemFirstFrom(tandemFrom())
	for i := range tandem.nparked {
		if i += first; i >= tandem.nparked {
			i -= tandem.nparked
		}
		if gp := tandem.parked[i].ptr(); tandemGoesOn(gp) {
			return gp
		}
	}
	return nil
}

// tandemFollows takes the prescribed action, if it is one of this goroutine, and one that
// is taken although others can go on.
func tandemFollows(gp *g) bool {
	t, want := &gp.tandem, &tandem.sh.prefix[tandem.position]
	if want.goroutine != t.id || t.op == opExit {
		return false
	}
	if tandemCountChoices(t); !tandemEnabled(t) || want.choice >= t.choices {
		return false
	}
	tandemWakeSleepers()
	tandemFallAsleep()
	t.choice = want.choice
	tandem.position++
	tandem.sh.steps++
	return true
}

// tandemGoesOn takes the first action of the goroutine that is not asleep, if there is one
// that is taken although others can go on.
func tandemGoesOn(gp *g) bool {
	t := &gp.tandem
	if t.op == opExit || t.op == opAdvance {
		return false
	}
	if tandemCountChoices(t); !tandemEnabled(t) {
		return false
	}
	if tandemWakeSleepers(); !tandemFirstAwake(t) {
		return false
	}
	tandem.position++
	tandem.sh.steps++
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

package runtime

import "unsafe"

// Fairness. A loop that waits for another goroutine without blocking has endless
// executions in which the other one never runs (Musuvathi and Qadeer, "Fair
// Stateless Model Checking", PLDI 2008). Beyond the schedule, the others get
// their turn; and the search cuts off an execution that it has driven into more
// rounds of such a loop than the limit.

// tandemSealedPatience is how many operations of sealed packages a transition can
// have. A goroutine with more may be in such a loop, where it cannot be preempted.
// Once it has had so many without an effect, its transitions are shorter.
const (
	tandemSealedPatience = 4096
	tandemVainPatience   = 64
)

// tandemFair is how the running goroutine uses its turn. Objects are told by
// their addresses, places by their program counters.
type tandemFair struct {
	streak uint32 // transitions in a row
	rounds uint32 // of them, the last at the same place and object, without any effect in between
	pc     uintptr
	object uintptr
	sealed uint32 // operations of sealed packages in the present transition
}

// tandemNoteTurn counts a transition that is about to begin.
func tandemNoteTurn(gp *g) {
	f := &tandem.fair
	if tandem.current.ptr() != gp {
		*f = tandemFair{}
	}
	f.streak++
	f.sealed = 0
	tandem.barren++
	tandem.quiet.steps++
	t := &gp.tandem
	tandemNoteEffect(t)
	switch {
	case t.op == opResume || t.op == opGoOn: // after Gosched, or a look
	case !tandemFruitless(t):
		f.rounds, tandem.barren = 0, 0
	case f.rounds == 0:
		f.rounds, f.pc, f.object = 1, t.caller, t.object
	case f.pc == t.caller && f.object == t.object:
		f.rounds++
	}
}

// tandemFruitless reports whether an operation leaves everything as it is.
func tandemFruitless(t *tandemG) bool {
	if t.waits() {
		_, arm, _ := tandemAlternative(t, t.choice)
		return arm == noArm || t.choices == 1 && t.exhausted(arm)
	}
	switch t.op {
	case opLoad, opYield, opMapRead, opState:
		return true
	case opTryLock:
		return tandemReady(t)&readyFree == 0
	case opUpdate:
		return tandemSwapFails(t)
	case opSelect:
		return tandemReadyArms(t) == 0
	case opSend, opReceive: // in a select with a default
		arm := scase{c: (*hchan)(unsafe.Pointer(t.object))}
		return !tandemArmReady(&arm, t.op == opSend) || t.op == opReceive && tandemExhausted(arm.c)
	}
	return false
}

// exhausted reports whether an arm receives from a channel that is closed and empty: nothing
// changes by that.
func (t *tandemG) exhausted(arm int) bool { return !t.sends(arm) && tandemExhausted(t.channel(arm)) }

func tandemExhausted(c *hchan) bool { return c != nil && c.closed != 0 && c.qcount == 0 }

// tandemSealedTurnIsOver counts an operation of a sealed package, and reports
// whether it is time for the others.
func tandemSealedTurnIsOver(t *tandemG) bool {
	f, patience := &tandem.fair, uint32(tandemSealedPatience)
	if t.vain > tandemSealedPatience {
		patience = tandemVainPatience
	}
	if f.sealed++; f.sealed <= patience {
		return false
	}
	f.streak = turnLength
	return true
}

// tandemBarren is how many transitions without any effect there are, for each
// goroutine that can go on, before time passes.
const tandemBarren = 128

// tandemOnlySpins reports whether all goroutines that can go on only look again and
// again at what does not change, until a timer changes it.
func tandemOnlySpins() bool {
	if tandem.barren < tandemBarren {
		return false
	}
	if !tandemAwaited(getg().m.p.ptr()) && tandemPolledTimer() == 0 && !tandemIsLate() &&
		!tandemPeersMayAct() {
		return false
	}
	enabled := 0
	for i := range tandem.nparked {
		t := &tandem.parked[i].ptr().tandem
		tandemCountChoices(t)
		if t.op == opExit || t.op == opAdvance || !tandemEnabled(t) {
			continue
		}
		if t.op != opResume && t.op != opGoOn && !tandemFruitless(t) {
			return false
		}
		enabled++
	}
	return tandem.barren >= tandemBarren*enabled
}

// tandemPolledTimer is the first time at which a timer fires that goroutines only
// look at, without waiting for it; 0: there is none. The runtime has not set those.
func tandemPolledTimer() (first int64) {
	for i := range tandem.nparked {
		t := &tandem.parked[i].ptr().tandem
		for arm := range t.ncases {
			if !t.waits() || t.channel(arm) == nil || t.channel(arm).timer == nil {
				continue
			}
			if when := t.channel(arm).timer.when; when > tandem.now && (first == 0 || when < first) {
				first = when
			}
		}
	}
	return first
}

// tandemTurnIsOver reports whether it is time for the others.
func tandemTurnIsOver() bool {
	f := &tandem.fair
	return f.streak >= turnLength || tandem.sh.roundLimit > 0 && f.rounds >= tandem.sh.roundLimit
}

// tandemCutRounds ends an execution that goes round a waiting loop though others
// could go on: the search wants it so, or all others sleep.
func tandemCutRounds(enabled int) {
	limit := tandem.sh.roundLimit
	if limit > 0 && tandem.fair.rounds > limit && enabled > 1 {
		tandemEnd(outcomeRounds)
	}
}

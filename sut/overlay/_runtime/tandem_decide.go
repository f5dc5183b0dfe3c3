package runtime

import (
	"internal/runtime/sys"
	"unsafe"
)

// tandemDecide picks among the enabled goroutines: as the schedule prescribes,
// and beyond its end in an order that stays with the running goroutine.
func tandemDecide(enabled int, exits *g) *g {
	sh := tandem.sh
	tandemFallAsleep()
	for tandem.position < sh.prefixLength {
		want := sh.prefix[tandem.position]
		goesOn := want.choice == choiceGoOn
		if goesOn {
			want.choice = 0
		}
		gp := tandemFollow(want, enabled)
		if gp == nil && sh.tentative != 0 && tandem.position >= sh.sleepFrom {
			sh.prefixLength = tandem.position
			break
		}
		if gp == nil && sh.lenient == 0 {
			sh.position = tandem.position
			tandemEnd(outcomeDiverged)
		}
		if gp == nil || !goesOn {
			tandem.position++
		}
		if gp != nil {
			return gp
		}
	}
	tandem.position++
	if enabled == 0 {
		return tandemAwake(exits)
	}
	tandemKeepBack()
	switch sh.guide.picks {
	case picksNext:
		return tandemAwake(nil)
	case picksByPriority:
		return tandemPriorityPick()
	}
	return tandemRandomPick()
}

// tandemFallAsleep has the sleep set count from its position on.
func tandemFallAsleep() {
	if sh := tandem.sh; tandem.position == sh.sleepFrom && !tandem.sleepers {
		tandem.sleepers = sh.sleepLength > 0
	}
}

// tandemFollow returns the goroutine of the prescribed action, nil if it cannot be
// taken here.
func tandemFollow(want sharedAction, enabled int) *g {
	for i := range tandem.nparked {
		gp := tandem.parked[i].ptr()
		t := &gp.tandem
		if t.id != want.goroutine {
			continue
		}
		if !tandemEnabled(t) || want.choice >= t.choices || (t.op == opExit && enabled > 0) {
			break
		}
		t.choice = want.choice
		return gp
	}
	return nil
}

// tandemAwake returns the first goroutine with an action that is not asleep,
// beginning with the one that runs; only, if it is not nil, is the sole candidate.
func tandemAwake(only *g) *g {
	if only != nil {
		if !tandemFirstAwake(&only.tandem) {
			tandemEnd(outcomeRedundant)
		}
		return only
	}
	from := tandemFrom()
	best, after := (*g)(nil), (*g)(nil)
	for i := range tandem.nparked {
		gp := tandem.parked[i].ptr()
		t := &gp.tandem
		if t.op == opExit || t.held || !tandemEnabled(t) || !tandemFirstAwake(t) {
			continue
		}
		if t.op == opAdvance && best != nil {
			continue // the clock comes last
		}
		if best == nil {
			best = gp
		}
		if after == nil && t.order >= from {
			after = gp
		}
	}
	if after != nil {
		return after
	}
	if best == nil {
		tandemEnd(outcomeRedundant)
	}
	return best
}

// tandemFirstAwake sets the goroutine's choice to its first that is not asleep.
func tandemFirstAwake(t *tandemG) bool {
	for c := uint32(0); c < t.choices; c++ {
		if !tandemAsleep(t.id, c) {
			t.choice = c
			return true
		}
	}
	return false
}

func tandemAsleep(id uint64, choice uint32) bool {
	if !tandem.sleepers {
		return false
	}
	sh := tandem.sh
	for i := range sh.sleepLength {
		s := &sh.sleeper[i]
		if s.awake == 0 && s.goroutine == id && s.choice == choice {
			return true
		}
	}
	return false
}

// tandemWakeSleepers takes out of the sleep set what depends on the transition
// that has just ended.
func tandemWakeSleepers() {
	if !tandem.sleepers {
		return
	}
	sh := tandem.sh
	for i := range sh.sleepLength {
		s := &sh.sleeper[i]
		if s.awake == 0 && tandemDependsOnLast(s) {
			s.awake = 1
		}
	}
}

func tandemDependsOnLast(s *sharedSleeper) bool {
	sh := tandem.sh
	for i := tandem.step; i < sh.records; i++ {
		r := &sh.record[i]
		switch r.kind {
		case recordStep:
			if r.a == s.goroutine {
				return true
			}
		case recordTick:
			if r.number == 0 {
				return true
			}
		case recordAccess:
			for j := s.first; j < s.first+s.count; j++ {
				a := &sh.sleepAccesses[j]
				if a.object == r.a && tandemConflict(a, r) {
					return true
				}
			}
		}
	}
	return false
}

// tandemConflict reports whether the access of a sleeper and one that has been made
// to the same object depend on each other. It is the relation of package explore.
func tandemConflict(a *sharedAccess, r *record) bool {
	if a.kind != uint32(r.flag) || r.flag == accessWrite {
		return true
	}
	return r.flag == accessCommute && int32(r.b)+int32(r.number)+a.delta < 0
}

// tandemChoose is a choice of the program among n values.
func tandemChoose(n uint32) uint32 {
	gp := getg()
	if !tandem.on || gp.tandem.id == 0 || n <= 1 {
		return 0
	}
	t := &gp.tandem
	t.op, t.object, t.state, t.choices = opChoose, 0, 0, n
	t.caller, t.frame = sys.GetCallerPC(), getcallerfp()
	tandemArrive()
	return t.choice
}

// tandemCountChoices sets the number of alternatives of a pending operation whose
// alternatives change. A channel operation that waits has none until it is enabled.
func tandemCountChoices(t *tandemG) {
	switch {
	case t.waits():
		tandemCountAlternatives(t)
	case t.op == opSelect:
		tandemCountArms(t)
	case t.op == opConnect || t.op == opBind:
		tandemCountBehaviours(t)
	case t.op == opFault:
		tandemCountFaults(t)
	case t.op == opShort:
		tandemCountShort(t)
	case t.op == opAdd:
		tandemCountLate(t)
	case t.op == opSignalArrive:
		tandemCountArrivals(t)
	case t.op == opPeerTimer:
		tandemCountPeerTimers(t)
	}
}

// tandemCountArms sets the number of alternatives of a pending select.
func tandemCountArms(t *tandemG) {
	t.choices = max(tandemReadyArms(t), 1)
	t.choice = 0
}

func tandemReadyArms(t *tandemG) uint32 {
	n := uint32(0)
	cases := tandemCases(t)
	for i := range cases {
		if tandemArmReady(&cases[i], i < t.nsends) {
			n++
		}
	}
	return n
}

func tandemCases(t *tandemG) []scase {
	return unsafe.Slice((*scase)(unsafe.Pointer(t.cases)), t.ncases)
}

// tandemAccessArms records that something happens to all channels of an operation
// of a goroutine that blocks in them.
func tandemAccessArms(t *tandemG) {
	for arm := range t.ncases {
		if c := t.channel(arm); c != nil {
			tandemAccessChannel(t, c, accessWrite)
		}
	}
}

func tandemArmReady(c *scase, send bool) bool {
	ch := c.c
	switch {
	case ch == nil:
		return false
	case ch.closed != 0:
		return true
	case send:
		return ch.recvq.first != nil || ch.qcount < ch.dataqsiz
	}
	return ch.sendq.first != nil || ch.qcount > 0 || tandemTimerDue(ch.timer)
}

// tandemTimerDue reports whether a receive from the timer's channel would run
// it first: nobody waits for it, so that it is not in the heap. The timers of
// package synctest go by the clock of their bubble.
//
//go:nosplit
func tandemTimerDue(t *timer) bool {
	if t == nil {
		return false
	}
	now := tandem.now
	if t.isFake {
		now = t.hchan().bubble.now
	}
	return t.astate.Load()&timerHeaped == 0 && t.when > 0 && t.when <= now
}

// tandemReadyFirst puts the chosen ready arm first.
func tandemReadyFirst(scases []scase, pollorder []uint16, nsends int) {
	chosen := getg().tandem.choice
	for i := range scases {
		if !tandemArmReady(&scases[i], i < nsends) {
			continue
		}
		if chosen > 0 {
			chosen--
			continue
		}
		for j, arm := range pollorder {
			if int(arm) == i {
				pollorder[0], pollorder[j] = pollorder[j], pollorder[0]
				return
			}
		}
	}
}

func tandemControlled() bool { return tandem.on && getg().tandem.id != 0 }

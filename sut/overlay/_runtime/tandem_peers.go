package runtime

import (
	"internal/runtime/sys"
	"unsafe"
)

// Timers of peers whose clocks are virtual, on request: a goroutine of its own, which begins when
// the peers first hear of the program, has their time pass until the next one is due. That is an
// input to them, at any place that the search chooses. Before it, whether it is to happen before
// the program's own clock advances is a choice without accesses, so that its alternatives make the
// same ones. Where nothing else can happen, it happens.
var tandemPeerTimers struct {
	pass    func(most uint64) // gives the input
	passed  uint64            // how often it was given
	chances uint64            // how often it was chosen whether to
	quiet   bool              // not before the program's clock advances
	forced  bool              // nothing else can happen
}

// tandemPeersHear is called when the peers hear of the program.
//
//go:linkname tandemPeersHear syscall.tandemPeersHear
func tandemPeersHear(pass func(most uint64)) {
	if tandem.sh.environment.peerTime != 0 {
		tandemPeerTime.heard = true
	}
	if tandem.sh.environment.peerTimers == 0 || tandemPeerTimers.pass != nil {
		return
	}
	tandemPeerTimers.pass = pass
	parent, pc := getg(), sys.GetCallerPC()
	systemstack(func() { tandemStartSource(tandemPeerTimerSource, peerTimerSource, parent, pc) })
}

func tandemPeerTimerSource() {
	s := &tandemPeerTimers
	for s.passed < tandem.sh.environment.peerTimers {
		tandemPeerTimerPoint(opPeerTimer, uintptr(unsafe.Pointer(s)), uintptr(unsafe.Pointer(s)))
		if !s.forced {
			s.chances++
			if s.quiet = getg().tandem.choice == 0; s.quiet {
				continue
			}
		}
		s.forced = false
		tandemPeerTimerPoint(opPass, uintptr(groupObject), 0)
		s.pass(passOnce)
		s.passed++
	}
}

func tandemPeerTimerPoint(op uint8, object, state uintptr) {
	t := &getg().tandem
	t.op, t.object, t.state, t.choices = op, object, state, 1
	tandemArrive()
}

// tandemPeerTimersReady is tandemReady for the choice.
func tandemPeerTimersReady() uint8 {
	s := &tandemPeerTimers
	if s.forced || !s.quiet && s.chances < tandem.sh.environment.peerTimers {
		return readyReader
	}
	return 0
}

// tandemCountPeerTimers sets the alternatives of the choice: not now, and now.
func tandemCountPeerTimers(t *tandemG) {
	if t.choices, t.choice = 2, 0; tandemPeerTimers.forced {
		t.choices = 1
	}
}

// tandemForcePeerTimers has the next timer of the peers be due since nothing else can happen, if it
// may.
func tandemForcePeerTimers() bool {
	s := &tandemPeerTimers
	s.forced = s.pass != nil && tandem.sh.environment.peerTime == 0 &&
		s.passed < tandem.sh.environment.peerTimers
	return s.forced
}

// Time passes for the peers before the program's clock advances, and before a deadlock is one: both
// sides' timers are due on one line of time. Where nothing else can happen, a goroutine of its own,
// which begins then, asks the checker how far time goes: to a timer of the peers that makes them do
// something, or to the program's next. The record of a tick before it makes it come after
// everything else.
var tandemPeerTime tandemPeerTimes

type tandemPeerTimes struct {
	pass  func(most uint64) // gives the input
	heard bool              // the peers have heard of the program
	g     guintptr          // the goroutine, once it has begun
	most  uint64            // ns until the program's next timer; 0: there is none
	asked bool              // nothing comes from the peers before the program's clock advances
	idle  bool              // nor after that
	// near: the program's next timer is due so soon that it is due when time has passed, and there
	// is no tick for it.
	near bool
	// With the program's next timer one of the peers is due: which is first is a choice.
	tie bool
}

// tandemPeersMayAct reports whether the peers may do something if time passes.
func tandemPeersMayAct() bool {
	s := &tandemPeerTime
	return s.mayGoOn() && !s.asked
}

// mayGoOn reports whether the peers may ever do something if time passes. Several programs have one
// clock, so others go on even if they have not heard of this one.
func (s *tandemPeerTimes) mayGoOn() bool {
	return (s.heard || s.pass != nil && tandem.sh.environment.peerTime != 0 && tandemTellsTaken()) && !s.idle
}

// tandemSetPass is called when package syscall is there.
//
//go:linkname tandemSetPass syscall.tandemSetPass
func tandemSetPass(pass func(most uint64)) { tandemPeerTime.pass = pass }

// tandemPeersTurn has time pass for the peers, at most until the program's next timer is due, where
// it is not known yet that they do nothing before.
func tandemPeersTurn(pp *p, when int64) bool {
	if !tandemPeersMayAct() || when != 0 && when <= tandem.now {
		return false
	}
	most := uint64(0)
	if when != 0 {
		most = uint64(max(when-tandem.now, passOnce+1))
	}
	tandemPeerTime.near = when != 0 && when-tandem.now <= passOnce
	tandemCountStep()
	tandem.step = tandem.sh.records
	r := record{kind: recordTick, op: opTick, number: tickAsk, a: uint64(tandem.now - tandemEpoch)}
	if tandem.barren > 0 || tandem.stuck {
		r.number = tickAskForced
	}
	tandemRecord(r)
	tandem.current, tandem.barren, tandem.fair = 0, 0, tandemFair{}
	tandem.quiet, tandem.stuck = tandemQuiet{}, false
	tandemStartPass(pp, most)
	return true
}

// tandemStartPass has the goroutine go on, or begin.
func tandemStartPass(pp *p, most uint64) {
	s := &tandemPeerTime
	s.most = most
	if gp := s.g.ptr(); gp != nil {
		goready(gp, 1)
		return
	}
	tandemStartSource(tandemPeerTimeSource, peerTimeSource, getg(), sys.GetCallerPC())
}

func tandemPeerTimeSource() {
	s := &tandemPeerTime
	s.g.set(getg())
	for {
		tandemPeerTimerPoint(opPass, uintptr(groupObject), 0)
		s.pass(s.most)
		if s.tie {
			tandemPeerTimerPoint(opPeerTimer, uintptr(unsafe.Pointer(&tandemPeerTimers)), 0)
			if s.tie = getg().tandem.choice == 0; !s.tie {
				tandemPeerTimerPoint(opPass, uintptr(groupObject), 0)
				s.pass(passOnce)
			}
		}
		gopark(nil, nil, waitReasonZero, traceBlockGeneric, 1)
	}
}

// tandemTimePassed is called when the checker has answered how far time has gone.
//
//go:linkname tandemTimePassed syscall.tandemTimePassed
func tandemTimePassed(most uint64) {
	s, h := &tandemPeerTime, &tandem.sh.exchange
	s.asked, s.idle, s.tie = h.shows == 0, h.idle != 0, h.tie != 0
	if h.shows != 0 {
		tandemDisturb()
	}
	passed := h.passed
	if most > passOnce && passed <= most { // else the program has not run meanwhile, and its timer is late
		passed = min(passed, most-1) // the program's timer fires with a tick of its own
	}
	if most == passOnce || passed == 0 {
		return
	}
	tandem.now += int64(passed)
	if s.near { // the timer fires now, and nothing is known of the time after that
		s.asked = false
	}
	tandemRecord(record{kind: recordTick, op: opPass, number: tickWithin,
		a: uint64(tandem.now - tandemEpoch)})
}

// tandemPeersHeard is called with every other input: it may set timers of the peers.
func tandemPeersHeard() { tandemPeerTime.asked, tandemPeerTime.idle = false, false }

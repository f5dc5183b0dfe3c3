package runtime

import (
	"internal/runtime/sys"
	"unsafe"
)

// Timers of peers whose clocks are virtual, on request: a goroutine of its own, which begins when the peers
// first hear of the program, has their time pass until the next one is due. That is an input to them, at any place that
// the search chooses. Before it, whether it is to happen before the program's own clock advances is a
// choice without accesses, so that its alternatives make the same ones. Where nothing else can happen, it happens.
var tandemPeerTimers struct {
	pass    func() // gives the input
	passed  uint64 // how often it was given
	chances uint64 // how often it was chosen whether to
	quiet   bool   // not before the program's clock advances
	forced  bool   // nothing else can happen
}

// tandemPeersHear is called when the peers hear of the program.
//
//go:linkname tandemPeersHear syscall.tandemPeersHear
func tandemPeersHear(pass func()) {
	if tandem.sh.world.peerTimers == 0 || tandemPeerTimers.pass != nil {
		return
	}
	tandemPeerTimers.pass = pass
	parent, pc := getg(), sys.GetCallerPC()
	systemstack(func() { tandemStartSource(tandemPeerTimerSource, peerTimerSource, parent, pc) })
}

func tandemPeerTimerSource() {
	s := &tandemPeerTimers
	for s.passed < tandem.sh.world.peerTimers {
		tandemPeerTimerPoint(opPeerTimer, uintptr(unsafe.Pointer(s)), uintptr(unsafe.Pointer(s)))
		if !s.forced {
			s.chances++
			if s.quiet = getg().tandem.choice == 0; s.quiet {
				continue
			}
		}
		s.forced = false
		tandemPeerTimerPoint(opPass, uintptr(groupObject), 0)
		s.pass()
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
	if s.forced || !s.quiet && s.chances < tandem.sh.world.peerTimers {
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

// tandemForcePeerTimers has the next timer of the peers be due since nothing else can happen, if it may.
func tandemForcePeerTimers() bool {
	s := &tandemPeerTimers
	s.forced = s.pass != nil && s.passed < tandem.sh.world.peerTimers
	return s.forced
}

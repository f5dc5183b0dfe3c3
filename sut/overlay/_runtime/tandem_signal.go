package runtime

import (
	"internal/runtime/sys"
	"unsafe"
)

// Signals. The kernel delivers none: what the program sends to itself, and what
// the checker has arrive, goes through here to the goroutine of os/signal that
// hands signals to channels, or does what a signal does by default.

// tandemSignals is what has happened to signals beside what sigqueue.go keeps.
var tandemSignals struct {
	pending   uint64   // sent and not yet received, a bit each
	arrived   uint64   // how many the checker had arrive
	postponed uint64   // how many times it had none
	quiet     bool     // none arrives until time has passed
	receiver  guintptr // blocked since before main
}

// tandemSignalPatience is how many times the arrival of a signal may be put off until
// time has passed.
const tandemSignalPatience = 2

// tandemSignalPoint is the point of an operation on the signals.
func tandemSignalPoint(op uint8) {
	gp := getg()
	if !tandem.on || gp.tandem.id == 0 {
		return
	}
	t := &gp.tandem
	t.op, t.object, t.state, t.choices = op, uintptr(signalObject), uintptr(unsafe.Pointer(&tandemSignals)), 1
	t.caller, t.frame = sys.GetCallerPC(), getcallerfp()
	tandemArrive()
}

// tandemSignalReady says whether a signal can be received, and one may arrive.
func tandemSignalReady() (ready uint8) {
	if tandemSignals.pending != 0 {
		ready = readyFree
	}
	if tandemArrivals() > 0 {
		ready |= readyReader
	}
	return ready
}

// tandemArrivals is how many of the signals that were asked for can arrive now:
// those that the program handles.
func tandemArrivals() (n uint32) {
	env, s := &tandem.sh.environment, &tandemSignals
	if s.arrived >= env.signalLimit || s.quiet {
		return 0
	}
	for _, number := range env.signal[:env.signals] {
		if tandemSignalHandled(number) {
			n++
		}
	}
	return n
}

func tandemSignalHandled(s uint32) bool { return sig.wanted[s/32]&(1<<(s&31)) != 0 }

// tandemCountArrivals sets the alternatives of the arrival: each of the signals,
// and none for now.
func tandemCountArrivals(t *tandemG) {
	t.choices, t.choice = tandemArrivals()+1, 0
}

// tandemStartSignals starts the goroutine that stands for the senders of signals.
func tandemStartSignals(main *g) {
	if gp := tandemSignals.receiver.ptr(); gp != nil {
		goready(gp, 1)
	}
	if tandem.sh.environment.signals == 0 {
		return
	}
	f := tandemSignalSource
	newg := newproc1(*(**funcval)(unsafe.Pointer(&f)), main, sys.GetCallerPC(), false, waitReasonZero)
	tandemAdopt(newg, signalSource)
	newg.tandem.op, newg.tandem.background = opStart, true
	tandemRecord(record{kind: recordSpawn, op: opStart, a: signalSource, b: uint64(newg.startpc)})
	runqput(getg().m.p.ptr(), newg, false)
}

func tandemSignalSource() {
	for {
		tandemSignalPoint(opSignalArrive)
		env, s := &tandem.sh.environment, &tandemSignals
		chosen, n := getg().tandem.choice, uint32(0)
		for _, number := range env.signal[:env.signals] {
			if !tandemSignalHandled(number) {
				continue
			}
			if n == chosen {
				s.arrived++
				s.pending |= 1 << number
				tandemRecord(record{kind: recordSignal, op: opSignalArrive, a: uint64(number)})
			}
			n++
		}
		if chosen >= n {
			tandemPostpone()
		}
	}
}

// tandemPostpone has no signal arrive before time passes, or at all.
func tandemPostpone() {
	tandemRecord(record{kind: recordSignal, op: opSignalArrive})
	s := &tandemSignals
	s.quiet = true
	if s.postponed++; s.postponed > tandemSignalPatience {
		s.arrived = tandem.sh.environment.signalLimit
	}
}

// tandemSignalReceive is how os/signal waits for the next signal.
func tandemSignalReceive() uint32 {
	for !tandem.on || getg().tandem.id == 0 {
		tandemSignals.receiver.set(getg())
		gopark(nil, nil, waitReasonZero, traceBlockForever, 1)
	}
	tandemSignalPoint(opSignalReceive)
	for s := uint32(0); ; s++ {
		if tandemSignals.pending&(1<<s) != 0 {
			tandemSignals.pending &^= 1 << s
			return s
		}
	}
}

// tandemSignalSet has a signal handled, ignored, or do what it does by default.
func tandemSignalSet(s uint32, handled, ignored bool) {
	if s >= 64 {
		return
	}
	tandemSignalPoint(opSignalSet)
	bit := uint32(1) << (s & 31)
	sig.wanted[s/32] &^= bit
	if handled {
		sig.wanted[s/32] |= bit
		sig.ignored[s/32] &^= bit
	}
	if ignored {
		sig.ignored[s/32] |= bit
	}
}

// tandemSignalSend sends a signal to the program itself.
//
//go:linkname tandemSignalSend syscall.tandemSignalSend
func tandemSignalSend(s uint32) {
	tandemSignalPoint(opSignalSend)
	flags := sigtable[s].flags
	switch {
	case s == _SIGSTOP || s == _SIGTSTP || s == _SIGTTIN || s == _SIGTTOU:
		if !tandemSignalHandled(s) {
			tandemRefuse("stopping the program by a signal")
		}
		tandemSignals.pending |= 1 << s
	case s == _SIGKILL:
		tandemEndBySignal(s)
	case tandemSignalHandled(s):
		tandemSignals.pending |= 1 << s
	case signal_ignored(s) || flags&_SigIgn != 0:
	case flags&(_SigKill|_SigThrow) != 0:
		tandemEndBySignal(s)
	}
}

// tandemEndBySignal ends the execution as the default action of a signal ends a process.
func tandemEndBySignal(s uint32) {
	tandemMessage(sigtable[s].name)
	tandemNoteStack()
	tandem.sh.exitCode = int32(128 + s)
	tandemEnd(outcomeExit)
}

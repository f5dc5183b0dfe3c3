package runtime

import (
	"internal/runtime/sys"
	"unsafe"
)

// Datagrams that the network holds back arrive at the latest when nothing else can happen, not even
// that time passes. A goroutine of its own waits for that, as for a timer that is due after all
// others. It begins with the first such datagram.
var tandemLate struct {
	arrive func()   // has all arrive that is held back
	held   int      // datagrams
	waits  guintptr // the goroutine, where it waits
}

// tandemHold is called when the network holds one more datagram back.
//
//go:linkname tandemHold syscall.tandemHold
func tandemHold(arrive func()) {
	s := &tandemLate
	// Who is first starts the goroutine, and is served first.
	tandemTouchName(opFault, networkSource, accessWrite)
	if s.held++; s.arrive != nil {
		return
	}
	s.arrive = arrive
	parent, pc := getg(), sys.GetCallerPC()
	systemstack(func() { tandemStartSource(tandemLateSource, networkSource, parent, pc) })
}

// tandemLetGo is called when so many datagrams arrive that were held back, or never will.
//
//go:linkname tandemLetGo syscall.tandemLetGo
func tandemLetGo(n int) { tandemLate.held -= n }

// tandemStartSource starts a goroutine that stands for something outside the program.
func tandemStartSource(f func(), id uint64, parent *g, pc uintptr) {
	newg := newproc1(*(**funcval)(unsafe.Pointer(&f)), parent, pc, false, waitReasonZero)
	tandemAdopt(newg, id)
	newg.tandem.op, newg.tandem.background = opStart, true
	tandemRecord(record{kind: recordSpawn, op: opStart, a: id, b: uint64(newg.startpc)})
	runqput(getg().m.p.ptr(), newg, false)
}

func tandemLateSource() {
	for s := &tandemLate; ; {
		s.waits.set(getg())
		gopark(nil, nil, waitReasonZero, traceBlockForever, 1)
		s.arrive()
	}
}

// tandemIsLate reports whether the network holds something back that can arrive.
func tandemIsLate() bool { return tandemLate.held > 0 && tandemLate.waits != 0 }

// tandemArriveLate has what the network holds back arrive, in a transition of its own.
func tandemArriveLate() {
	gp := tandemLate.waits.ptr()
	tandemLate.waits = 0
	goready(gp, 1)
}

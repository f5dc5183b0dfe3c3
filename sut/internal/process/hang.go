package process

import (
	"encoding/binary"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys/procfs"
	"github.com/tandem-mc/tandem/sut/internal/abi"
	"github.com/tandem-mc/tandem/sut/internal/toolchain"
)

// watchdog ends a process that executes for too long without a visible operation. It runs in a
// goroutine of its own, beside that which drives the process, so its state is atomic.
type watchdog struct {
	armed atomic.Int64 // when the process was last heard of while it executes, ns; 0: it does not
	hung  atomic.Pointer[hangPosition]
	stop  chan struct{} // closed when the process is
}

// Arm begins the time in which the process is to be heard of again. It is called whenever the
// process goes on, so it does no more than to read the clock.
func (d *watchdog) Arm() { d.armed.Store(time.Now().UnixNano()) }

// Disarm says that the process need not be heard of.
func (d *watchdog) Disarm() { d.armed.Store(0) }

// watch ends the process when its time is over, and notes where it was. Time in which it waits for
// a processor does not count: on a busy machine that is nobody's fault. It looks eight times within
// the limit, so a process may run an eighth longer. The position is noted first: whoever finds the
// process gone asks for it.
func (p *Process) watch(stop <-chan struct{}) {
	limit := p.options.HangTimeout
	var starved starved
	var reader procfs.Reader
	tick := time.NewTicker(limit/8 + time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			since := p.armed.Load()
			if since == 0 {
				continue
			}
			waited := starved.since(since, waitedOf(&reader, p.Pid()))
			if time.Now().UnixNano()-since-waited > int64(limit) {
				at := hangPositionOf(p.program, p.Pid(), p.openCall())
				p.hung.Store(&at)
				p.Kill()
				return
			}
		}
	}
}

// openCall is the program counter of the last operation's call from a package where goroutines may
// be preempted; 0: not known. The process may be writing this memory at the same time, and what is
// read may be of the operation before: it is for a message only. The count is checked, since the
// program could have spoilt it.
func (p *Process) openCall() uint64 {
	p.mapped.Lock()
	defer p.mapped.Unlock()
	if s := p.Shared; s != nil && s.Records > 0 && s.Records <= abi.MaxRecords {
		return s.Record[s.Records-1].Open
	}
	return 0
}

// hangPosition is where a program was that had to be ended. Either may be unknown.
type hangPosition struct {
	// The innermost call in a package where goroutines may be preempted; zero if there is none.
	own    toolchain.Position
	inside toolchain.Position // the innermost call outside of the runtime
}

// String has a line for each place.
func (h hangPosition) String() string {
	text := ""
	for _, at := range []toolchain.Position{h.own, h.inside} {
		if at != (toolchain.Position{}) && (text == "" || at != h.own) {
			text += "\n\tat " + at.String() + ", in " + at.Name()
		}
	}
	return text
}

// hangPositionOf looks at a process of a program and says where in the source it is right now. open
// is the program counter of the call of a sealed package that the last operation was in, if there
// was one: such a call has another return address while it is under way. Without a call in a
// package of the user it is the innermost one that is not of the runtime.
func hangPositionOf(p *toolchain.Program, pid int, open uint64) (h hangPosition) {
	for _, pc := range callsOf(p, pid) {
		if pc == p.ReturnStub() {
			pc = open
		}
		at, ok := p.Position(pc)
		if !ok || ofRuntime(at.Function) {
			continue
		}
		if h.inside == (toolchain.Position{}) {
			h.inside = at
		}
		if p.IsOwn(at) {
			h.own = at
			return h
		}
	}
	return h
}

// ofRuntime reports whether a function is of the runtime, or of what was added to the program to
// control it.
func ofRuntime(function string) bool {
	return strings.HasPrefix(function, "runtime.") || strings.HasPrefix(function, "internal/runtime/") ||
		strings.HasPrefix(function, "gosave_")
}

// callsOf lists the program counters of the calls that a process of a program is in, the innermost
// first, as return addresses; nil if it cannot be looked at. Calls are found by the chain of frame
// pointers, which Go programs keep. The process stays stopped only while its stack is read.
func callsOf(p *toolchain.Program, pid int) []uint64 {
	const most = 1000
	runtime.LockOSThread() // ptrace is a matter between threads
	defer runtime.UnlockOSThread()
	if err := unix.PtraceSeize(pid); err != nil {
		return nil
	}
	defer unix.PtraceDetach(pid)
	if err := unix.PtraceInterrupt(pid); err != nil {
		return nil
	}
	var status unix.WaitStatus
	// Only a process that has stopped can be looked at; it may have ended before.
	if _, err := unix.Wait4(pid, &status, unix.WALL, nil); err != nil || !status.Stopped() {
		return nil
	}
	var registers unix.PtraceRegs
	if err := unix.PtraceGetRegs(pid, &registers); err != nil {
		return nil
	}
	list := []uint64{registers.Rip + 1} // not a return address
	at, _ := p.Position(list[0])
	word := func(at uint64) uint64 {
		var b [8]byte
		if n, err := unix.PtracePeekData(pid, uintptr(at), b[:]); err != nil || n != len(b) {
			return 0
		}
		return binary.LittleEndian.Uint64(b[:])
	}
	if ofRuntime(at.Function) { // most of what it calls so often has no frame of its own
		list = append(list, word(registers.Rsp))
	}
	// A spoilt stack may have a circle of frames: hence the bound.
	for frame := registers.Rbp; frame != 0 && len(list) < most; {
		list = append(list, word(frame+8))
		frame = word(frame)
	}
	return list
}

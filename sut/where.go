package sut

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// where looks at a process of the program and says where in the source it is
// right now; the zero Position if that cannot be found out.
func (p *Program) where(pid int) Position {
	runtime.LockOSThread() // ptrace is a matter between threads
	defer runtime.UnlockOSThread()
	if err := unix.PtraceSeize(pid); err != nil {
		return Position{}
	}
	defer unix.PtraceDetach(pid)
	if err := unix.PtraceInterrupt(pid); err != nil {
		return Position{}
	}
	var status unix.WaitStatus
	if _, err := unix.Wait4(pid, &status, unix.WALL, nil); err != nil || !status.Stopped() {
		return Position{}
	}
	var registers unix.PtraceRegs
	if err := unix.PtraceGetRegs(pid, &registers); err != nil {
		return Position{}
	}
	at, _ := p.Position(registers.Rip + 1) // not a return address
	return at
}

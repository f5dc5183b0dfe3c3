package peers

import (
	"bytes"
	"fmt"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The shim's signal, as shim/waits.c has it: with it come the nanoseconds that shall pass.
const wakeSignal = 64

// Pass lets time pass on the clocks of those peers whose clock is virtual. Those that wait no longer
// than d go on: wait until the group is quiescent. It must be quiescent now. With 0 they only note
// in the page how long they wait, and nothing ends that is overdue: see Page.Next.
func (w *Watch) Pass(d time.Duration) error {
	last := -1
	return w.walk(func(t task) error {
		if t.pid == last || t.peer >= 0 && !w.peers[t.peer].VirtualClock {
			return nil
		}
		last = t.pid
		if has, err := w.hasClock(t.pid); err != nil || !has {
			return orAwake(err)
		}
		if err := wake(t.pid, d); err != nil && err != unix.ESRCH {
			return fmt.Errorf("let time pass for process %d of %s: %w", t.pid, w.nameOf(t.peer), err)
		}
		return nil
	})
}

// hasClock reports whether the process handles the shim's signal, which would kill another one.
// It is an error if it blocks it, past the shim: it would wait for ever.
func (w *Watch) hasClock(pid int) (bool, error) {
	b, err := w.proc.Read(strconv.Itoa(pid), "status")
	if err != nil {
		return false, err
	}
	has := func(set string) (bool, error) {
		for line := range bytes.Lines(b) {
			if mask, ok := bytes.CutPrefix(line, []byte(set)); ok {
				signals, err := strconv.ParseUint(string(bytes.TrimSpace(mask)), 16, 64)
				return signals>>(wakeSignal-1)&1 == 1, err
			}
		}
		return false, nil
	}
	caught, err := has("SigCgt:")
	if err != nil || !caught {
		return false, err
	}
	blocked, err := has("SigBlk:")
	if err == nil && blocked {
		err = fmt.Errorf("process %d blocks signal %d by a system call of its own, and no time can pass for it: "+
			"give its peer the clock of the machine (clock: machine)", pid, wakeSignal)
	}
	return !blocked, err
}

// wake sends the signal, with a duration as its value, to the first thread of a process. The
// thread is runnable when it returns.
func wake(pid int, d time.Duration) error {
	const queued = -1 // SI_QUEUE
	info := struct {  // siginfo_t
		number, errno, code, _, pid, user int32
		value                             uint64
		_                                 [96]byte
	}{number: wakeSignal, code: queued, value: uint64(d)}
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_TGSIGQUEUEINFO, uintptr(pid), uintptr(pid), wakeSignal, uintptr(unsafe.Pointer(&info)), 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

package shim

import (
	"bytes"
	"fmt"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// wakeSignal is the signal by which time passes on the clock of a process, as src/wake.c has it.
const wakeSignal = 64

// HasClock reports whether a process has a virtual clock: whether it handles the signal of Wake,
// which would kill any other process. The status is its /proc/PID/status. It is an error if the
// process blocks the signal, past the shim: it would wait for ever.
func HasClock(status []byte) (bool, error) {
	caught, err := hasSignal(status, "SigCgt:")
	if err != nil || !caught {
		return false, err
	}
	blocked, err := hasSignal(status, "SigBlk:")
	if err == nil && blocked {
		err = fmt.Errorf("it blocks signal %d by a system call of its own, and no time can pass for it: "+
			"give its peer the clock of the machine (clock: machine)", wakeSignal)
	}
	return !blocked, err
}

// hasSignal looks for wakeSignal in a set of signals of a process.
func hasSignal(status []byte, set string) (bool, error) {
	for line := range bytes.Lines(status) {
		if mask, ok := bytes.CutPrefix(line, []byte(set)); ok {
			signals, err := strconv.ParseUint(string(bytes.TrimSpace(mask)), 16, 64)
			return signals>>(wakeSignal-1)&1 == 1, err
		}
	}
	return false, nil
}

// Wake lets time pass on the clock of a process that has a virtual one (HasClock): its first
// thread gets a signal, and is runnable when Wake returns. With 0 the process only notes how long
// it waits: see Counters.Next. An ESRCH says that the process has ended.
func Wake(pid int, d time.Duration) error {
	const queued = -1 // SI_QUEUE
	info := struct {  // siginfo_t
		number, errno, code, _, pid, user int32
		value                             uint64
		_                                 [96]byte
	}{number: wakeSignal, code: queued, value: uint64(d)}
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_TGSIGQUEUEINFO, uintptr(pid), uintptr(pid), wakeSignal,
		uintptr(unsafe.Pointer(&info)), 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

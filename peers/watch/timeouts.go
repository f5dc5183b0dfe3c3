package watch

import (
	"encoding/binary"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// TimesOut tells whether a system call that a thread of a process waits in ends by itself.
func TimesOut(pid, number int, arguments [6]uint64) bool {
	_, timed := timeOut(pid, number, arguments)
	return timed
}

// timeOut is how long it is until a system call ends by itself, when it began or, of one with a
// deadline, from now on.
func timeOut(pid, number int, arguments [6]uint64) (remaining time.Duration, timed bool) {
	call := timedCalls[number]
	value := arguments[call.timeout]
	switch {
	case call.kind == untimed:
		return 0, false
	case call.kind == milliseconds:
		ms := int32(value)
		return time.Duration(max(ms, 0)) * time.Millisecond, ms >= 0
	case value == 0 || number == unix.SYS_FUTEX && !futexWaits(arguments[1]):
		return 0, false
	}
	d, ok := readTime(pid, value, call.kind == microseconds)
	if !ok {
		return 0, false
	}
	clock, absolute := deadlineClock(number, arguments)
	switch {
	case absolute:
		d -= clockOf(pid, clock)
	}
	return max(d, 0), true
}

// goIdles is how long the thread of Go's runtime that watches the others (sysmon) sleeps while
// there is nothing to watch: half of forcegcperiod in runtime/proc.go. No timer of a program is
// waited for like that, and nothing comes of it.
const goIdles = time.Minute

// readTime reads a timespec or timeval of a process. What is too long is as long as can be.
func readTime(pid int, at uint64, micro bool) (time.Duration, bool) {
	var words [16]byte
	local := []unix.Iovec{{Base: &words[0], Len: uint64(len(words))}}
	remote := []unix.RemoteIovec{{Base: uintptr(at), Len: len(words)}}
	if n, err := unix.ProcessVMReadv(pid, local, remote, 0); err != nil || n != len(words) {
		return 0, false
	}
	seconds := int64(binary.NativeEndian.Uint64(words[:]))
	fraction := time.Duration(binary.NativeEndian.Uint64(words[8:]))
	if micro {
		fraction *= time.Microsecond
	}
	const most = int64(1<<62) / int64(time.Second)
	return time.Duration(min(max(seconds, 0), most))*time.Second + fraction, true
}

// Futex operations that wait, with and without a point of time, and their flags.
const (
	futexWait, futexLockPI, futexWaitBitset, futexWaitRequeue, futexLockPI2 = 0, 6, 9, 11, 13
	futexCommand, futexRealtime                                             = 127, 256
)

func futexWaits(operation uint64) bool {
	switch operation & futexCommand {
	case futexWait, futexLockPI, futexWaitBitset, futexWaitRequeue, futexLockPI2:
		return true
	}
	return false
}

// deadlineClock is the clock of a call whose time-out is a point of time.
func deadlineClock(number int, arguments [6]uint64) (clock int32, absolute bool) {
	switch number {
	case unix.SYS_FUTEX:
		operation := arguments[1]
		if operation&futexRealtime != 0 || operation&futexCommand == futexLockPI {
			clock = unix.CLOCK_REALTIME
		} else {
			clock = unix.CLOCK_MONOTONIC
		}
		return clock, operation&futexCommand != futexWait
	case unix.SYS_CLOCK_NANOSLEEP:
		return int32(arguments[0]), arguments[1]&1 != 0 // TIMER_ABSTIME
	}
	return 0, false
}

// clockOf is what a clock shows to a process, in its time namespace.
func clockOf(pid int, clock int32) time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(clock, &t); err != nil {
		return 0
	}
	now := time.Duration(t.Nano())
	name := map[int32]string{unix.CLOCK_MONOTONIC: "monotonic", unix.CLOCK_BOOTTIME: "boottime"}[clock]
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/timens_offsets", pid))
	if name == "" || err != nil {
		return now
	}
	for line := range strings.Lines(string(text)) {
		var which string
		var s, ns int64
		if n, _ := fmt.Sscan(line, &which, &s, &ns); n == 3 && which == name {
			now += time.Duration(s)*time.Second + time.Duration(ns)
		}
	}
	return now
}

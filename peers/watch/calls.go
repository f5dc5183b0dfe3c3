package watch

import (
	"encoding/binary"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// timedCalls are the system calls that servers mostly wait in.
var timedCalls = map[int]timedCall{
	unix.SYS_POLL:            {"poll", 2, milliseconds},
	unix.SYS_PPOLL:           {"ppoll", 2, nanoseconds},
	unix.SYS_SELECT:          {"select", 4, microseconds},
	unix.SYS_PSELECT6:        {"pselect6", 4, nanoseconds},
	unix.SYS_EPOLL_WAIT:      {"epoll_wait", 3, milliseconds},
	unix.SYS_EPOLL_PWAIT:     {"epoll_pwait", 3, milliseconds},
	unix.SYS_EPOLL_PWAIT2:    {"epoll_pwait2", 3, nanoseconds},
	unix.SYS_FUTEX:           {"futex", 3, deadline},
	unix.SYS_NANOSLEEP:       {"nanosleep", 0, nanoseconds},
	unix.SYS_CLOCK_NANOSLEEP: {"clock_nanosleep", 2, deadline},
	unix.SYS_RT_SIGTIMEDWAIT: {"rt_sigtimedwait", 2, nanoseconds},
	unix.SYS_READ:            {name: "read"},
	unix.SYS_WRITE:           {name: "write"},
	unix.SYS_ACCEPT:          {name: "accept"},
	unix.SYS_ACCEPT4:         {name: "accept4"},
	unix.SYS_RECVFROM:        {name: "recvfrom"},
	unix.SYS_RECVMSG:         {name: "recvmsg"},
	unix.SYS_WAIT4:           {name: "wait4"},
	unix.SYS_PAUSE:           {name: "pause"},
}

// timedCall is a system call that may end by itself.
type timedCall struct {
	name    string
	timeout int // index of the argument
	kind    timeoutKind
}

// timeoutKind says how a system call is told its time-out.
type timeoutKind uint8

const (
	untimed      timeoutKind = iota
	milliseconds             // a number
	nanoseconds              // a pointer to a timespec
	microseconds             // a pointer to a timeval
	deadline                 // a pointer to a timespec that may be a point of time
)

// TimesOut tells whether a system call that a thread waits in ends by itself.
func TimesOut(number int, arguments [6]uint64) bool {
	call := timedCalls[number]
	value := arguments[call.timeout]
	switch call.kind {
	case untimed:
		return false
	case milliseconds:
		return int32(value) >= 0
	}
	return value != 0 && (number != unix.SYS_FUTEX || futexWaits(arguments[1]))
}

// timeOut is how long it is until a system call ends by itself. It counts from when the call began,
// or from now on if the call has a deadline. Where the time cannot be read, since the process has
// gone on for instance, the call counts as one without.
func timeOut(pid, number int, arguments [6]uint64) (remaining time.Duration, timed bool) {
	if !TimesOut(number, arguments) {
		return 0, false
	}
	call := timedCalls[number]
	value := arguments[call.timeout]
	if call.kind == milliseconds {
		return time.Duration(int32(value)) * time.Millisecond, true
	}
	d, ok := readTime(pid, value, call.kind == microseconds)
	if !ok {
		return 0, false
	}
	// A deadline is a point of time by that clock, as the process sees it.
	if clock, absolute := deadlineClock(number, arguments); absolute {
		d -= clockOf(pid, clock)
	}
	return max(d, 0), true
}

// describeCall names a system call, and what ends it without any input.
func describeCall(pid, number int, arguments [6]uint64) string {
	call, known := timedCalls[number]
	if !known {
		return fmt.Sprintf("system call %d", number)
	}
	value := arguments[call.timeout]
	switch {
	case call.kind == untimed, call.kind == milliseconds && int32(value) < 0,
		call.kind != milliseconds && value == 0:
		return call.name + " without a time-out"
	case call.kind == milliseconds:
		return fmt.Sprintf("%s with a time-out of %v",
			call.name, time.Duration(int32(value))*time.Millisecond)
	}
	d, ok := readTime(pid, value, call.kind == microseconds)
	if !ok || call.kind == deadline {
		return call.name + " with a time-out"
	}
	return fmt.Sprintf("%s with a time-out of %v", call.name, d)
}

// readTime reads a timespec or timeval of a process. One that is too long is cut to the longest
// that there is. The process may change it at any time, so what is read may be of no use; it is
// bounded anyway.
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

// futexWaits tells whether a futex operation waits. Others have something else as fourth argument.
func futexWaits(operation uint64) bool {
	switch operation & futexCommand {
	case futexWait, futexLockPI, futexWaitBitset, futexWaitRequeue, futexLockPI2:
		return true
	}
	return false
}

// deadlineClock is the clock by which a call has its time-out, and whether that is a point of time.
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

// clockOf is what a clock shows to a process, in its time namespace. A restored group has one, in
// which the monotonic clock goes on where it was.
func clockOf(pid int, clock int32) time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(clock, &t); err != nil {
		return 0
	}
	now := time.Duration(t.Nano())
	name := map[int32]string{unix.CLOCK_MONOTONIC: "monotonic", unix.CLOCK_BOOTTIME: "boottime"}[clock]
	// Only these two clocks differ between time namespaces.
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

package watch

import (
	"encoding/binary"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// timedCalls are those that servers mostly wait in.
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

// callOf is the system call that a thread is in, with what ends it without any input.
func (w *Watch) callOf(pid, tid int) string {
	number, arguments, err := w.proc.SystemCall(tid)
	if err != nil {
		return ""
	}
	call, known := timedCalls[number]
	if !known {
		return fmt.Sprintf("system call %d", number)
	}
	value := arguments[call.timeout]
	switch {
	case call.kind == untimed || call.kind != milliseconds && value == 0 || call.kind == milliseconds && int32(value) < 0:
		return call.name + " without a time-out"
	case call.kind == milliseconds:
		return fmt.Sprintf("%s with a time-out of %v",
			call.name, time.Duration(int32(value))*time.Millisecond)
	}
	var words [16]byte
	local := []unix.Iovec{{Base: &words[0], Len: uint64(len(words))}}
	n, err := unix.ProcessVMReadv(pid, local, []unix.RemoteIovec{{Base: uintptr(value), Len: len(words)}}, 0)
	if err != nil || n != len(words) || call.kind == deadline {
		return call.name + " with a time-out"
	}
	fraction := time.Duration(binary.NativeEndian.Uint64(words[8:]))
	if call.kind == microseconds {
		fraction *= time.Microsecond
	}
	return fmt.Sprintf("%s with a time-out of %v",
		call.name, time.Duration(binary.NativeEndian.Uint64(words[:]))*time.Second+fraction)
}

// timedCall is a system call that may end by itself.
type timedCall struct {
	name    string
	timeout int // index of the argument
	kind    timeoutKind
}

type timeoutKind uint8

const (
	untimed      timeoutKind = iota
	milliseconds             // a number
	nanoseconds              // a pointer to a timespec
	microseconds             // a pointer to a timeval
	deadline                 // a pointer to a timespec that may be a point of time
)

package watch

import (
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

func TestDeadlineClock(t *testing.T) {
	for _, test := range []struct {
		number, argument, value int
		clock                   int32
		absolute                bool
	}{
		{unix.SYS_FUTEX, 1, futexWait, unix.CLOCK_MONOTONIC, false},
		{unix.SYS_FUTEX, 1, futexWaitBitset | 128, unix.CLOCK_MONOTONIC, true},
		{unix.SYS_FUTEX, 1, futexWaitBitset | futexRealtime, unix.CLOCK_REALTIME, true},
		{unix.SYS_FUTEX, 1, futexLockPI, unix.CLOCK_REALTIME, true},
		{unix.SYS_CLOCK_NANOSLEEP, 1, 0, unix.CLOCK_REALTIME, false},
		{unix.SYS_CLOCK_NANOSLEEP, 1, 1, unix.CLOCK_REALTIME, true},
		{unix.SYS_POLL, 0, 0, 0, false},
	} {
		var arguments [6]uint64
		arguments[test.argument] = uint64(test.value)
		if clock, absolute := deadlineClock(test.number, arguments); absolute != test.absolute ||
			absolute && clock != test.clock {
			t.Errorf("%+v: clock %d, %t", test, clock, absolute)
		}
	}
}

// TestTimeOuts reads time-outs of calls from this process's own memory.
func TestTimeOuts(t *testing.T) {
	spec := &unix.Timespec{Sec: 2, Nsec: 5}
	val := &unix.Timeval{Sec: 3, Usec: 7}
	long := &unix.Timespec{Sec: 1 << 62}
	at := func(p unsafe.Pointer) uint64 { return uint64(uintptr(p)) }
	minusOne := int32(-1)
	for name, test := range map[string]struct {
		number    int
		arguments [6]uint64
		want      time.Duration
		timed     bool
		says      string
	}{
		"poll": {unix.SYS_POLL, [6]uint64{0, 0, 1500}, 1500 * time.Millisecond, true,
			"poll with a time-out of 1.5s"},
		"poll for ever": {unix.SYS_POLL, [6]uint64{0, 0, uint64(uint32(minusOne))}, 0, false,
			"poll without a time-out"},
		"ppoll": {unix.SYS_PPOLL, [6]uint64{2: at(unsafe.Pointer(spec))}, 2*time.Second + 5, true,
			"ppoll with a time-out of 2.000000005s"},
		"ppoll for ever": {unix.SYS_PPOLL, [6]uint64{}, 0, false, "ppoll without a time-out"},
		"select": {unix.SYS_SELECT, [6]uint64{4: at(unsafe.Pointer(val))}, 3*time.Second + 7*time.Microsecond,
			true, "select with a time-out of 3.000007s"},
		"nanosleep": {unix.SYS_NANOSLEEP, [6]uint64{at(unsafe.Pointer(spec))}, 2*time.Second + 5, true,
			"nanosleep with a time-out of 2.000000005s"},
		"a long one": {unix.SYS_PPOLL, [6]uint64{2: at(unsafe.Pointer(long))},
			1 << 62 / time.Second * time.Second, true, ""},
		"no address": {unix.SYS_PPOLL, [6]uint64{2: 1}, 0, false, "ppoll with a time-out"},
		"futex": {unix.SYS_FUTEX, [6]uint64{0, futexWait, 0, at(unsafe.Pointer(spec))},
			2*time.Second + 5, true, "futex with a time-out"},
		"futex that wakes": {
			unix.SYS_FUTEX, [6]uint64{0, 1, 0, at(unsafe.Pointer(spec))}, 0, false, "futex with a time-out"},
		"accept": {unix.SYS_ACCEPT, [6]uint64{1, 2, 3}, 0, false, "accept without a time-out"},
		"unknown": {unix.SYS_GETPID, [6]uint64{1, 2, 3}, 0, false,
			fmt.Sprintf("system call %d", unix.SYS_GETPID)},
	} {
		got, timed := timeOut(os.Getpid(), test.number, test.arguments)
		// Whether a call times out is known without the time.
		timesOut := TimesOut(test.number, test.arguments)
		if got != test.want || timed != test.timed || timesOut != (timed || name == "no address") {
			t.Errorf("%s: %v, %t, %t; want %v, %t", name, got, timed, timesOut, test.want, test.timed)
		}
		if says := describeCall(os.Getpid(), test.number, test.arguments); test.says != "" &&
			says != test.says {
			t.Errorf("%s: %q, want %q", name, says, test.says)
		}
	}
	runtime.KeepAlive([]any{spec, val, long})
}

// TestDeadlines: of a point of time, what is left counts.
func TestDeadlines(t *testing.T) {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		t.Fatal(err)
	}
	for after, want := range map[int64]time.Duration{3600: time.Hour, -5: 0} {
		until := &unix.Timespec{Sec: now.Sec + after, Nsec: now.Nsec}
		arguments := [6]uint64{unix.CLOCK_MONOTONIC, 1, uint64(uintptr(unsafe.Pointer(until)))}
		got, timed := timeOut(os.Getpid(), unix.SYS_CLOCK_NANOSLEEP, arguments)
		if !timed || got > want || got < want-10*time.Second {
			t.Errorf("%d s from now: %v, %t; want %v", after, got, timed, want)
		}
		runtime.KeepAlive(until)
	}
}

// TestWaitsOfALoop: the same loop comes back to the same wait, also if less of a time-out is left.
func TestWaitsOfALoop(t *testing.T) {
	in := func(ms uint64) wait { return waitIn(1, unix.SYS_EPOLL_WAIT, [6]uint64{5, 6, 7, ms}) }
	if in(1000) != in(900) || in(1000) == in(100) ||
		in(1000) == waitIn(2, unix.SYS_EPOLL_WAIT, [6]uint64{5, 6, 7, 1000}) {
		t.Error("waits are told apart wrongly")
	}
	futex := func(deadline uint64) wait { return waitIn(1, unix.SYS_FUTEX, [6]uint64{3: deadline}) }
	if futex(1) == futex(2) {
		t.Error("a time-out that is an address tells waits apart")
	}
}

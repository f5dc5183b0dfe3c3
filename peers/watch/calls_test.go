package watch

import (
	"testing"

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
		if clock, absolute := deadlineClock(test.number, arguments); absolute != test.absolute || absolute && clock != test.clock {
			t.Errorf("%+v: clock %d, %t", test, clock, absolute)
		}
	}
}

package watch

import (
	"fmt"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestTimerfdIsParsed(t *testing.T) {
	for text, want := range map[string]struct {
		value, interval time.Duration
		ok              bool
	}{
		"pos:\t0\nclockid: 1\nit_value: (1, 5)\nit_interval: (0, 7)\n": {time.Second + 5, 7, true},
		"it_value: (0, 0)\nit_interval: (2, 0)\n":                      {0, 2 * time.Second, true},
		"pos:\t0\nit_value: none\n":                                    {0, 0, false},
	} {
		if value, interval, ok := parseTimerfd([]byte(text)); value != want.value ||
			interval != want.interval ||
			ok != want.ok {
			t.Errorf("%q: %v, %v, %t", text, value, interval, ok)
		}
	}
}

// TestResumedCalls: where nobody saw a wait begin that the kernel goes on with, the place where the
// thread sleeps says what it is. What is no number of milliseconds is not taken for one.
func TestResumedCalls(t *testing.T) {
	r := &waitReader{timers: newTimers(func(timerKey) (timerKey, bool) { return timerKey{}, false })}
	for _, test := range []struct {
		channel   string
		arguments [6]uint64
		want      int
	}{
		{"futex_wait_queue", [6]uint64{0x7f00, 128, 0, 0x7f10}, unix.SYS_FUTEX},
		{"futex_do_wait", [6]uint64{0x7f00, 128, 0, 0x7f10}, unix.SYS_FUTEX},
		{"hrtimer_nanosleep", [6]uint64{0x7f00, 0x7f10}, unix.SYS_NANOSLEEP},
		{"hrtimer_nanosleep", [6]uint64{unix.CLOCK_MONOTONIC, 0, 0x7f10}, unix.SYS_CLOCK_NANOSLEEP},
		{"poll_schedule_timeout.constprop.0", [6]uint64{0x7f00, 1, 5000}, unix.SYS_POLL},
	} {
		got := r.resumedCall(timerKey{tid: 1 << 30, fd: -1}, test.arguments, test.channel)
		if got != test.want {
			t.Errorf("%s %v: system call %d, want %d", test.channel, test.arguments, got, test.want)
		}
	}
}

// FuzzTimerfd: what a timerfd is set to is read as the kernel writes it, and nothing breaks.
func FuzzTimerfd(f *testing.F) {
	f.Add("pos:\t0\nclockid: 1\nit_value: (1, 5)\nit_interval: (0, 7)\n", int64(3), uint32(4))
	f.Add("it_value: (", int64(0), uint32(0))
	f.Fuzz(func(t *testing.T, text string, seconds int64, nanoseconds uint32) {
		parseTimerfd([]byte(text))
		seconds = seconds & (1<<33 - 1)
		text = fmt.Sprintf("pos:\t0\nit_value: (%d, %d)\nit_interval: (0, 0)\n", seconds, nanoseconds)
		want := time.Duration(seconds)*time.Second + time.Duration(nanoseconds)
		if value, interval, ok := parseTimerfd([]byte(text)); value != want || interval != 0 || !ok {
			t.Errorf("%q: %v, %v, %t", text, value, interval, ok)
		}
	})
}

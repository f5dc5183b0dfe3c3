package watch

import (
	"os"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys/procfs"
)

func watchOfTimers() *Watch {
	return &Watch{timers: timers{known: map[timerKey]*timer{}, files: map[int]timerFiles{}, ticks: Ticks{}}}
}

// TestShortWaits: a short wait counts as work until its thread has come back to it for nothing
// some times, and again once something has come of it.
func TestShortWaits(t *testing.T) {
	w := watchOfTimers()
	key, of := timerKey{tid: 7, fd: -1}, wait{number: unix.SYS_POLL}
	began := 0
	comesBack := func() error {
		w.timers.begin()
		began++
		return w.note(key, of, strconv.Itoa(began), ShortWait, false)
	}
	for round := range tickerRounds {
		if err := comesBack(); err != errAwake {
			t.Errorf("round %d: %v, want work", round, err)
		}
	}
	if err := comesBack(); err != nil {
		t.Errorf("a ticker: %v", err)
	}
	w.timers.progress()
	if err := comesBack(); err != errAwake {
		t.Errorf("after something has come of it: %v, want work", err)
	}
}

// TestLongWaits are on the line of time from where they were first seen, whatever the line does
// meanwhile.
func TestLongWaits(t *testing.T) {
	w := watchOfTimers()
	w.Elapse(time.Second)
	note := func(tid int, began string, length time.Duration) {
		if err := w.note(timerKey{tid: tid, fd: -1}, wait{number: unix.SYS_POLL, peer: tid}, began, length, false); err != nil {
			t.Errorf("thread %d: %v", tid, err)
		}
	}
	w.timers.begin()
	note(1, "1", 3*time.Second)
	note(2, "1", 5*time.Second)
	w.Elapse(time.Second)
	w.timers.begin()
	note(1, "1", 3*time.Second) // the same wait goes on
	note(3, "1", time.Second)
	var got []Timer
	for _, timer := range w.Timers() {
		got = append(got, Timer{Peer: timer.Peer, Due: timer.Due})
	}
	want := []Timer{{Peer: 3, Due: 3 * time.Second}, {Peer: 1, Due: 4 * time.Second}} // thread 2 has gone on
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestShortWaitsAreNamed: who asks why a group is not quiescent is told of a wait that counts as
// work, as long as it lasts.
func TestShortWaitsAreNamed(t *testing.T) {
	w := watchOfTimers()
	note := func(tid int, length time.Duration) {
		_ = w.note(timerKey{1, tid, -1}, wait{number: unix.SYS_FUTEX}, "1", length, false)
	}
	w.timers.begin()
	note(1, 3*time.Millisecond)
	note(2, time.Minute)
	const want = "thread 1 (server) waits in futex for 3ms: a wait of at most 50ms counts as work"
	if got := w.describeShortWait(1, 1, "server"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := w.describeShortWait(1, 2, "server"); got != "" {
		t.Errorf("of a long wait it says %q", got)
	}
	w.timers.begin() // and the thread waits for something else
	if got := w.describeShortWait(1, 1, "server"); got != "" {
		t.Errorf("of a wait that has ended it says %q", got)
	}
}

// TestALongerWaitIsAnother: a wait that has begun since the last look is not taken for the
// shorter one that was seen at the same place. That holds also if the kernel goes on with it, if
// a checkpoint has interrupted it, and if the group was restored meanwhile.
func TestALongerWaitIsAnother(t *testing.T) {
	key, of := timerKey{tid: 7, fd: -1}, wait{number: unix.SYS_FUTEX}
	for name, c := range map[string]struct{ goesOn, interrupted, restored bool }{
		"the kernel goes on with it": {goesOn: true},
		"interrupted":                {interrupted: true},
		"restored":                   {restored: true},
		"restored, and the kernel goes on with it": {restored: true, goesOn: true},
	} {
		w := watchOfTimers()
		for round := range tickerRounds + 1 {
			w.timers.begin()
			_ = w.note(key, of, strconv.Itoa(round), time.Millisecond, false)
		}
		was := w.timers.known[key]
		was.interrupted = c.interrupted
		if c.restored {
			delete(w.timers.known, key)
			w.timers.saved = Saved{timers: map[timerKey]timer{{tid: os.Getpid(), fd: -1}: *was}}
			key.tid = os.Getpid()
		}
		w.timers.begin()
		if err := w.note(key, of, "later", time.Minute, c.goesOn); err != nil {
			t.Errorf("%s: %v, want a timer", name, err)
		}
		if due := w.timers.known[key].Due; due != time.Minute {
			t.Errorf("%s: it is due at %v, want a minute", name, due)
		}
		key.tid = 7
	}
}

// TestTimersAreBounded: threads that have ended are forgotten, and those that wait are not.
func TestTimersAreBounded(t *testing.T) {
	w := watchOfTimers()
	for n := range 3 * maxKnown {
		w.timers.begin()
		for _, tid := range []int{1, 2 + n} {
			if err := w.note(timerKey{tid: tid, fd: -1}, wait{peer: tid}, "1", time.Minute, false); err != nil {
				t.Fatal(err)
			}
		}
		w.timers.ticks[wait{peer: n}] = true
		w.timers.files[n] = timerFiles{}
	}
	for what, n := range map[string]int{"timers": len(w.timers.known), "ticks": len(w.timers.ticks), "processes": len(w.timers.files)} {
		if n > maxKnown+2 {
			t.Errorf("%d %s are kept", n, what)
		}
	}
	if due := w.Timers()[0].Due; due != time.Minute || w.timers.known[timerKey{tid: 1, fd: -1}] == nil {
		t.Errorf("the first thread's timer is due at %v", due)
	}
}

func TestTimerfdIsParsed(t *testing.T) {
	for text, want := range map[string]struct {
		value, interval time.Duration
		ok              bool
	}{
		"pos:\t0\nclockid: 1\nit_value: (1, 5)\nit_interval: (0, 7)\n": {time.Second + 5, 7, true},
		"it_value: (0, 0)\nit_interval: (2, 0)\n":                      {0, 2 * time.Second, true},
		"pos:\t0\nit_value: none\n":                                    {0, 0, false},
	} {
		if value, interval, ok := parseTimerfd([]byte(text)); value != want.value || interval != want.interval || ok != want.ok {
			t.Errorf("%q: %v, %v, %t", text, value, interval, ok)
		}
	}
}

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

// TestRestarted: where nobody saw a wait begin that the kernel goes on with, the place where the
// thread sleeps says what it is. What is no number of milliseconds is not taken for one.
func TestRestarted(t *testing.T) {
	w := watchOfTimers()
	w.proc = procfs.Reader{}
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
		if got := w.restarted(timerKey{tid: 1 << 30, fd: -1}, test.arguments, test.channel); got != test.want {
			t.Errorf("%s %v: system call %d, want %d", test.channel, test.arguments, got, test.want)
		}
	}
}

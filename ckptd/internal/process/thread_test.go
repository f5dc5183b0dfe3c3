package process

import (
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// registersIn are those of a thread that waits in a system call.
func registersIn(call uint64, result int64) unix.PtraceRegs {
	return unix.PtraceRegs{Rip: 0x1002, Orig_rax: call, Rax: uint64(result), Rdi: 5}
}

// TestHowThreadsGoOn: a thread that is thawed goes on as the kernel would have it, but for waits
// that would take the stop for a signal. One that is made again makes its call again.
func TestHowThreadsGoOn(t *testing.T) {
	again := func(t *thread, r unix.PtraceRegs) bool { return r.Rip == 0x1000 && r.Rax == t.call }
	for name, test := range map[string]struct {
		call          uint64
		result        int64
		thawed, again bool // it makes the call again
	}{
		"a wait for events":          {unix.SYS_EPOLL_WAIT, -int64(unix.EINTR), true, true},
		"a wait for a signal":        {unix.SYS_RT_SIGTIMEDWAIT, -int64(unix.EINTR), true, true},
		"a read, which is restarted": {unix.SYS_READ, restartSys, false, true},
		"a sleep":                    {unix.SYS_CLOCK_NANOSLEEP, restartWithBlock, false, true},
		"a call with a result":       {unix.SYS_READ, 3, false, false},
		"an error":                   {unix.SYS_READ, -int64(unix.EBADF), false, false},
	} {
		th := &thread{registers: registersIn(test.call, test.result), call: test.call}
		if r := th.resumption(); again(th, r) != test.thawed {
			t.Errorf("%s: thawed with %+v", name, r)
		} else if !test.thawed && r != th.registers {
			t.Errorf("%s: the kernel does not find what it has left: %+v", name, r)
		}
		r := th.repeat()
		if again(th, r) != test.again || r.Orig_rax != noCall || r.Rdi != 5 {
			t.Errorf("%s: made again with %+v", name, r)
		}
	}
}

// TestRestartedCalls: a thread that goes on by restart_syscall waits in the call that it was in
// when it was stopped before, unless it has run since.
func TestRestartedCalls(t *testing.T) {
	at := func(r unix.PtraceRegs) *thread { return &thread{tid: 9, registers: r, call: r.Orig_rax} }
	frozen := func(th *thread) []*Frozen { return []*Frozen{{Saved: &Saved{threads: []*thread{th}}}} }
	first := at(registersIn(unix.SYS_POLL, restartWithBlock))
	known := RestartSyscalls(nil).Note(frozen(first))
	if len(known) != 1 || known[9].Orig_rax != unix.SYS_POLL {
		t.Fatalf("%+v", known)
	}
	restarted := at(registersIn(unix.SYS_RESTART_SYSCALL, restartWithBlock))
	if known = known.Note(frozen(restarted)); restarted.call != unix.SYS_POLL || len(known) != 1 {
		t.Errorf("it waits in call %d, and %d are known", restarted.call, len(known))
	}
	moved := registersIn(unix.SYS_RESTART_SYSCALL, restartWithBlock)
	moved.Rsp = 8
	elsewhere := at(moved)
	if known = known.Note(frozen(elsewhere)); elsewhere.call != noCall || len(known) != 0 {
		t.Errorf("one that has run since waits in call %d, and %d are known", elsewhere.call, len(known))
	}
}

// TestTimers are read as they are written.
func TestTimers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := unix.Itimerval{
			Interval: unix.Timeval{Sec: rapid.Int64().Draw(t, "s"), Usec: rapid.Int64().Draw(t, "us")},
			Value:    unix.Timeval{Sec: rapid.Int64().Draw(t, "s"), Usec: rapid.Int64().Draw(t, "us")},
		}
		b := encodeTimer(want)
		if got := decodeTimer(b); got != want || len(b) != timerBytes {
			t.Errorf("%+v, want %+v", got, want)
		}
	})
}

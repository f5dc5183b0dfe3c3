package watch

import (
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys/procfs"
	"github.com/tandem-mc/tandem/peers"
)

// TestUsageOfAThread: what a thread has computed shows, and how often it was put on a processor.
func TestUsageOfAThread(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	proc, self := &procfs.Reader{}, unix.Gettid()
	before, _, err := usageOf(proc, self)
	if err != nil {
		t.Fatal(err)
	}
	const computed = 30 * time.Millisecond
	var now usage
	for began := time.Now(); ; {
		var s procfs.Stat
		if now, s, err = usageOf(proc, self); err != nil || s.State != 'R' {
			t.Fatalf("while it runs it is in state %c: %v", s.State, err)
		}
		if time.Duration(now.nanoseconds-before.nanoseconds) > computed {
			break
		}
		if time.Since(began) > 20*time.Second {
			t.Fatalf("%+v, and before %+v", now, before)
		}
	}
	if now.user < before.user || now.system < before.system || now.runs < before.runs {
		t.Errorf("%+v, and before %+v", now, before)
	}
	if _, _, err := usageOf(proc, 1<<30); err != procfs.ErrGone {
		t.Errorf("a thread that there is not: %v", err)
	}
}

// TestTimersOfAProcess: only timers that come back are named, and not all where there are many.
func TestTimersOfAProcess(t *testing.T) {
	if got := timersOf(os.Getpid()); got != "" {
		t.Fatalf("this process has timers already: %s", got)
	}
	set := func(interval time.Duration) {
		fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(fd) })
		spec := &unix.ItimerSpec{
			Interval: unix.NsecToTimespec(int64(interval)),
			Value:    unix.NsecToTimespec(int64(time.Hour)),
		}
		if err := unix.TimerfdSettime(fd, 0, spec, nil); err != nil {
			t.Fatal(err)
		}
	}
	set(0)
	if got := timersOf(os.Getpid()); got != "" {
		t.Errorf("a timer that ends once: %q", got)
	}
	set(1500 * time.Millisecond)
	const one = "a timerfd with an interval of 1.5s"
	if got := timersOf(os.Getpid()); got != one {
		t.Errorf("one: %q", got)
	}
	for range 9 {
		set(1500 * time.Millisecond)
	}
	if got := timersOf(os.Getpid()); strings.Count(got, one) != 4 || !strings.HasSuffix(got, ", more") {
		t.Errorf("many: %q", got)
	}
}

// TestWhoIsNamed: what is said of processes names their peer, as far as that is known.
func TestWhoIsNamed(t *testing.T) {
	m := &members{peers: []peers.Process{
		{Peer: peers.Peer{Name: "server"}, PID: 2},
		{Peer: peers.Peer{Name: "client", After: "listen 80"}, PID: 3},
	}, hostPeers: map[int]int{20: 0, 30: 1}}
	if got := m.nameOf(1) + ", " + m.nameOf(-1); got != "peer client, an orphan of a peer" {
		t.Error(got)
	}
	ended := procfs.Stat{State: 'Z', Threads: 1, Status: unix.WaitStatus(unix.SIGKILL)}
	for _, test := range []struct {
		pid  int
		s    procfs.Stat
		want string
	}{
		{20, ended, "peer server (pid 2 of its group) was killed by signal 9 (killed)"},
		{20, procfs.Stat{State: 'S'}, ""},
		{20, procfs.Stat{State: 'Z', Threads: 2}, ""}, // only its first thread has ended
		{30, ended, ""}, // a client may end
		{40, ended, ""}, // and what a peer has forked
	} {
		got := ""
		if err := m.deathOf(test.pid, test.s); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("process %d in state %c: %q, want %q", test.pid, test.s.State, got, test.want)
		}
	}
}

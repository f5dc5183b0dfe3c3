package shim

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/peers"
)

// waiting is a process that waits on a virtual clock: see testdata/waiter.c.
type waiting struct {
	cmd    *exec.Cmd
	output bytes.Buffer
}

func (w *waiting) status(t *testing.T) []byte {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", w.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// sleeps waits until the process sleeps.
func (w *waiting) sleeps(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		if bytes.Contains(w.status(t), []byte("State:\tS")) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("it does not sleep, and has printed %q", w.output.String())
		}
	}
}

// next asks the process how long it waits.
func (w *waiting) next(t *testing.T, counters *Counters) time.Duration {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		w.wake(t, 0)
		w.sleeps(t)
		if d, some, _ := counters.Next(); some {
			return d
		}
		if time.Now().After(deadline) {
			t.Fatal("it does not say how long it waits")
		}
	}
}

func (w *waiting) wake(t *testing.T, d time.Duration) {
	t.Helper()
	if err := Wake(w.cmd.Process.Pid, d); err != nil {
		t.Fatal(err)
	}
}

// TestWaitsOnAVirtualClock: each call ends when its time has come on that clock, and not before.
func TestWaitsOnAVirtualClock(t *testing.T) {
	waiter := filepath.Join(t.TempDir(), "waiter")
	compileC(t, waiter, "testdata/waiter.c")
	timedOut := fmt.Sprint(-int(unix.ETIMEDOUT))
	for call, want := range map[string]string{
		"poll": "0", "ppoll": "0", "select": "0", "pselect": "0",
		"epoll_wait": "0", "epoll_pwait": "0", "epoll_pwait2": "0",
		"sigtimedwait":           fmt.Sprint(-int(unix.EAGAIN)),
		"pthread_cond_timedwait": timedOut, "pthread_cond_clockwait": timedOut,
		"alarm": "1", "setitimer": "1", "timerfd": "1",
	} {
		t.Run(call, func(t *testing.T) {
			library, file := build(t)
			counters := open(t, file)
			w := &waiting{cmd: exec.Command(waiter, call)}
			w.cmd.Env = Environment(
				peers.Peer{Name: "one", VirtualClock: true},
				0,
				library,
				file,
				clockStart,
			)
			w.cmd.Stdout, w.cmd.Stderr = &w.output, os.Stderr
			if err := w.cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer w.cmd.Process.Kill()
			for has := false; !has; { // it is no program with a clock before the library is loaded
				var err error
				if has, err = HasClock(w.status(t)); err != nil {
					t.Fatal(err)
				}
			}
			w.sleeps(t)
			if d := w.next(t, counters); d > time.Hour || d < time.Hour-time.Second {
				t.Errorf("it says that it waits for %v", d)
			}
			w.wake(t, time.Hour-time.Minute)
			w.sleeps(t)
			if d := w.next(t, counters); d > time.Minute || d < 59*time.Second {
				t.Errorf("an hour less a minute later it says that it waits for %v", d)
			}
			w.wake(t, time.Minute)
			if err := w.cmd.Wait(); err != nil {
				t.Error(err)
			}
			if got := strings.TrimSpace(w.output.String()); got != want+" after 3600 s" {
				t.Errorf("%s, want %s after an hour", got, want)
			}
		})
	}
}

func TestHasClock(t *testing.T) {
	for status, want := range map[string]string{
		"": "false",
		"SigBlk:\t0000000000000000\nSigCgt:\t0000000000000001\n": "false",
		"SigBlk:\t0000000000000000\nSigCgt:\t8000000000000000\n": "true",
		"SigBlk:\t7fffffffffffffff\nSigCgt:\tffffffffffffffff\n": "true",
		"SigBlk:\t8000000000000000\nSigCgt:\t8000000000000000\n": "it blocks signal 64",
		"SigBlk:\t8000000000000000\nSigCgt:\t7fffffffffffffff\n": "false",
		"SigCgt:\t80000000\x00\n":                                "invalid syntax",
	} {
		has, err := HasClock([]byte(status))
		got := fmt.Sprint(has)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%q: %s, want %s", status, got, want)
		}
	}
}

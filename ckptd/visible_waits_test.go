package ckptd

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestVisibleCalls: a thread that waits with a time-out is known as such, and others are not.
func TestVisibleCalls(t *testing.T) {
	for script, want := range map[string]bool{
		"import select; select.poll().poll(3600000)":             true,
		"import select; select.select([], [], [], 3600)":         true,
		"import time; time.sleep(3600)":                          true,
		"import select; select.epoll().poll(3600)":               true,
		"import select; select.poll().poll()":                    false,
		"import select, sys; select.select([sys.stdin], [], [])": false,
		"import select; select.epoll().poll()":                   false,
		"import sys; sys.stdin.read()":                           false,
	} {
		cmd := exec.Command("python3", "-c", script)
		if _, err := cmd.StdinPipe(); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
		text, begin := "", time.Now()
		for known := false; !known; { // a file of Python itself is read before
			if time.Since(begin) > time.Minute {
				t.Fatalf("%s: it does not wait: %s", script, text)
			}
			before := text
			v := visibleProcess{pid: cmd.Process.Pid, directory: fmt.Sprintf("/proc/%d", cmd.Process.Pid)}
			line := v.read("syscall")
			var err error
			if text, err = visibleCall(v.pid, line); err != nil {
				text = ""
			}
			state, _ := stateOfProcess(strings.TrimPrefix(v.directory, "/proc/"))
			known = text != "" && text == before && state == 'S' && strings.HasSuffix(text, timed) == want
			time.Sleep(time.Millisecond)
		}
	}
}

// TestTimedThreadsMayMove: where such a thread is counts only just after a restore.
func TestTimedThreadsMayMove(t *testing.T) {
	want := []string{"process 1: thread 1: in a call at 0x1, stack 0x2 until a time-out", "process 1: thread 2: in a call at 0x1, stack 0x2"}
	moved := []string{"process 1: thread 1: in a call at 0x1, stack 0x3", want[1]}
	other := []string{"process 1: thread 1: in a call at 0x1, stack 0x2", "process 1: thread 2: in a call at 0x1, stack 0x3"}
	for _, c := range []struct {
		now   []string
		after time.Duration
		same  bool
	}{
		{want, 0, true}, {moved, 0, false}, {moved, 2 * time.Second, true}, {other, 0, false}, {other, 2 * time.Second, false},
	} {
		a, b := settleTimed(want, c.now, c.after)
		if d := differences(a, b); (len(d) == 0) != c.same {
			t.Errorf("after %v: %q differ", c.after, d)
		}
	}
}

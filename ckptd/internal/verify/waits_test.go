package verify

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/tandem-mc/tandem/internal/testkit"
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
		cmd := exec.Command("python3", "-c", "print(flush=True); "+script)
		if _, err := cmd.StdinPipe(); err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
		// it has read the files of Python itself
		if _, err := out.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		v := visibleProcess{pid: cmd.Process.Pid, directory: fmt.Sprintf("/proc/%d", cmd.Process.Pid)}
		testkit.Await(t, script+" waits, and whether for a time is known", func() bool {
			text, err := visibleCall(v.pid, v.read("syscall"))
			return err == nil && strings.HasSuffix(text, timed) == want
		})
	}
}

// TestTimedThreadsMayMove: where such a thread is counts only just after a restore.
func TestTimedThreadsMayMove(t *testing.T) {
	const first, second = "process 1: thread 1: in a call at 0x1", "process 1: thread 2: in a call at 0x1"
	want := []string{first + ", stack 0x2 until a time-out", second + ", stack 0x2"}
	moved := []string{first + ", stack 0x3", second + ", stack 0x2"}
	other := []string{first + ", stack 0x2", second + ", stack 0x3"}
	for _, c := range []struct {
		now   []string
		after time.Duration
		same  bool
	}{
		{want, 0, true}, {want, 2 * time.Second, true},
		{moved, 0, false}, {moved, 2 * time.Second, true},
		{other, 0, false}, {other, 2 * time.Second, false},
	} {
		a, b := WithoutTimed(want, c.now, c.after)
		if d := Differences(a, b); (len(d) == 0) != c.same {
			t.Errorf("after %v: %q differ", c.after, d)
		}
	}
}

package verify

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/tandem-mc/tandem/internal/testkit"
)

// TestVisibleCalls: a thread that waits with a time-out or sleeps is known as such.
func TestVisibleCalls(t *testing.T) {
	for script, want := range map[string]string{
		"import select; select.poll().poll(3600000)":             timed,
		"import select; select.select([], [], [], 3600)":         timed,
		"import time; time.sleep(3600)":                          asleep,
		"import select; select.epoll().poll(3600)":               timed,
		"import select; select.poll().poll()":                    "",
		"import select, sys; select.select([sys.stdin], [], [])": "",
		"import select; select.epoll().poll()":                   "",
		"import sys; sys.stdin.read()":                           "",
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
			text, err := visibleCall(v.read("syscall"))
			suffix := ""
			for _, s := range []string{timed, asleep} {
				if strings.HasSuffix(text, s) {
					suffix = s
				}
			}
			return err == nil && suffix == want
		})
	}
}

// TestTimedThreadsMayMove: where such a thread is counts only just after a restore.
func TestTimedThreadsMayMove(t *testing.T) {
	const first, second = "process 1: thread 1: in a call at 0x1", "process 1: thread 2: in a call at 0x1"
	const third = "process 1: thread 3: in a call at 0x1, stack 0x2"
	want := []string{first + ", stack 0x2 until a time-out", second + ", stack 0x2",
		third + " for a while"}
	moved := []string{first + ", stack 0x3", second + ", stack 0x2", third}
	other := []string{first + ", stack 0x2", second + ", stack 0x3", third}
	awake := []string{first + ", stack 0x2", second + ", stack 0x2", third[:len(third)-1] + "9"}
	for _, c := range []struct {
		now   []string
		after time.Duration
		same  bool
	}{
		{want, 0, true}, {want, 2 * time.Second, true},
		{moved, 0, false}, {moved, 2 * time.Second, true},
		{other, 0, false}, {other, 2 * time.Second, false},
		{awake, 0, true}, {awake, 2 * time.Second, true},
	} {
		a, b := WithoutTimed(want, c.now, c.after)
		if d := Differences(a, b); (len(d) == 0) != c.same {
			t.Errorf("after %v: %q differ", c.after, d)
		}
	}
}

// Package libraries_test checks clients and servers made with popular libraries, unmodified, against real peers.
package libraries_test

import (
	"errors"
	"os/exec"
	"path/filepath"
	"testing"
)

const tandem = "../../bin/tandem"

// Exit codes of tandem.
const (
	holds = iota
	violated
	unknown
)

// TestLibraries: the bug of each program is found, and is not found in its fixed twin: that holds, or
// nothing is wrong with as many executions as several times those that the bug took.
func TestLibraries(t *testing.T) {
	for name, fixed := range map[string]int{
		"redis": unknown, "memcache": holds, "mqtt": holds, "sftp": holds, "websocket": unknown, "grpc": unknown,
	} {
		t.Run(name, func(t *testing.T) {
			counterexample := filepath.Join(t.TempDir(), "counterexample")
			expect(t, violated, "check", "./"+name, "--executions", "500", "-o", counterexample)
			expect(t, violated, "replay", counterexample, "--times", "3")
			expect(t, fixed, "check", "./"+name, "--executions", "500", "--", "-fixed")
		})
	}
}

func expect(t *testing.T, want int, args ...string) {
	t.Helper()
	out, err := exec.Command(tandem, args...).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	got := 0
	if exit != nil {
		got = exit.ExitCode()
	}
	if got != want {
		t.Fatalf("tandem %q: exit code %d, want %d\n%s", args, got, want, out)
	}
	t.Logf("%s", out)
}

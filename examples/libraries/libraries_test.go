// Package libraries_test checks clients and servers made with popular libraries, unmodified,
// against real peers.
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

// TestLibraries: the bug of each program is found, and is not found in its fixed twin: that
// holds, or nothing is wrong with as many executions as several times those that the bug took.
func TestLibraries(t *testing.T) {
	for name, fixed := range map[string]int{
		"redis": unknown, "memcache": holds, "mqtt": holds, "sftp": holds, "websocket": unknown,
		"grpc": unknown,
	} {
		t.Run(name, func(t *testing.T) {
			counterexample := filepath.Join(t.TempDir(), "counterexample")
			expect(t, violated, "check", "./"+name, "--executions", "500", "-o", counterexample)
			expect(t, violated, "replay", counterexample, "--times", "3")
			expect(t, fixed, "check", "./"+name, "--executions", "500", "--", "-fixed")
		})
	}
}

// TestLostConnection: a deadlock that a version of a library had when its connection is lost is
// found among random executions with one fault of the network, and is not found in several times
// as many of the version that mends it.
func TestLostConnection(t *testing.T) {
	counterexample := filepath.Join(t.TempDir(), "counterexample")
	random := []string{"check", ".", "--search", "random", "-o", counterexample, "--executions"}
	expectIn(t, "disconnect", "", violated, append(random, "30000")...)
	expectIn(t, "disconnect", "", violated, "replay", counterexample, "--times", "3")
	expectIn(t, "disconnect", "-modfile=fixed.mod", unknown, append(random, "600")...)
}

// TestRequestAfterClose: one version of a library goes round in a loop without end when its
// connection was closed. The loop is found there, and not in the version that mends it.
func TestRequestAfterClose(t *testing.T) {
	counterexample := filepath.Join(t.TempDir(), "counterexample")
	expectIn(t, "ping", "", violated, "check", ".", "-o", counterexample)
	expectIn(t, "ping", "", violated, "replay", counterexample, "--times", "3")
	expectIn(t, "ping", "-modfile=fixed.mod", unknown, "check", ".", "--executions", "100")
}

func expect(t *testing.T, want int, args ...string) {
	t.Helper()
	expectIn(t, ".", "", want, args...)
}

// expectIn runs tandem in a directory, with flags for the go command.
func expectIn(t *testing.T, directory, goflags string, want int, args ...string) {
	t.Helper()
	binary, err := filepath.Abs(tandem)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, args...)
	cmd.Dir = directory
	cmd.Env = append(cmd.Environ(), "GOFLAGS="+goflags)
	out, err := cmd.CombinedOutput()
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

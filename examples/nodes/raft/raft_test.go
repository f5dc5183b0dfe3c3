// Package raft_test checks three nodes of hashicorp/raft that crash.
package raft_test

import (
	"errors"
	"flag"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

var spent = flag.Duration("time", time.Minute, "check nodes that are durable for this `time`")

// TestRaft: nodes that forget their logs and votes in a crash come to disagree. What was found is
// replayed. Nodes that keep them do not disagree.
func TestRaft(t *testing.T) {
	const (
		holds    = 0
		violated = 1
		unknown  = 2
	)
	found := filepath.Join(t.TempDir(), "found.counterexample")
	for _, c := range []struct {
		want int
		args []string
	}{
		{violated, []string{"check", ".", "--search", "random", "-o", found}},
		{violated, []string{"replay", found, "--times", "20"}},
		{unknown, []string{"check", ".", "-c", "durable.yaml", "--search", "random", "--time",
			spent.String()}},
	} {
		out, err := exec.Command("../../../bin/tandem", c.args...).CombinedOutput()
		var exit *exec.ExitError
		got := holds
		if errors.As(err, &exit) {
			got = exit.ExitCode()
		} else if err != nil {
			t.Fatal(err)
		}
		if got != c.want {
			t.Errorf("tandem %q: exit code %d, want %d\n%s", c.args, got, c.want, out)
		}
		t.Logf("%s", out)
	}
}

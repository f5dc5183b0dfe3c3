package main

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestKilledAndResumed ends checks with SIGKILL at random moments, wherever they are then, and has
// them go on. They print what they print when nothing happens to them.
func TestKilledAndResumed(t *testing.T) {
	times, executions := 1, "5000" // of each of seven checks
	if *deep {
		times, executions = 3, "10000" // of each of ten
	}
	turns := func(args ...string) []string {
		return append([]string{"./check/testdata/turns", "--executions", "40000", "--workers", "2"}, args...)
	}
	letters := func(search string) []string {
		// With several workers it depends on time for whom the peers are asked first.
		return []string{"./examples/alphabet", "--workers", "1", "-c",
			filepath.Join(tree, "examples/alphabet/tandem.yaml"), "--search", search, "--executions", "200",
			"--", "-connections", "2", "-requests", "1"}
	}
	for name, args := range map[string][]string{
		"auto":           turns("--", "3", "3"),
		"dpor":           turns("--search", "dpor", "--", "3", "4"),
		"dpor, violated": turns("--search", "dpor", "--", "3", "4", "222211110000"),
		"dfs":            turns("--search", "dfs", "--", "3", "1"),
		"random":         turns("--search", "random", "--executions", executions, "--", "3", "2"),
		"pct":            turns("--search", "pct", "--executions", executions, "--", "3", "2"),
		"surw":           turns("--search", "surw", "--executions", executions, "--", "3", "2"),
		"peers, dpor":    letters("dpor"),
		"peers, dfs":     letters("dfs"),
		"peers, random":  letters("random"),
		"nodes": {"./examples/nodes/counter", "-c",
			filepath.Join("examples", "nodes", "counter", "fixed.yaml")},
	} {
		if !*deep && (name == "dpor" || name == "peers, random" || name == "surw") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			want, _ := runFor(t, 0, append([]string{"check", "-o", filepath.Join(tree, "counterexample")},
				args...))
			whole := min(time.Since(began), 5*time.Second)
			got, kills := killedAndResumed(t, args, times, whole)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-uninterrupted +resumed)\n%s", diff)
			}
			t.Logf("%d kills of a check that takes %v", kills, whole)
		})
	}
}

// killedAndResumed runs a check until it ends by itself, and kills it so many times before.
// Flags are given each time.
func killedAndResumed(t *testing.T, args []string, times int, whole time.Duration, flags ...string) (
	out string, kills int) {
	dir, err := os.MkdirTemp(tree, "run")
	if err != nil {
		t.Fatal(err)
	}
	saved := filepath.Join(dir, "run")
	for seen, vanished := false, 0; ; {
		command := append([]string{"check", "--save-interval", "1ms", "--run", saved, "-o",
			filepath.Join(tree, "counterexample")}, append(slices.Clone(flags), args...)...)
		switch {
		case there(saved, "state") || there(saved, "state.previous"):
			seen, command = true, append([]string{"check", "--resume", saved}, flags...)
		case there(saved): // killed before it was saved or, rarely, when it removed that at its end
			if seen {
				vanished++
			}
			if err := os.RemoveAll(saved); err != nil || vanished > 1 {
				t.Fatalf("what was saved has vanished %d times: %v", vanished, err)
			}
		}
		after := time.Duration(0)
		if kills < times {
			after = 1 + rand.N(whole)
		}
		out, killed := runFor(t, after, command)
		if !killed {
			return out, kills
		}
		kills++
	}
}

func there(elements ...string) bool {
	_, err := os.Stat(filepath.Join(elements...))
	return err == nil
}

// runFor runs tandem until it ends, or is killed after a while, and returns what it prints, but
// for what depends on the time and on where the peers stood.
func runFor(t *testing.T, after time.Duration, args []string) (out string, killed bool) {
	t.Helper()
	temporary, err := os.MkdirTemp(tree, "tmp") // what a killed process leaves behind goes with the tree
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(filepath.Join(bin, "tandem"), args...)
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), "TMPDIR="+temporary)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if after > 0 {
		defer time.AfterFunc(after, func() { cmd.Process.Kill() }).Stop()
	}
	err = cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		status := exit.Sys().(syscall.WaitStatus)
		killed = status.Signaled()
		if exit.ExitCode() == exitError {
			t.Fatalf("%v: %s", args, &stderr)
		}
	} else if err != nil {
		t.Fatal(err)
	}
	text := stdout.String()
	for _, varies := range []string{` in [0-9.]+(µs|ms|s)\b.*\n`, `(?m)^  [0-9,]+ checkpoints?\b.*\n`,
		`(?s)\nGo on\n.*`, `(?s)\nReplay\n.*`, `(?s)\nPeers restored\n.*?\n\n`,
		`(?s)\nOutput of the peers\n.*?\n\n`, `(?m)^  waited \d+ times? until\b.*\n`} {
		text = regexp.MustCompile(varies).ReplaceAllString(text, "\n")
	}
	return text, killed
}

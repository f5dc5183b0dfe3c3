package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/check"
	"github.com/tandem-mc/tandem/configs"
	"github.com/tandem-mc/tandem/report"
)

func someProgress(executions int) snapshot {
	s := snapshot{
		title: "./examples/scpto", peers: true, workers: 2,
		bounds: configs.Bounds{Executions: 10_000, Time: 10 * time.Minute},
	}
	s.Counts = check.Counts{Elapsed: 42 * time.Second}
	s.Counts.PeerCounts = check.PeerCounts{Hits: 2220, Misses: 1, Checkpoints: 12, Restores: 1}
	v := &s.Verdict
	v.Executions, v.Redundant, v.Transitions, v.Violations = executions, 20, 64_123, 1
	v.Last, v.Deepest = 38, 1052
	return s
}

const someFrame = `checking ./examples/scpto
  executions  1,234, 29/s by 2 workers
  traces      1,214, and 20 redundant
  violations  1
  depth       38 transitions, at most 1,052
  cache       2,220 hits, 1 miss
  peers       12 checkpoints, 1 restore
  time        42s; at most 9m18s and 8,766 executions left`

// TestLiveView shows frames on a terminal, one in the place of the other, and leaves it as it was.
// What kind of terminal it is need not be known.
func TestLiveView(t *testing.T) {
	for _, size := range []struct {
		kind          string
		columns, rows int
	}{{"xterm-256color", 80, 24}, {"xterm-256color", 20, 24}, {"xterm-256color", 80, 4}, {"", 80, 24}} {
		t.Setenv("TERM", size.kind)
		showFrames(t, size.columns, size.rows)
	}
}

func showFrames(t *testing.T, columns, rows int) {
	x := openTerminal(t, columns, rows)
	v := newLiveView(x.tty)
	other := strings.NewReplacer("1,234, 29/s", "9,999, 238/s", "1,214,", "9,979,", "8,766 executions",
		"1 execution").Replace(someFrame)
	for _, frame := range []struct {
		executions int
		want       string
	}{{1234, someFrame}, {9999, other}, {1234, someFrame}} {
		frame.want = part(frame.want, columns, rows-1)
		v.show(someProgress(frame.executions))
		x.await(t, frame.want, func(screen string) bool { return screen == frame.want })
		if !x.hidden {
			t.Error("the cursor is shown")
		}
	}
	v.close()
	x.await(t, "an empty screen", func(screen string) bool { return screen == "" && !x.hidden })
	if x.row != 0 || x.col != 0 {
		t.Errorf("the cursor is left in row %d, column %d", x.row, x.col)
	}
}

// part is what a terminal of this size shows.
func part(text string, columns, rows int) string {
	lines := strings.Split(text, "\n")
	lines = lines[:min(len(lines), rows)]
	for i := range lines {
		lines[i] = strings.TrimRight(cut(lines[i], columns), " ")
	}
	return strings.Join(lines, "\n")
}

func TestPlainProgress(t *testing.T) {
	var out bytes.Buffer
	s := someProgress(1234)
	p := &progress{out: &out, bounds: s.bounds}
	for _, second := range []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 60, 61, 119, 120, 121, 180} {
		s.Counts.Elapsed = time.Duration(second) * time.Second
		p.tell(s.Progress)
	}
	var seconds []string
	for line := range strings.Lines(out.String()) {
		seconds = append(seconds, strings.Fields(line)[1])
	}
	if diff := cmp.Diff([]string{"1", "2", "4", "8", "60", "120", "180"}, seconds); diff != "" {
		t.Errorf("when there are lines:\n%s", diff)
	}
	want := "tandem: 1 s: 1,234 executions (1,234/s), 64,123 transitions, 1 violation; at most 9m59s and " +
		"8,766 executions left\n"
	if first, _, _ := strings.Cut(out.String(), "\n"); first+"\n" != want {
		t.Errorf("%q, want %q", first, want)
	}
}

// TestFoundViolations: each distinct violation is told once, at once, and in one line; the counts
// name them.
func TestFoundViolations(t *testing.T) {
	var out bytes.Buffer
	s := someProgress(1234)
	p := &progress{out: &out, bounds: s.bounds}
	first := report.Violation{Outcome: "deadlock", Places: []string{"lock at a.go:1", "lock at b.go:2"}}
	second := report.Violation{Outcome: "panic", Message: "x\n\x1b" + strings.Repeat("y", 300)}
	s.Counts.Elapsed = time.Millisecond
	for _, found := range [][]report.Violation{nil, {first}, {first}, {first, second}, {first, second}} {
		s.Found = found
		p.tell(s.Progress)
	}
	const begin = "violation 2: panic: x  "
	want := "tandem: violation 1: deadlock, lock at a.go:1, lock at b.go:2\n" +
		"tandem: " + begin + strings.Repeat("y", maxFoundLine-len(begin)) + "\n"
	if got := out.String(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	s.Verdict.Violations = 7
	if line := s.line(); !strings.Contains(line, ", 7 violations (2 distinct);") &&
		!strings.Contains(line, ", 7 violations (2 distinct), cache") {
		t.Errorf("the line is %s", line)
	}
	if rows := s.rows(); !slices.Contains(rows, [2]string{"violations", "7 (2 distinct)"}) {
		t.Errorf("the rows are %v", rows)
	}
}

const endless = `package main

import "sync"

func main() {
	var m sync.Mutex
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() { m.Lock(); m.Unlock() })
	}
	wg.Wait()
}
`

// TestInterruptedOnTerminal presses Ctrl-C while a check shows how far it is: it ends as by
// SIGINT, with its result, and with the terminal as it was.
func TestInterruptedOnTerminal(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module example.com/endless\n\ngo 1.25\n",
		"main.go": endless} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	x := openTerminal(t, 100, 30)
	var out bytes.Buffer
	cmd := exec.Command(filepath.Join(bin, "tandem"), "check", ".", "--search", "random", "--executions",
		"1000000000", "--time", "1h")
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, x.tty, &out, x.tty
	cmd.Env = append(os.Environ(), "TERM=xterm-256color")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	x.program = cmd.Process
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	shown := func(screen string) bool { return strings.Contains(screen, "executions") }
	x.await(t, "progress", func(screen string) bool { return shown(screen) && x.hidden })
	if _, err := x.Write([]byte{3}); err != nil {
		t.Fatal(err)
	}
	x.await(t, "an empty view", func(screen string) bool { return !shown(screen) && !x.hidden })
	err := cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != exitUnknown {
		t.Errorf("%v, want exit code %d", err, exitUnknown)
	}
	if !strings.HasPrefix(out.String(), "UNKNOWN: it was interrupted\n") ||
		strings.Contains(out.String(), "\x1b") {
		t.Errorf("the result is %q", out.String())
	}
}

func TestLeft(t *testing.T) {
	for want, executions := range map[string]float64{
		"at most 9m18s and 8,766 executions left":                             0,
		"about 50 % seen, 42s to go; at most 9m18s and 8,766 executions left": 2468,
		"about 100 % seen, 0s to go; at most 9m18s and 8,766 executions left": 1234,
		"about 1.2 % seen; at most 9m18s and 8,766 executions left":           100_000,
		"less than 0.01 % seen; at most 9m18s and 8,766 executions left":      1e9,
		"about 0.012 % seen; at most 9m18s and 8,766 executions left":         1e7,
	} {
		s := someProgress(1234)
		s.Verdict.Estimate.Executions = executions
		if got := s.left(); got != want {
			t.Errorf("%v executions: %q, want %q", executions, got, want)
		}
	}
	s := someProgress(1234)
	s.bounds.SetTime(time.Hour)
	if got, want := s.left(), "at most 59m18s left"; got != want {
		t.Errorf("with a time that was asked for: %q, want %q", got, want)
	}
}

package progress

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/check"
	"github.com/tandem-mc/tandem/configs"
	"github.com/tandem-mc/tandem/internal/testkit/terminal"
	"github.com/tandem-mc/tandem/report"
)

// someProgress is how far a check may be after so many executions: it has peers, and a violation.
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

// someFrame is what a terminal shows of that after 1,234 executions.
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

// showFrames shows several frames on a terminal of a size, and looks at its screen after each.
func showFrames(t *testing.T, columns, rows int) {
	x := terminal.Open(t, columns, rows)
	v := newLiveView(x.TTY)
	other := strings.NewReplacer("1,234, 29/s", "9,999, 238/s", "1,214,", "9,979,", "8,766 executions",
		"1 execution").Replace(someFrame)
	for _, frame := range []struct {
		executions int
		want       string
	}{{1234, someFrame}, {9999, other}, {1234, someFrame}} {
		frame.want = part(frame.want, columns, rows-1)
		v.show(someProgress(frame.executions))
		x.Await(t, frame.want, func(screen string) bool { return screen == frame.want })
		if !x.Hidden {
			t.Error("the cursor is shown")
		}
	}
	v.close()
	x.Await(t, "an empty screen", func(screen string) bool { return screen == "" && !x.Hidden })
	if x.Row != 0 || x.Col != 0 {
		t.Errorf("the cursor is left in row %d, column %d", x.Row, x.Col)
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

// TestPlainProgress: lines become rarer, up to one a minute, and have what a log needs.
func TestPlainProgress(t *testing.T) {
	var out bytes.Buffer
	s := someProgress(1234)
	p := &Progress{Out: &out, Bounds: s.bounds}
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

// TestSimplerIsTold: to make a violation simpler has lines of its own, which begin after a second.
// A search that goes on after that has its own again.
func TestSimplerIsTold(t *testing.T) {
	var out bytes.Buffer
	s := someProgress(1234)
	p := &Progress{Out: &out, Bounds: s.bounds, Nodes: true}
	for second := 100; second < 110; second++ {
		s.Counts.Elapsed = time.Duration(second) * time.Second
		if s.Tried, s.Limit = 10*(second-100), 400; second > 105 {
			s.Tried, s.Limit = 0, 0
		}
		p.tell(s.Progress)
	}
	const simpler = "tandem: a violation is found; it is made simpler: "
	want := simpler + "10 of 400 executions\n" + simpler + "20 of 400 executions\n" +
		simpler + "40 of 400 executions\n" +
		"tandem: 106 s: 1,234 executions of single nodes (11/s); at most 8m14s and 8,766 executions left\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	row := [2]string{"made simpler", "40 of 400 executions"}
	if s.Tried, s.Limit = 40, 400; !slices.Contains(s.rows(), row) {
		t.Errorf("the rows are %v", s.rows())
	}
}

// TestFoundViolations: each distinct violation is told once, at once, and in one line; the counts
// name them.
func TestFoundViolations(t *testing.T) {
	var out bytes.Buffer
	s := someProgress(1234)
	p := &Progress{Out: &out, Bounds: s.bounds}
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

// TestLeft: what is left is said by the bounds, and by the estimate of the search where that says
// something.
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

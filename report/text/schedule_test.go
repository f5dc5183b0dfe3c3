package text

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/report/internal/printer"
)

// sectionOf is what a text has below a heading, up to the next one.
func sectionOf(t *testing.T, text, heading string) string {
	t.Helper()
	_, rest, ok := strings.Cut("\n"+text, "\n"+heading)
	if !ok {
		t.Fatalf("there is no section %q in\n%s", heading, text)
	}
	_, rest, _ = strings.Cut(rest, "\n")
	section, _, _ := strings.Cut(rest, "\n\n")
	return strings.TrimSuffix(section, "\n")
}

// lock is a step of a goroutine at an object of its own, so that no two rows are joined.
func lock(goroutine, object int) report.Step {
	return report.Step{
		Goroutine: goroutine, Operation: "lock", Object: fmt.Sprint("mutex ", object), Source: "a.go:1",
		Function: "p.f", Kind: report.Synchronisation,
	}
}

// TestIndentations: goroutines are indented in the order in which they first run; those beyond the
// last indentation share it.
func TestIndentations(t *testing.T) {
	c := &report.Counterexample{}
	const goroutines = maxIndents + 3
	for i := range goroutines {
		id := goroutines - i // 8, 7, 6, ...
		c.Goroutines = append(c.Goroutines, report.Goroutine{ID: id, Name: fmt.Sprint("main/", id)})
		c.Steps = append(c.Steps, lock(id, i))
	}
	c.Steps = append(c.Steps, lock(goroutines, 99)) // the first one again
	var names []string
	var columns []int
	for line := range strings.Lines(sectionOf(t, textOf(t, c, report.Options{}), "Schedule")) {
		if name := strings.TrimLeft(line, " "); strings.HasPrefix(name, "main/") {
			names = append(names, strings.Fields(name)[0])
			columns = append(columns, (len(line)-len(name)-numberWidth)/indentWidth)
		}
	}
	wantNames := []string{"main/8", "main/7", "main/6", "main/5", "main/4", "main/3", "main/2", "main/1",
		"main/8"}
	if diff := cmp.Diff(wantNames, names); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
	if want := []int{0, 1, 2, 3, 4, 5, 5, 5, 0}; !slices.Equal(columns, want) {
		t.Errorf("indentations %v, want %v", columns, want)
	}
}

// TestPreemptionsAreNamed: a header says whom a goroutine preempts. Time preempts nobody, and whom
// it interrupts is preempted by the one that comes after.
func TestPreemptionsAreNamed(t *testing.T) {
	preempting := func(s report.Step) report.Step { s.Preempts = true; return s }
	tick := report.Step{Goroutine: report.Clock, Operation: "the clock advances", Kind: report.Timer}
	c := &report.Counterexample{
		Goroutines: []report.Goroutine{{ID: 1, Name: "main"}, {ID: 2, Name: "main/1"}},
		Steps: []report.Step{
			preempting(lock(1, 1)), preempting(lock(2, 2)), lock(1, 3), tick, preempting(lock(2, 4)),
			preempting(lock(9, 5)),
		},
	}
	var headers []string
	for line := range strings.Lines(sectionOf(t, textOf(t, c, report.Options{}), "Schedule")) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "lock") && line != "" &&
			(line[0] < '0' || line[0] > '9') {
			headers = append(headers, strings.Join(strings.Fields(line), " "))
		}
	}
	want := []string{"main", "main/1 (preempts main)", "main", "clock", "main/1 (preempts main)",
		"goroutine 9 (preempts main/1)"}
	if diff := cmp.Diff(want, headers); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestRowsHaveTheirSteps: every step is in the schedule, in the order of their numbers, however
// they are joined.
func TestRowsHaveTheirSteps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &report.Counterexample{}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			c.Steps = append(c.Steps, lock(rapid.IntRange(1, 3).Draw(t, "goroutine"),
				rapid.IntRange(1, 2).Draw(t, "object")))
		}
		var text strings.Builder
		if err := Write(&text, c, report.Options{Unfold: rapid.Bool().Draw(t, "unfold")}); err != nil {
			t.Fatal(err)
		}
		_, schedule, _ := strings.Cut(text.String(), "\nSchedule")
		schedule, _, _ = strings.Cut(schedule, "\n\n")
		next := 1
		for line := range strings.Lines(schedule) {
			var first, last int
			switch n, _ := fmt.Sscanf(line, "%d-%d ", &first, &last); n {
			case 0:
				continue
			case 1:
				last = first
			}
			if first != next || last < first {
				t.Fatalf("%q follows step %d in\n%s", line, next-1, schedule)
			}
			next = last + 1
		}
		if next != len(c.Steps)+1 {
			t.Fatalf("%d of %d steps are shown:\n%s", next-1, len(c.Steps), schedule)
		}
	})
}

// TestColumnsOfTheSchedule: the source of an operation begins in one column, whatever the
// operation; messages and restores stay within the width.
func TestColumnsOfTheSchedule(t *testing.T) {
	long := strings.Repeat("long ", 50)
	c := &report.Counterexample{Steps: []report.Step{
		lock(1, 1),
		{Goroutine: 1, Operation: long, Object: long, Source: "a.go:1", Function: "p.f", Kind: report.Socket,
			Restored: long, IO: []report.Message{{ToPeer: true, Data: []byte(long)}}},
	}}
	for line := range strings.Lines(sectionOf(t, textOf(t, c, report.Options{}), "Schedule")) {
		line = strings.TrimSuffix(line, "\n")
		if n := utf8.RuneCountInString(line); n > printer.Width {
			t.Errorf("%d columns: %q", n, line)
		}
		if at := strings.Index(line, "a.go:1"); at >= 0 && at != sourceColumn {
			t.Errorf("the source is in column %d, want %d: %q", at, sourceColumn, line)
		}
	}
}

// TestOutputsOfPeers: each peer has its outputs together, in the order of the first ones, with the
// step where a piece begins. Of many lines the last are shown.
func TestOutputsOfPeers(t *testing.T) {
	output := func(step int, peer, text string) report.Output {
		return report.Output{Step: step, Wrote: report.Wrote{Peer: peer, Text: []byte(text)}}
	}
	c := &report.Counterexample{Outputs: []report.Output{
		output(0, "quiet", ""), output(1, "b", "one\r\n\ttwo\n"), output(2, "a", "three"),
		output(3, "quiet", ""), output(4, "b", "four\x1b\n\n"),
	}}
	got := sectionOf(t, textOf(t, c, report.Options{}), "Output of the peers")
	want := strings.Join([]string{
		"  quiet",
		"  b",
		"        2  one",
		"               two",
		"        5  four\\x1b",
		"",
		"  a",
		"        3  three",
	}, "\n")
	// The empty line is an output, too, and ends the section for sectionOf.
	whole := textOf(t, c, report.Options{})
	if !strings.Contains(whole, "\n"+want+"\n") {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	c.Outputs = []report.Output{output(6, "a", strings.Repeat("line\n", maxOutput+2))}
	whole = textOf(t, c, report.Options{})
	if n := strings.Count(whole, "  line\n"); n != maxOutput ||
		!strings.Contains(whole, "... 2 lines before\n") {
		t.Errorf("%d lines are shown:\n%s", n, whole)
	}
}

// TestOutputsOfManyPeers: not more peers are shown than fit a list, and each only once.
func TestOutputsOfManyPeers(t *testing.T) {
	c := &report.Counterexample{}
	for range 2 {
		for i := range printer.MaxListed + 5 {
			c.Outputs = append(c.Outputs, report.Output{
				Wrote: report.Wrote{Peer: fmt.Sprintf("peer%d", i), Text: []byte("x\n")},
			})
		}
	}
	text := textOf(t, c, report.Options{})
	if n := strings.Count(text, "\n  peer"); n != printer.MaxListed {
		t.Errorf("%d peers", n)
	}
	if n := strings.Count(text, "\n  peer0\n"); n != 1 {
		t.Errorf("the first one is shown %d times", n)
	}
}

// TestFailures: what each goroutine waits for belongs to a failure, but not to a data race; and
// what the program has printed is not mixed up with it.
func TestFailures(t *testing.T) {
	waiting := []report.Goroutine{
		{ID: 1, Name: "main", Blocked: "lock mutex 1"}, {ID: 2, Name: "main/1"},
		{ID: 3, Name: "main/2", Blocked: "receive"},
	}
	timer := &report.PeerTimer{Peer: "redis\x1b", Due: 3 * time.Second}
	for name, test := range map[string]struct {
		c    report.Counterexample
		want string
	}{
		"deadlock": {report.Counterexample{
			Failure: report.Failure{Kind: model.Deadlock, Message: "deadlock"}, Goroutines: waiting,
		}, "  deadlock\n  main         waits: lock mutex 1\n  main/2       waits: receive"},
		"with what was printed": {report.Counterexample{
			Failure:    report.Failure{Kind: model.Deadlock, Message: "deadlock", Printed: "\tso far"},
			Goroutines: waiting,
		}, "  deadlock"},
		"exit": {report.Counterexample{
			Failure: report.Failure{Kind: model.Exited, Message: "exit status 1", Printed: "why",
				Status: 1},
			Goroutines: waiting[:1],
		}, "  exit status 1\n  why\n  main         waits: lock mutex 1"},
		"a timer of a peer": {report.Counterexample{
			Failure: report.Failure{Kind: model.Deadlock, Message: "deadlock"}, PeerTimer: timer,
		}, "  deadlock\n  redis\\x1b still had a timer, due in 3s (see peer_patience)"},
		"many lines": {report.Counterexample{
			Failure: report.Failure{Message: strings.Repeat("line\n", maxOutcome+3)},
		}, strings.Repeat("  line\n", maxOutcome) + "  and 3 more lines"},
	} {
		t.Run(name, func(t *testing.T) {
			got := sectionOf(t, textOf(t, &test.c, report.Options{}), "Failure")
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	race := report.Counterexample{Race: &report.Race{}, Goroutines: waiting, PeerTimer: timer}
	if text := textOf(t, &race, report.Options{}); strings.Contains(text, "waits:") ||
		strings.Contains(text, "still had a timer") {
		t.Errorf("a data race has nothing to do with what others wait for:\n%s", text)
	}
}

// TestManyGoroutines: lists are cut, and say how much is left out.
func TestManyGoroutines(t *testing.T) {
	c := &report.Counterexample{Failure: report.Failure{Kind: model.Deadlock, Message: "deadlock"}}
	for i := range printer.MaxListed + 7 {
		c.Goroutines = append(c.Goroutines, report.Goroutine{ID: i, Name: fmt.Sprint("g", i), Blocked: "x"})
	}
	text := textOf(t, c, report.Options{})
	if section := sectionOf(t, text, "Goroutines"); strings.Count(section, "\n") != printer.MaxListed ||
		!strings.HasSuffix(section, "  and 7 more") {
		t.Errorf("goroutines:\n%s", section)
	}
	if n := strings.Count(text, "waits: x"); n != printer.MaxListed {
		t.Errorf("%d goroutines wait", n)
	}
}

// TestPartsForPages: what pages show beside the schedule is the same as in the text.
func TestPartsForPages(t *testing.T) {
	c := &report.Counterexample{
		Run:     report.Run{Package: "./x", Verdict: report.Violated, Reason: "deadlock"},
		Failure: report.Failure{Message: "deadlock"}, ReplayCommand: "tandem replay x",
		Steps: []report.Step{{Restored: "checkpoint 3"}},
	}
	whole := textOf(t, c, report.Options{})
	for begins, write := range map[string]func(io.Writer, *report.Counterexample) error{
		"Failure\n": WriteFailure, "Peers restored\n": WriteSearch,
	} {
		var part strings.Builder
		if err := write(&part, c); err != nil {
			t.Fatal(err)
		}
		if text := part.String(); !strings.Contains(whole, text) || !strings.HasPrefix(text, begins) ||
			strings.HasSuffix(text, "\n") {
			t.Errorf("%q is not a part of\n%s", text, whole)
		}
		if err := write(fullDisk{}, c); err == nil {
			t.Error("the error of the writer is lost")
		}
	}
}

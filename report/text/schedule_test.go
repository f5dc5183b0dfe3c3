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
	"github.com/tandem-mc/tandem/report/internal/reporttest"
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
			s := lock(rapid.IntRange(1, 3).Draw(t, "goroutine"), rapid.IntRange(1, 2).Draw(t, "object"))
			s.Library = rapid.SampledFrom([]string{"", "", "net/http"}).Draw(t, "library")
			s.Key = rapid.IntRange(0, 9).Draw(t, "key") == 0
			c.Steps = append(c.Steps, s)
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

// TestColumnsOfTheSchedule: the source of an operation begins in one column, or behind a longer
// operation; lines stay within the width, but for a source that is longer than all of it.
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
		if at := strings.Index(line, "a.go:1"); at >= 0 && at != sourceColumn &&
			!strings.Contains(line, "long") {
			t.Errorf("the source is in column %d, want %d: %q", at, sourceColumn, line)
		}
	}
}

// TestPlacesAreWhole: a place is to be opened, so it is never cut off, however long it is.
func TestPlacesAreWhole(t *testing.T) {
	source := "/home/" + strings.Repeat("directory/", 20) + "a.go:1"
	step := lock(1, 1)
	step.Source = source
	c := &report.Counterexample{Steps: []report.Step{step}, Failure: report.Failure{
		Kind: model.Panicked, Message: "panic: x", Stack: []report.Frame{{Function: "p.f", Source: source}}}}
	if n := strings.Count(textOf(t, c, report.Options{}), source+"\n"); n != 2 {
		t.Errorf("the place is shown %d times as a whole, want 2", n)
	}
}

// TestOutputs: what is printed stands below its step, each line with who printed it. Of many lines
// the last are shown. What belongs to no step comes after the schedule.
func TestOutputs(t *testing.T) {
	output := func(step int, peer, text string) report.Output {
		return report.Output{Step: step, Wrote: report.Wrote{Peer: peer, Text: []byte(text)}}
	}
	c := &report.Counterexample{Steps: []report.Step{lock(1, 1), lock(1, 2), lock(1, 3)},
		Outputs: []report.Output{
			output(0, "b", "one\r\n\ttwo\n"), output(1, "", "three"), output(1, "quiet", ""),
			output(2, "b", strings.Repeat("line\n", maxOutput+2)), output(-1, "c", "late\x1b\n"),
		}}
	text := textOf(t, c, report.Options{})
	var got []string
	for line := range strings.Lines(sectionOf(t, text, "Schedule")) {
		if line = strings.TrimSpace(line); !strings.HasSuffix(line, "b prints: line") {
			got = append(got, strings.Join(strings.Fields(line), " "))
		}
	}
	want := []string{"goroutine 1", "1 lock mutex 1 a.go:1 f", "b prints: one", "b prints: two",
		"2 lock mutex 2 a.go:1 f", "the program prints: three", "3 lock mutex 3 a.go:1 f",
		"... 2 lines before"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if n := strings.Count(text, "b prints: line\n"); n != maxOutput {
		t.Errorf("%d lines are shown", n)
	}
	if got := sectionOf(t, text, "Output"); got != `  c prints: late\x1b` {
		t.Errorf("what has no step: %q", got)
	}
}

// TestVerbose: how the search was done, and what libraries wait for, is said on request.
func TestVerbose(t *testing.T) {
	c := reporttest.SSHSession()
	c.Failure.Kind = model.Deadlock
	c.Goroutines[1].Library = true
	short, long := textOf(t, c, report.Options{}), textOf(t, c, report.Options{Verbose: true})
	for _, part := range []string{"the peers had read the time", "checkpoint strategy", "\nGoroutines\n",
		"[answered by the cache]", "\nPeers restored\n",
		"restored from the checkpoint after 9 inputs; 1 input replayed"} {
		if strings.Contains(short, part) || !strings.Contains(long, part) {
			t.Errorf("%q is to be there on request alone", part)
		}
	}
	if !strings.Contains(short, "=== dropbear restored\n") {
		t.Errorf("what is left out is not said:\n%s", short)
	}
}

// TestGoroutinesOfLibraries: a few that wait have a line each, since one of them may be what the
// others wait for. Many are counted.
func TestGoroutinesOfLibraries(t *testing.T) {
	c := reporttest.SSHSession()
	c.Failure.Kind = model.Deadlock
	c.Goroutines[1].Library = true
	const line = "waits: read from connection 0, in a library"
	if few := textOf(t, c, report.Options{}); strings.Count(few, line) != 1 {
		t.Errorf("%q is to be there once:\n%s", line, few)
	}
	for range 3 {
		c.Goroutines = append(c.Goroutines, c.Goroutines[1])
	}
	many := textOf(t, c, report.Options{})
	if strings.Contains(many, line) || !strings.Contains(many, "and 4 goroutines of libraries: --verbose") {
		t.Errorf("four are to be counted, and not listed:\n%s", many)
	}
	all := textOf(t, c, report.Options{Verbose: true})
	if strings.Count(all, "waits: read from connection 0") != 4 {
		t.Errorf("all are to be listed on request:\n%s", all)
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
	verbose := textOf(t, c, report.Options{Verbose: true})
	if section := sectionOf(t, verbose, "Goroutines"); strings.Count(section, "\n") != printer.MaxListed ||
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
	whole := textOf(t, c, report.Options{Verbose: true})
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

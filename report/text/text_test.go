package text

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tandem-mc/tandem/internal/testkit/golden"

	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/report/internal/printer"
	"github.com/tandem-mc/tandem/report/internal/reporttest"
	"github.com/tandem-mc/tandem/report/internal/words"
	"pgregory.net/rapid"
)

func textOf(t *testing.T, c *report.Counterexample, options report.Options) string {
	t.Helper()
	var text bytes.Buffer
	if err := Write(&text, c, options); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

func TestGolden(t *testing.T) {
	tests := []struct {
		file    string
		example *report.Counterexample
		options report.Options
	}{
		{"ssh.txt", reporttest.SSHSession(), report.Options{}},
		{"ssh_color.txt", reporttest.SSHSession(), report.Options{Color: true}},
		{"ssh_unfold.txt", reporttest.SSHSession(), report.Options{Unfold: true}},
		{"deadlock.txt", reporttest.Deadlock(), report.Options{}},
		{"folded.txt", reporttest.Long(3, 20), report.Options{}},
		{"hostile.txt", reporttest.Hostile(), report.Options{}},
	}
	for _, test := range tests {
		t.Run(test.file, func(t *testing.T) {
			golden.Equal(t, test.file,
				textOf(t, test.example, test.options))
		})
	}
}

func TestGoldenSummary(t *testing.T) {
	run := reporttest.SSHSession().Run
	run.Verdict, run.Reason = report.Unknown, "the bound of 12 executions was reached"
	run.Assumptions.Other = []string{"no network faults"}
	long := run
	long.Reason = "the limit of 30 executions of nodes was reached; executions were cut off: no timer " +
		"was due while the network was parted, until connects are given up"
	for file, run := range map[string]report.Run{
		"summary_unknown.txt": run,
		"summary_long.txt":    long,
		"summary_holds.txt": {Package: "./examples/httpget", Verdict: report.Holds,
			Reason: "all schedules were covered", Counts: report.Counts{Executions: 1}},
	} {
		var text bytes.Buffer
		if err := WriteSummary(&text, run, report.Options{}); err != nil {
			t.Fatal(err)
		}
		golden.Equal(t, file, text.String())
	}
}

func TestLongScheduleKeepsItsEnds(t *testing.T) {
	c := reporttest.Long(1000, 1)
	text := textOf(t, c, report.Options{})
	if n := strings.Count(text, "\n"); n > 1600 {
		t.Errorf("%d lines", n)
	}
	for _, want := range []string{"        1    ", "     2000  ", "... steps 101 to 1700 are left out\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if unfolded := textOf(t, c, report.Options{Unfold: true}); strings.Count(unfolded, " lock ") != 1000 {
		t.Error("not all steps are shown when asked for")
	}
}

// No text, wherever it comes from, reaches the terminal in a form it acts on, or leaves the
// columns of the schedule.
func TestAnyTextIsPrintable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := func(name string) string { return string(rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, name)) }
		c := &report.Counterexample{
			Run: report.Run{Package: text("package"), Args: []string{text("arg")},
				Verdict: report.Violated, Reason: text("reason")},
			Failure: report.Failure{Message: text("message"), Printed: text("printed")},
			Goroutines: []report.Goroutine{{
				ID: 1, Name: text("name"), Created: text("created"), Function: text("function"),
				Blocked: text("blocked"),
			}},
			Steps: []report.Step{{
				Goroutine: 1, Operation: text("operation"), Object: text("object"), Source: text("source"),
				Function: text("in"), Kind: report.Socket, Restored: text("restored"), Cached: true,
				IO: []report.Message{reporttest.ToPeer(text("data")), {Event: text("event")}},
			}},
		}
		var out bytes.Buffer
		if err := Write(&out, c, report.Options{}); err != nil {
			t.Fatal(err)
		}
		_, schedule, _ := strings.Cut(out.String(), "\nSchedule\n")
		schedule, _, _ = strings.Cut(schedule, "\nFailure\n")
		for line := range strings.Lines(out.String()) {
			if line = strings.TrimSuffix(line, "\n"); words.Printable(line) != line {
				t.Fatalf("unprintable: %q", line)
			}
		}
		for line := range strings.Lines(schedule) {
			if n := utf8.RuneCountInString(line) - 1; n > printer.Width {
				t.Fatalf("%d columns: %q", n, line)
			}
		}
	})
}

type fullDisk struct{}

var errFull = errors.New("no space left on device")

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

func TestLinesAreBounded(t *testing.T) {
	const most = 2000 // characters of a line
	c := &report.Counterexample{Failure: report.Failure{Message: strings.Repeat("x", 10*most)},
		ReplayCommand: strings.Repeat("y", 10*most)}
	if text := textOf(t, c, report.Options{}); len(text) > 3*most {
		t.Errorf("%d bytes", len(text))
	}
}

func TestWriteErrorsAreReturned(t *testing.T) {
	if err := Write(fullDisk{}, reporttest.Deadlock(), report.Options{}); !errors.Is(err, errFull) {
		t.Errorf("WriteText: %v", err)
	}
	if err := WriteSummary(fullDisk{}, report.Run{}, report.Options{}); !errors.Is(err, errFull) {
		t.Errorf("WriteSummary: %v", err)
	}
}

func TestDataRace(t *testing.T) {
	golden.Equal(t, "race.txt", textOf(t, reporttest.DataRace(), report.Options{}))
	evil := reporttest.DataRace()
	evil.Race.Later = report.MemoryAccess{Operation: "\x1b[2J",
		Goroutine: report.Goroutine{Name: "\x07", Created: "\x1b"},
		Stack:     []report.Frame{{Function: "\x1b[31m", Source: "\r"}}}
	evil.Race.Earlier = report.MemoryAccess{Operation: "read", Stack: make([]report.Frame, 1000)}
	text := textOf(t, evil, report.Options{})
	if strings.ContainsAny(text, "\x1b\x07\r") || strings.Count(text, "\n") > 200 {
		t.Errorf("%d lines: %q", strings.Count(text, "\n"), text)
	}
}

package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tandem-mc/tandem/examples/protocols/onepaxos"
	"github.com/tandem-mc/tandem/examples/protocols/twophase"
	"github.com/tandem-mc/tandem/protocol"
)

// TestTable: a row has the numbers of the paper, and those of each search.
func TestTable(t *testing.T) {
	var out strings.Builder
	if err := run([]string{"-rows", "3 managers"}, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 3 {
		t.Fatalf("%d lines, want a head and one row:\n%s", len(lines), &out)
	}
	for _, want := range []string{"two-phase commit, 3 managers", "stateright: 288", "| 288 states, "} {
		if !strings.Contains(lines[2], want) {
			t.Errorf("the row lacks %q:\n%s", want, lines[2])
		}
	}
	for _, line := range lines {
		if strings.Count(line, "|") != strings.Count(lines[0], "|") {
			t.Errorf("a line with another number of columns than the first:\n%s\n%s", lines[0], line)
		}
	}
}

// TestVerdicts: a row whose verdict is not the known one is an error; a search that was too long is
// none, and shows.
func TestVerdicts(t *testing.T) {
	e := experiment{name: "x", model: func() *protocol.Model { return twophase.Model(2) }, isViolated: true}
	if row, err := e.row(); err == nil {
		t.Errorf("no error for a violation that is not found:\n%s", row)
	}
	for _, c := range []struct {
		r    protocol.Result
		want string
	}{
		{protocol.Result{Verdict: protocol.Unknown, Progress: protocol.Progress{States: 1200,
			Elapsed: time.Minute}}, "> 1,200 states, 60 s"},
		{protocol.Result{Progress: protocol.Progress{Elapsed: time.Minute}}, "no end"},
		{protocol.Result{Verdict: protocol.Holds, Whole: "why", Progress: protocol.Progress{States: 3,
			Elapsed: time.Second}}, "3 states, 1.00 s, whole"},
		{protocol.Result{Violation: &protocol.Violation{Steps: 7}, Verdict: protocol.Violated,
			Progress: protocol.Progress{States: 999, Elapsed: 1234 * time.Millisecond}},
			"7 steps: 999 states, 1.23 s"},
	} {
		if got := cell(&c.r); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// TestArguments: what is wrong with them is said.
func TestArguments(t *testing.T) {
	for argument, want := range map[string]string{"-rows=(": "missing closing",
		"-rows=nothing": "no name matches", "-unknown": "not defined"} {
		err := run([]string{argument}, io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", argument, err, want)
		}
	}
}

// TestReadme: its table has a row for each experiment that is not long, and can be replaced.
func TestReadme(t *testing.T) {
	data, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range experiments() {
		if !e.isLong && !strings.Contains(string(data), "\n| "+e.name+" |") {
			t.Errorf("the table has no row for %q: make protocols UPDATE=1", e.name)
		}
	}
	for _, l := range systems() {
		if !strings.Contains(string(data), "\n| "+l.name+" |") {
			t.Errorf("the table has no row for %q: make online UPDATE=1", l.name)
		}
	}
	file := filepath.Join(t.TempDir(), "README.md")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := replaceTable(file, "| new |\n", tableBegins, tableEnds); err != nil {
		t.Fatal(err)
	}
	data, err = os.ReadFile(file)
	if err != nil || !regexp.MustCompile(`(?s)^# .*processors\.\n\n\| new \|\n<!-- end`).Match(data) {
		t.Errorf("error %v, or the table was not replaced:\n%s", err, data)
	}
	if err := os.WriteFile(file, []byte("nothing\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	err = replaceTable(file, "x", tableBegins, tableEnds)
	if err == nil || !strings.Contains(err.Error(), "lacks") {
		t.Errorf("error %v; want one that says what is missing", err)
	}
}

// logs notes what a test says.
type logs struct{ failed, logged string }

func (*logs) Helper()                             {}
func (l *logs) Logf(format string, args ...any)   { l.logged += fmt.Sprintf(format, args...) }
func (l *logs) Errorf(format string, args ...any) { l.failed += fmt.Sprintf(format, args...) }
func (l *logs) Fatalf(format string, args ...any) { l.Errorf(format, args...) }

// TestSnapshot: a violation that was predicted in a system that runs is repeated from its snapshot,
// by way of a file, and has the same chart.
func TestSnapshot(t *testing.T) {
	l := systems()[1]
	r, err := l.run(1)
	if err != nil {
		t.Fatal(err)
	}
	data, err := r.Snapshot.Save()
	if err != nil {
		t.Fatal(err)
	}
	m, err := l.config().Model.Load(data, onepaxos.Propose{}, onepaxos.TakeOver{}, onepaxos.Replace{},
		onepaxos.Lead{}, onepaxos.Change{}, onepaxos.Last{}, onepaxos.Prepare{}, onepaxos.Promise{},
		onepaxos.Accept{}, onepaxos.Learn{})
	if err != nil {
		t.Fatal(err)
	}
	var said logs
	protocol.Replay(&said, m, r.Violation.Run)
	if !strings.Contains(said.failed, "violated: at most one value is learned") ||
		!strings.Contains(said.failed, r.Violation.Chart) {
		t.Errorf("%s\n%s; want the chart\n%s", said.failed, said.logged, r.Violation.Chart)
	}
}

// TestOnline: the bug of 1Paxos is predicted in a system that runs, and the row says after how many
// snapshots.
func TestOnline(t *testing.T) {
	var progress strings.Builder
	for _, l := range systems() {
		if !strings.HasPrefix(l.name, "1Paxos") {
			continue
		}
		row, err := l.row(2, &progress)
		if err != nil || !strings.Contains(row, "| 225 s: about 4 | 2 of 2 |") ||
			strings.Count(progress.String(), "at most one value is learned") != 2 {
			t.Errorf("%s\n%s error %v; want two violations", row, progress.String(), err)
		}
	}
}

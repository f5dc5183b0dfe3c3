package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
	"github.com/spf13/cobra"
	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/check"
	"github.com/tandem-mc/tandem/internal/testkit"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/report/compare"
)

// plain is a text without the escape sequences of the view.
func plain(text string) string {
	return strings.NewReplacer(strong, "", faint, "", reset, "").Replace(text)
}

// TestFramesFit: a frame stays within its terminal, of whatever size, and is the beginning of the
// frame that a large one shows.
func TestFramesFit(t *testing.T) {
	whole := plain(frame{snapshot: someProgress(1234), visible: true, width: 200, height: 50}.text())
	rapid.Check(t, func(t *rapid.T) {
		f := frame{snapshot: someProgress(1234), visible: true}
		f.width, f.height = rapid.IntRange(0, 120).Draw(t, "width"), rapid.IntRange(0, 12).Draw(t, "height")
		text := f.text()
		if f.width == 0 || f.height == 0 {
			if text != "" {
				t.Fatalf("%q on a terminal of %d columns, %d lines", text, f.width, f.height)
			}
			return
		}
		lines := strings.Split(plain(text), "\n")
		if len(lines) > max(f.height-1, 1) {
			t.Fatalf("%d lines on a terminal of %d", len(lines), f.height)
		}
		for i, line := range strings.Split(whole, "\n")[:len(lines)] {
			if n := utf8.RuneCountInString(lines[i]); n > f.width || !strings.HasPrefix(line, lines[i]) {
				t.Fatalf("line %d has %d of %d columns: %q", i, n, f.width, lines[i])
			}
		}
		if strings.Count(text, reset) != len(lines) {
			t.Fatalf("a style goes on behind its text: %q", text)
		}
	})
}

// TestFramesFollowMessages: a frame is empty until it has a size and a content, and after the end.
func TestFramesFollowMessages(t *testing.T) {
	var model tea.Model = frame{}
	shown := func() bool { return model.(frame).text() != "" }
	for i, step := range []struct {
		message tea.Msg
		shown   bool
	}{
		{tea.WindowSizeMsg{Width: 80, Height: 24}, false}, {someProgress(7), true}, {"something else", true},
		{tea.WindowSizeMsg{Width: 0, Height: 0}, false}, {tea.WindowSizeMsg{Width: 80, Height: 24}, true},
		{endOfView{}, false},
	} {
		var command tea.Cmd
		model, command = model.Update(step.message)
		if shown() != step.shown {
			t.Errorf("after message %d, %T, something is shown: %t", i, step.message, shown())
		}
		if _, ends := step.message.(endOfView); ends != (command != nil) {
			t.Errorf("message %d, %T, ends the view: %t", i, step.message, command != nil)
		}
	}
	if (frame{}).Init() != nil {
		t.Error("a frame begins with a command")
	}
}

// TestCutTwin: a text is cut behind so many characters, and never within one.
func TestCutTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.RuneFrom([]rune("aä€ "))).Draw(t, "text")
		n := rapid.IntRange(-2, 12).Draw(t, "columns")
		want, left := "", n
		for _, r := range text {
			if left--; left >= 0 {
				want += string(r)
			}
		}
		if got := cut(text, n); got != want {
			t.Fatalf("%q cut to %d is %q, want %q", text, n, got, want)
		}
	})
}

// TestPlainLinesBecomeRarer: a check of any length says something at least every minute, and not
// much more often than twice as rarely each time.
func TestPlainLinesBecomeRarer(t *testing.T) {
	lines, at := 0, time.Duration(0)
	for at < 24*time.Hour {
		next := nextLine(at)
		if next-at > time.Minute || next-at < time.Second || next > max(2*at, time.Second) {
			t.Fatalf("after %v the next line is at %v", at, next)
		}
		lines, at = lines+1, next
	}
	if lines > 24*60+10 {
		t.Errorf("%d lines in a day", lines)
	}
}

// TestFractions: a fraction has two digits at least, and what is smaller than can be said is said
// to be so.
func TestFractions(t *testing.T) {
	for x, want := range map[float64]string{
		1: "about 100 %", 0.5: "about 50 %", 0.1: "about 10 %", 0.0999: "about 10 %", 0.0123: "about 1.2 %",
		0.0001: "about 0.01 %", 0.00009: "less than 0.01 %", 0: "less than 0.01 %",
	} {
		if got := percent(x); got != want {
			t.Errorf("%v is %q, want %q", x, got, want)
		}
	}
}

// TestRates: executions in a second, also of a search that has just begun.
func TestRates(t *testing.T) {
	for want, test := range map[string]struct {
		executions int
		elapsed    time.Duration
	}{
		"0": {0, 0}, "1,000": {1, 0}, "50": {100, 2 * time.Second}, "12,345": {12345, time.Second},
		"0 ": {1, time.Hour},
	} {
		s := someProgress(test.executions)
		s.Counts.Elapsed = test.elapsed
		if got := s.rate(); got != strings.TrimSpace(want) {
			t.Errorf("%d in %v: %s, want %s", test.executions, test.elapsed, got, want)
		}
	}
}

// TestRowsOfAView: what has no value yet has no row, and without peers there is nothing of them.
func TestRowsOfAView(t *testing.T) {
	names := func(s snapshot) string {
		var list []string
		for _, row := range s.rows() {
			list = append(list, row[0])
		}
		return strings.Join(list, " ")
	}
	s := someProgress(10)
	if got, want := names(s), "executions traces violations depth cache peers time"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	s.peers, s.Verdict.Violations = false, 0
	if got, want := names(s), "executions traces depth time"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	s.Verdict.Redundant, s.Verdict.Limited = 0, 0
	if got := s.without(); got != "" {
		t.Errorf("without %q", got)
	}
	s.Verdict.Limited = 3
	if got := s.without(); got != ", and 3 cut off" {
		t.Errorf("without %q", got)
	}
	if strings.Contains(s.line(), "cache") || strings.Contains(s.line(), "violation") {
		t.Errorf("a line has what there is not: %s", s.line())
	}
}

// TestSayingSomething: lines of several executors are whole, and have the name of the command.
func TestSayingSomething(t *testing.T) {
	var out bytes.Buffer
	p := &progress{out: &out, plain: true}
	done := make(chan struct{})
	for i := range 4 {
		go func() {
			for range 50 {
				p.say("executor %d says %d %%", i, 7)
			}
			done <- struct{}{}
		}()
	}
	for range 4 {
		<-done
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != 200 {
		t.Errorf("%d lines", len(lines))
	}
	for _, line := range lines {
		var i int
		if n, _ := fmt.Sscanf(line, "tandem: executor %d says 7 %%", &i); n != 1 {
			t.Errorf("%q", line)
		}
	}
	p.pause() // there is no view to clear
}

// TestCombinationsInShort: a combination is told in one line: its verdict, or why there is none.
func TestCombinationsInShort(t *testing.T) {
	for want, row := range map[string]compare.Row{
		"holds, 1 execution in 1.5s": {Verdict: report.Holds, Counts: report.Counts{Executions: 1},
			Elapsed: 1500400 * time.Microsecond},
		"violated, 1,234 executions in 0s": {Verdict: report.Violated,
			Counts: report.Counts{Executions: 1234}},
		"it is  broken": {Failed: true, Reason: "it is \x1bbroken\nin a second line"},
		"after a violation": {Failed: true, Verdict: report.Violated,
			Reason: "after a violation"},
	} {
		if got := inShort(&row); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestShownComparisons: the exit code is that of the verdict; a disagreement, or a file that cannot
// be written, is an error; and what can be written is.
func TestShownComparisons(t *testing.T) {
	row := func(strategy string, v report.Verdict, completed int) compare.Row {
		return compare.Row{Strategy: strategy, Backend: "criu", Scope: "group", Verdict: v, Failed: v == "",
			Outcomes: map[string]int{"completed": completed}}
	}
	dir := t.TempDir()
	csv, svg := filepath.Join(dir, "x.csv"), filepath.Join(dir, "x.svg")
	for name, test := range map[string]struct {
		flags compareFlags
		rows  []compare.Row
		want  string // of the error
	}{
		"holds":    {compareFlags{csv: csv, svg: svg}, []compare.Row{row("a", report.Holds, 3)}, ""},
		"violated": {compareFlags{}, []compare.Row{row("a", report.Violated, 3)}, "exit code 1"},
		"unknown": {compareFlags{}, []compare.Row{row("a", report.Unknown, 3), row("b", "", 0)},
			"exit code 2"},
		"none": {compareFlags{}, []compare.Row{row("a", "", 0)},
			"none of the combinations could be run"},
		"they differ": {compareFlags{csv: csv}, []compare.Row{row("a", report.Holds, 3), row("b",
			report.Holds, 4)}, "the combinations disagree"},
		"two runs of one differ": {compareFlags{repeat: 2},
			[]compare.Row{row("a", report.Holds, 3), row("a", report.Holds, 4)}, "the combinations disagree"},
		"no room": {compareFlags{svg: filepath.Join(dir, "none", "x.svg")},
			[]compare.Row{row("a", report.Holds, 3)}, "no such file or directory"},
	} {
		t.Run(name, func(t *testing.T) {
			os.Remove(csv)
			os.Remove(svg)
			var out bytes.Buffer
			err := test.flags.show(&out, &compare.Comparison{Package: "p", Rows: test.rows})
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
			if !strings.Contains(out.String(), "strategy") {
				t.Errorf("the table is missing: %s", &out)
			}
			if test.flags.csv != "" && !strings.HasPrefix(string(testkit.ReadFile(t, csv)), "strategy,") {
				t.Errorf("CSV: %s", testkit.ReadFile(t, csv))
			}
			if test.flags.svg == svg && !strings.HasPrefix(string(testkit.ReadFile(t, svg)), "<svg") {
				t.Errorf("SVG: %s", testkit.ReadFile(t, svg))
			}
		})
	}
}

// TestPages: a counterexample is written as a page only where a file is named.
func TestPages(t *testing.T) {
	c := &report.Counterexample{Run: report.Run{Package: "./<x>", Verdict: report.Violated}}
	if err := writePage("", c); err != nil {
		t.Error(err)
	}
	page := filepath.Join(t.TempDir(), "x.html")
	if err := writePage(page, c); err != nil ||
		!strings.Contains(string(testkit.ReadFile(t, page)), "./&lt;x&gt;") {
		t.Errorf("%v", err)
	}
	if err := writePage(filepath.Join(page, "x"), c); err == nil {
		t.Error("a page below a file was written")
	}
}

// TestVerdictsAsExitCodes: holds is no error; everything else ends with its code.
func TestVerdictsAsExitCodes(t *testing.T) {
	for v, want := range map[report.Verdict]error{
		report.Holds: nil, report.Violated: verdictError(exitViolated),
		report.Unknown: verdictError(exitUnknown),
		report.Errored: verdictError(exitUnknown), "": verdictError(exitUnknown),
	} {
		if got := verdictOf(v); got != want {
			t.Errorf("%q: %v, want %v", v, got, want)
		}
	}
	if got := run(t.Context(), []string{"peers", "no such profile"}); got != exitError {
		t.Errorf("an error ends with %d", got)
	}
	if got := run(t.Context(), []string{"--version"}); got != exitHolds {
		t.Errorf("--version ends with %d", got)
	}
}

// TestPrinting: one violation is shown in full, several as a table, none as a summary, and all of
// these as JSON if that is wanted.
func TestPrinting(t *testing.T) {
	violation := func() check.Violation {
		return check.Violation{Summary: report.Violation{Outcome: "deadlock"},
			Counterexample: new(report.Counterexample)}
	}
	c := &report.Counterexample{Run: report.Run{Verdict: report.Violated, Reason: "deadlock"}}
	for n, want := range []string{"HOLDS: all", "VIOLATED: deadlock", "2 distinct violations"} {
		result := &check.Result{Counterexample: c}
		result.Summary = report.Run{Package: "./x", Verdict: report.Holds, Reason: "all"}
		for range n {
			result.Violations = append(result.Violations, violation())
		}
		var out bytes.Buffer
		list := violationsOf(result)
		err := (&oneCheck{}).print(&out, result, list)
		if err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%d violations: %v\n%s", n, err, &out)
		}
		out.Reset()
		if err := (&oneCheck{formats: formats{json: true}}).print(&out, result, list); err != nil ||
			!strings.HasPrefix(out.String(), "{\n") ||
			strings.Count(out.String(), `"outcome"`) != n {
			t.Errorf("%d violations as JSON: %v\n%s", n, err, &out)
		}
	}
}

// TestArgumentsOfCommands: what is wrong with the arguments is said before anything is built.
func TestArgumentsOfCommands(t *testing.T) {
	for _, test := range []struct {
		command *cobra.Command
		args    string
		want    string
	}{
		{checkCommand(), "a b", "name one package; arguments of the program come after --: check a -- b"},
		{checkCommand(), "a b -- c", "arguments of the program come after --: check a -- b c"},
		{checkCommand(), "a -addr x", "give flags of the program after --, and see check --help"},
		{compareCommand(), "a --addr x", "give flags of the program after --, and see compare --help"},
		{checkCommand(), "--resume x a", "--resume goes on with a run that has its package and arguments"},
		{checkCommand(), "--resume x --seed 3 --depth 4", "leave out --depth, --seed"},
		{compareCommand(), "", "name a package"},
		{compareCommand(), "-- a", "name a package"},
		{compareCommand(), "a b", "name one package; arguments of the program come after --"},
		{compareCommand(), "./x --csv y --svg y", "--csv and --svg name the same file, y"},
		{compareCommand(), "./x --html y --svg y", "--html and another flag name the same file, y"},
		{replayCommand(), "x --times 0", "--times 0 is not allowed: give a number from 1 on"},
		{replayCommand(), "/nowhere/x", "/nowhere/x: no such file or directory"},
		{cacheCommand(), "/nowhere/x", "/nowhere/x: no such file or directory"},
		{peersCommand(), "a b", "accepts at most 1 arg(s), received 2"},
		{ckptdCommand(), "start now", `unknown command "now" for "ckptd start"`},
	} {
		c := test.command
		c.SetArgs(strings.Fields(test.args))
		c.SilenceErrors, c.SilenceUsage = true, true
		c.SetOut(&bytes.Buffer{})
		if err := c.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s %s: %v, want %q", test.command.Name(), test.args, err, test.want)
		}
	}
}

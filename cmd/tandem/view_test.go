package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/tandem-mc/tandem/check"
	"github.com/tandem-mc/tandem/internal/testkit"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/report/compare"
)

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

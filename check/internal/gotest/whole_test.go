package gotest

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/report"
)

// table is a test function with rows and one schedule: TestT. A row, and the function at its end,
// may fail for a reason of its own, or since a row has not run that it needs.
type table struct {
	fails    map[string]bool
	needs    map[string][]string
	rows     []string
	parallel bool
}

// drawTable draws a table. Rows need only rows before them, so nothing is missing in the whole.
func drawTable(t *rapid.T) table {
	all := table{fails: map[string]bool{}, needs: map[string][]string{}}
	all.parallel = rapid.Bool().Draw(t, "parallel")
	for i := range rapid.IntRange(1, 4).Draw(t, "rows") + 1 {
		name := fmt.Sprintf("TestT/r%d", i)
		if i == 0 {
			name = "TestT"
		}
		for _, row := range all.rows {
			if i > 0 && !all.parallel && rapid.IntRange(0, 3).Draw(t, "needs") == 0 {
				all.needs[name] = append(all.needs[name], row)
			}
		}
		if i > 0 {
			all.rows = append(all.rows, name)
		}
		all.fails[name] = rapid.IntRange(0, 4).Draw(t, "fails") == 0
	}
	for _, row := range all.rows {
		if rapid.IntRange(0, 3).Draw(t, "needed at the end") == 0 {
			all.needs["TestT"] = append(all.needs["TestT"], row)
		}
	}
	return all
}

// run is what a test binary prints that is run with these flags, and whether it fails.
func (a table) run(flags []string) (stdout []byte, isViolation bool) {
	ran := map[string]bool{}
	failed := false
	end := func(name string) string {
		bad := a.fails[name] || name == "TestT" && failed
		for _, other := range a.needs[name] {
			bad = bad || !ran[other]
		}
		ran[name], failed = true, failed || bad
		if bad {
			return "@--- FAIL: " + name + " (0.00s)\n"
		}
		return "@--- PASS: " + name + " (0.00s)\n"
	}
	text, later := "@=== RUN   TestT\n", ""
	for _, row := range a.rows {
		switch {
		case !selected(flags, row):
		case a.parallel:
			text += "@=== RUN   " + row + "\n@=== PAUSE " + row + "\n"
			later += "@=== CONT  " + row + "\n" + end(row)
		default:
			text += "@=== RUN   " + row + "\n" + end(row)
		}
	}
	return output(text + later + end("TestT")), failed
}

// selected reports whether flags of a test binary select a row, as package testing has it.
func selected(flags []string, row string) bool {
	names := strings.Split(row, "/")
	run := false
	for _, flag := range flags {
		pattern, isSkip := strings.CutPrefix(flag, "-test.skip=")
		pattern = strings.TrimPrefix(pattern, "-test.run=")
		for _, elements := range splitPattern(pattern) {
			matches := !isSkip || len(elements) <= len(names)
			for i := range min(len(elements), len(names)) {
				matches = matches && regexp.MustCompile(elements[i]).MatchString(names[i])
			}
			if matches && isSkip {
				return false
			}
			run = run || matches
		}
	}
	return run
}

// TestWholeDecides: whatever rows and the function need of each other, those that fail when all are
// run are violated, and no others. The note is there if, and only if, parts failed by themselves.
func TestWholeDecides(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := drawTable(t)
		_, any := all.run([]string{"-test.run=TestT"})
		got := map[string]report.Verdict{}
		note, wholes := "", 0
		s := &Suite{
			Search: func(_ context.Context, g *Group, flags []string) (Found, error) {
				if g.whole && !g.once {
					wholes++
				}
				stdout, isViolation := all.run(flags)
				tests, err := g.Judge(stdout, isViolation, "")
				found := Found{Verdict: explore.Verdict{Executions: 1, Complete: true}}
				for range min(len(tests), 1) {
					v := Violation{Counterexample: &report.Counterexample{}}
					found.Violations = append(found.Violations, v)
				}
				return found, err
			},
			Tell: func(v Verdict) error {
				if was, known := got[v.Name]; known && was != report.Holds {
					t.Errorf("%s is %s after it was %s", v.Name, v.Verdict, was)
				}
				got[v.Name] = v.Verdict
				note += v.Note
				return nil
			},
		}
		if _, err := s.Check(t.Context(), []string{"TestT"}, Pattern{{"TestT"}}); err != nil {
			t.Fatal(err)
		}
		for _, name := range append(all.rows, "TestT") {
			want := report.Holds
			if all.fails[name] || name == "TestT" && any {
				want = report.Violated
			}
			if got[name] != want {
				t.Errorf("%s is %q, want %s: %+v", name, got[name], want, all)
			}
		}
		if (note != "") != (wholes == 1) || wholes > 1 {
			t.Errorf("the note %q after %d searches of the whole", note, wholes)
		}
	})
}

// TestPassesInWhole: a test that has not come to its end has not passed, and where nobody says so a
// violation may be of any test.
func TestPassesInWhole(t *testing.T) {
	const begin = "@=== RUN   TestA\n@=== RUN   TestA/x\n"
	for name, c := range map[string]struct {
		output      string
		isViolation bool
		want        bool
	}{
		"passes":            {begin + "@--- PASS: TestA/x (0.00s)\n@--- PASS: TestA (0.00s)\n", false, true},
		"skips":             {begin + "@--- SKIP: TestA/x (0.00s)\n@--- PASS: TestA (0.00s)\n", false, true},
		"fails":             {begin + "@--- FAIL: TestA/x (0.00s)\n@--- FAIL: TestA (0.00s)\n", true, false},
		"is cut off":        {begin, false, false},
		"does not run":      {"@=== RUN   TestA\n@--- FAIL: TestA (0.00s)\n", true, false},
		"has a data race":   {begin + "@--- PASS: TestA/x (0.00s)\n@--- PASS: TestA (0.00s)\n", true, false},
		"another one fails": {begin + "@--- PASS: TestA/x (0.00s)\n@--- FAIL: TestA (0.00s)\n", true, true},
	} {
		first := firstExecution{readProgress(output(c.output)), c.isViolation}
		if got := first.passes("TestA/x"); got != c.want {
			t.Errorf("%s: passes %v, want %v", name, got, c.want)
		}
	}
}

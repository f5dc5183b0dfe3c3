package report

import (
	"slices"
	"strings"
	"time"
)

// Test is the verdict on one test function or subtest.
type Test struct {
	Name           string // as go test prints it, e.g. "TestGet/empty"
	Verdict        Verdict
	Reason         string // one line; of Errored, lines after the first tell where
	Note           string // one line on how it was searched; empty: as tests are
	Skipped        bool   // it skipped itself
	Executions     int    // of the search that it was part of
	Elapsed        time.Duration
	Counterexample *Counterexample // of a violation by the test itself, not by its subtests
	Violations     []Violation     // of the test itself, all that were found
	Missed         Missed          // of the search
	Early          int             // executions of it in which timers could fire early
}

// AsPackage is a check as a package with one test, which is the program: formats that are made for
// tests then serve for checks, too.
func (r Run) AsPackage(importPath string, violations []Violation) TestPackage {
	t := Test{
		Name: r.Program(), Verdict: r.Verdict, Reason: r.Reason, Executions: r.Counts.Executions,
		Elapsed: r.Counts.Elapsed, Violations: violations, Missed: r.Missed,
	}
	if len(violations) > 0 {
		t.Counterexample = violations[0].Counterexample
	}
	return TestPackage{Name: importPath, Tests: []Test{t}, Elapsed: r.Counts.Elapsed,
		Assumptions: r.Assumptions}
}

// Missed is who was not there in the searches of all tests. Each address is named once, whichever
// tests dialled it, and so is each entry of the configuration. What one test has dialled is not
// named as something that was not.
func (p TestPackage) Missed() (all Missed) {
	known := map[string]bool{}
	fresh := func(text string) bool {
		was := known[text]
		known[text] = true
		return !was
	}
	for i, t := range p.Tests {
		// A test that was not run has no list. Then nobody knows whether it would have dialled.
		if i == 0 {
			all.Undialled = slices.Clone(t.Missed.Undialled)
		}
		all.Undialled = slices.DeleteFunc(all.Undialled, func(entry string) bool {
			return !slices.Contains(t.Missed.Undialled, entry)
		})
		for _, d := range t.Missed.Dialled {
			if fresh("dialled " + d.Address) {
				all.Dialled = append(all.Dialled, d)
			}
		}
		for _, at := range t.Missed.Clients {
			if fresh("client " + at) {
				all.Clients = append(all.Clients, at)
			}
		}
		for i, entry := range entries(t.Missed.Configure) {
			if i == 0 && len(all.Configure) > 0 || !fresh("entry "+strings.Join(entry, "\n")) {
				continue
			}
			all.Configure = append(all.Configure, entry...)
		}
	}
	return all
}

// entries are lines of configuration: the first one, and the entries of the list below it.
func entries(lines []string) (list [][]string) {
	for i, line := range lines {
		if i < 2 || strings.HasPrefix(line, "  - ") {
			list = append(list, nil)
		}
		list[len(list)-1] = append(list[len(list)-1], line)
	}
	return list
}

// TestRun is what tandem test found: the tests of several packages.
type TestRun struct {
	Packages    []TestPackage
	Unchecked   []UncheckedPackage
	Interrupted bool // it was ended before all was checked
}

// Verdict is the worst of all verdicts, in the order Errored, Violated, Unknown, Holds. A package
// that could not be checked is an error. An interrupted run is unknown at best. Where there was no
// test to check, it is Nothing.
func (r TestRun) Verdict() Verdict {
	worst := Nothing
	if r.Interrupted {
		worst = Unknown
	}
	order := []Verdict{Nothing, Holds, Unknown, Violated, Errored}
	add := func(v Verdict) {
		if slices.Index(order, v) > slices.Index(order, worst) {
			worst = v
		}
	}
	for _, p := range r.Packages {
		if p.Error != "" {
			add(Errored)
		}
		for _, t := range p.Tests {
			add(t.Verdict)
		}
	}
	return worst
}

// Nothing is the verdict of a run of tests that has checked none.
const Nothing Verdict = "nothing"

// UncheckedPackage is a package of which nothing was checked, though nothing is wrong with it.
type UncheckedPackage struct {
	Name   string // import path
	Reason string // one line: "no test files"
}

// TestPackage is the tests of a package. What one of the tests assumes all of them do.
type TestPackage struct {
	Name        string // import path
	Tests       []Test // subtests before the tests that they are part of
	Error       string // why the package could not be checked to its end; "" if it was
	Elapsed     time.Duration
	Assumptions Assumptions
}

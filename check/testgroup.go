package check

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tandem-mc/tandem/check/internal/narrate"
	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/sut"
)

// testGroup is a test and those of its subtests that are explored together with
// it: all but done, which have been checked.
type testGroup struct {
	name   string
	done   []string
	tests  []string        // in the order in which they first started
	serial []string        // children of name that are to be checked by themselves
	skips  map[string]bool // tests that have ended by skipping themselves
	failed map[string]int  // the violation that a test has, by its place in Result.Violations
	kept   int             // violations so far
}

// errSerialSubtests ends a search at its first execution: the serial subtests
// that it has shown are to be searched by themselves.
var errSerialSubtests = errors.New("there are subtests to be checked first")

// serialAfter lists the serial subtests to be searched by themselves first, after a search that
// has ended with this error. An execution that did what cannot be checked shows some, too: it may
// be one of them that did it.
func (g *testGroup) serialAfter(failure error) []string {
	var refused *refusalError
	if !errors.As(failure, &refused) {
		if errors.Is(failure, errSerialSubtests) {
			return g.serial
		}
		return nil
	}
	progress := readTests(refused.stdout)
	return slices.DeleteFunc(progress.serialChildren(g.name), func(name string) bool {
		return slices.Contains(g.done, name)
	})
}

// kind tells executions apart that say different things about the tests.
func (g *testGroup) kind(log *sut.Log, outcome explore.Outcome) string {
	if outcome == explore.Redundant {
		return ""
	}
	progress := readTests(log.Stdout)
	kind := fmt.Sprint(outcome.Violation())
	for _, name := range progress.names {
		kind += fmt.Sprintf(" %q %d %v", name, progress.state[name], progress.parallel[name])
	}
	return kind
}

// judge looks at what an execution says about the tests. Its tests are new ones
// among those that the violation is one of.
func (g *testGroup) judge(log *sut.Log, isViolation bool) (tests []string, err error) {
	progress := readTests(log.Stdout)
	if g.tests == nil {
		g.skips, g.failed = map[string]bool{}, map[string]int{}
		g.serial = progress.serialChildren(g.name)
		if len(g.serial) > 0 && len(progress.below(g.name))+len(g.done) > 1 {
			return nil, errSerialSubtests
		}
	}
	for _, name := range progress.names {
		if name != g.name && !strings.HasPrefix(name, g.name+"/") {
			continue // what this one is a part of
		}
		if !slices.Contains(g.tests, name) {
			g.tests = append(g.tests, name)
		}
		g.skips[name] = g.skips[name] || progress.state[name] == testSkipped
	}
	if !isViolation {
		return nil, nil
	}
	for _, name := range g.blame(log) {
		if _, known := g.failed[name]; !known {
			g.failed[name] = g.kept
			tests = append(tests, name)
		}
	}
	if len(tests) > 0 {
		g.kept++
	}
	return tests, nil
}

// blame lists the tests that a violation is one of.
func (g *testGroup) blame(log *sut.Log) []string {
	progress := readTests(log.Stdout)
	return progress.blamed(g.name)
}

// enough is when nothing more can be found out about any test.
func (g *testGroup) enough(explore.Verdict) string {
	for _, name := range g.tests {
		_, failed := g.failed[name]
		if !failed && !slices.ContainsFunc(g.tests, func(t string) bool {
			return strings.HasPrefix(t, name+"/")
		}) {
			return ""
		}
	}
	if len(g.tests) == 0 && len(g.failed) == 0 {
		return ""
	}
	return "the search stopped at the first violation"
}

// verdicts says what a finished search has found out, subtests before what they
// are part of. failure is the error that it ended with, if any: there may be no result then.
// serial is the worst verdict of the subtests that are done.
func (g *testGroup) verdicts(result *Result, failure error, serial report.Verdict,
	elapsed time.Duration) []TestVerdict {
	if result == nil {
		result = &Result{}
	}
	names := slices.Clone(g.tests)
	if !slices.Contains(names, g.name) {
		names = append(names, g.name)
	}
	slices.SortStableFunc(names, func(a, b string) int {
		return strings.Count(b, "/") - strings.Count(a, "/")
	})
	var list []TestVerdict
	for _, name := range names {
		below := report.Holds
		if name == g.name {
			below = serial
		}
		for _, v := range list {
			if strings.HasPrefix(v.Name, name+"/") {
				below = worse(below, v.Verdict)
			}
		}
		v := g.verdict(name, result, failure, below)
		v.Executions, v.Elapsed = result.Verdict.Executions, elapsed
		list = append(list, v)
	}
	return list
}

// verdict says what is known of one test. below is the worst verdict of its subtests.
func (g *testGroup) verdict(name string, result *Result, failure error, below report.Verdict) TestVerdict {
	v := TestVerdict{Test: report.Test{Name: name, Skipped: g.skips[name]}}
	own, failed := g.failed[name]
	switch {
	case failed && own < len(result.Violations):
		found := result.Violations[own]
		v.Verdict, v.Reason = report.Violated, result.Verdict.Reason
		v.Counterexample, v.Recording = found.Counterexample, found.Recording
	case below == report.Violated:
		v.Verdict, v.Reason = report.Violated, "a subtest is violated"
	case failure != nil:
		v.Verdict, v.Reason = report.Errored, failure.Error()
	case below == report.Errored:
		v.Verdict, v.Reason = report.Errored, "a subtest could not be checked"
	case !result.Verdict.Complete:
		v.Verdict, v.Reason = report.Unknown, result.Verdict.Reason
		if first, _, _ := strings.Cut(result.CutOff, "\n"); first != "" {
			v.Reason += ": " + first
		}
	case below == report.Unknown:
		v.Verdict, v.Reason = report.Unknown, "what a subtest does is unknown"
	default:
		v.Verdict, v.Reason = report.Holds, result.Verdict.Covered()
	}
	return v
}

// How far a test has come.
const (
	testRunning = 1 + iota
	testPaused  // in t.Parallel
	testPassed
	testFailed
	testSkipped
)

// testProgress is what one execution of a test binary says of its tests.
type testProgress struct {
	names    []string // in the order in which they started
	state    map[string]int
	parallel map[string]bool
}

var testStates = []struct {
	prefix string
	state  int
}{
	{"=== RUN   ", testRunning}, {"=== PAUSE ", testPaused}, {"=== CONT  ", testRunning},
	{"--- PASS: ", testPassed}, {"--- FAIL: ", testFailed}, {"--- SKIP: ", testSkipped},
}

func readTests(stdout []byte) testProgress {
	p := testProgress{state: map[string]int{}, parallel: map[string]bool{}}
	for _, marked := range strings.Split(string(stdout), narrate.TestMarker)[1:] {
		line, _, _ := strings.Cut(marked, "\n")
		for _, s := range testStates {
			name, ok := strings.CutPrefix(line, s.prefix)
			if !ok {
				continue
			}
			if s.state >= testPassed { // NAME (0.00s)
				name = name[:max(strings.LastIndex(name, " ("), 0)]
			}
			if p.state[name] == 0 {
				p.names = append(p.names, name)
			}
			p.state[name] = s.state
			p.parallel[name] = p.parallel[name] || s.state == testPaused
		}
	}
	return p
}

// parent is the test that a subtest is directly part of. Names of subtests may
// contain slashes, so that only the names of all tests tell.
func (p *testProgress) parent(subtest string) string {
	longest := ""
	for _, name := range p.names {
		if strings.HasPrefix(subtest, name+"/") && len(name) > len(longest) {
			longest = name
		}
	}
	return longest
}

// below lists the subtests of a test, and theirs.
func (p *testProgress) below(test string) []string {
	return slices.DeleteFunc(slices.Clone(p.names), func(name string) bool {
		return !strings.HasPrefix(name, test+"/")
	})
}

func (p *testProgress) serialChildren(test string) []string {
	var list []string
	for _, name := range p.names {
		if !p.parallel[name] && p.parent(name) == test {
			list = append(list, name)
		}
	}
	return list
}

// blamed are the tests that a violation is one of: those that say so, else those
// that were under way, else the test itself. What fails only since a subtest
// has is not among them.
func (p *testProgress) blamed(test string) []string {
	for _, state := range []int{testFailed, testRunning} {
		var list []string
		for _, name := range p.names {
			inner := func(below string) bool { return p.state[below] == state }
			if p.state[name] == state && !slices.ContainsFunc(p.below(name), inner) {
				list = append(list, name)
			}
		}
		if len(list) > 0 {
			return list
		}
	}
	return []string{test}
}

package gotest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/report"
)

// Found is what a search has found out about a group. Errors are apart: a search that fails may
// have found something before.
type Found struct {
	Verdict explore.Verdict
	CutOff  string // which limits cut executions off, a line each
	Missed  report.Missed
	Note    string // a line on how it was searched; empty: as tests are
	Early   int    // executions in which timers could fire early
	// Vacuous is why the executions, though all are covered, say nothing; "": they do.
	Vacuous    string
	Violations []Violation
	// Refused is what an execution has printed that did what cannot be checked; nil if none did.
	Refused []byte
	// Interrupted: the search has ended with an error because the check is to end.
	Interrupted bool
}

// Violation is an execution in which tests failed.
type Violation struct {
	Summary        report.Violation
	Counterexample *report.Counterexample
	Recording      *report.Recording
}

// Verdict is what was found out about a test function or a subtest.
type Verdict struct {
	report.Test
	Recording *report.Recording // of the first violation
	All       []Violation       // of the test itself; in the order in which they were found
}

// Group is a test and those of its subtests that are explored together with it: all but those that
// have been checked. Its methods are not for concurrent use, but Kind and Blame are. A Group is
// searched again, after Reset, each time that subtests have been taken out.
type Group struct {
	name     string
	together bool            // parallel subtests are explored with the test
	whole    bool            // all subtests are, and nothing is to be checked first
	once     bool            // only the first execution is looked at
	first    *firstExecution // nil: there was none yet
	done     []string        // subtests that have been checked
	tests    []string        // in the order in which they first started
	apart    []string        // children of name that are to be checked by themselves
	skips    map[string]bool // tests that have ended by skipping themselves
	// failed are the violations that a test has, by their places in Found.Violations; at most as
	// many as are looked for, of which no two have the same signature.
	failed map[string][]int
	most   int
	known  map[string]bool // tests with signatures
	kept   int             // violations so far
}

// errSubtestsFirst ends a search at its first execution: subtests that it has shown are to be
// searched by themselves.
var errSubtestsFirst = errors.New("there are subtests to be checked first")

// flags select the tests of the group among those that patterns select, and skip does not. Subtests
// that are done are skipped by exact names. The skip of the user stays in force.
func (g *Group) flags(patterns []string, skip string) []string {
	flags := []string{"-test.run=" + strings.Join(patterns, "|")}
	if done := exactly(g.done...); done != "" && skip != "" {
		skip += "|" + done
	} else if done != "" {
		skip = done
	}
	if skip != "" {
		flags = append(flags, "-test.skip="+skip)
	}
	return flags
}

// Reset makes the group as it was before it was searched. Names and settings stay.
func (g *Group) Reset() {
	*g = Group{name: g.name, most: g.most, together: g.together, whole: g.whole, once: g.once,
		done: g.done}
}

// apartAfter lists the subtests to be searched by themselves first, after a search that has ended
// with this error. An execution that did what cannot be checked shows some, too: it may be one of
// them that did it. An empty list says that the search has ended for good.
func (g *Group) apartAfter(found Found, failure error) []string {
	switch {
	case errors.Is(failure, errSubtestsFirst):
		return g.apart
	case found.Refused == nil || g.whole:
		return nil
	}
	p := readProgress(found.Refused)
	return slices.DeleteFunc(p.children(g.name, g.together), func(name string) bool {
		return slices.Contains(g.done, name)
	})
}

// Kind tells executions apart that say different things about the tests; "" for those that say
// nothing. stdout is what the test binary has printed. Kinds are compared as texts: the same states
// of the same tests, in the same order, are one kind.
func (g *Group) Kind(stdout []byte, outcome explore.Outcome) string {
	if outcome == explore.Redundant {
		return ""
	}
	p := readProgress(stdout)
	kind := fmt.Sprint(outcome.Violation())
	for _, name := range p.names {
		kind += fmt.Sprintf(" %q %d %v", name, p.state[name], p.parallel[name])
	}
	return kind
}

// Judge looks at what an execution says about the tests. It returns new ones among those that the
// violation is one of, which the signature tells from others. An error ends the search.
func (g *Group) Judge(stdout []byte, isViolation bool, signature string) (tests []string, err error) {
	p := readProgress(stdout)
	// The first execution decides which subtests are searched apart.
	if g.tests == nil {
		g.skips, g.failed, g.known = map[string]bool{}, map[string][]int{}, map[string]bool{}
	}
	if g.first == nil {
		g.first = &firstExecution{progress: p, isViolation: isViolation}
		if g.once {
			return nil, errOnce
		}
	}
	if g.tests == nil && !g.whole {
		g.apart = p.children(g.name, g.together)
		// One subtest alone gains nothing from a search of its own.
		if len(g.apart) > 0 && len(p.below(g.name))+len(g.done) > 1 {
			return nil, errSubtestsFirst
		}
	}
	for _, name := range p.names {
		// Enclosing tests are judged when their own group is.
		if name != g.name && !strings.HasPrefix(name, g.name+"/") {
			continue // what this one is a part of
		}
		if !slices.Contains(g.tests, name) {
			g.tests = append(g.tests, name)
		}
		g.skips[name] = g.skips[name] || p.state[name] == skipped
	}
	if !isViolation {
		return nil, nil
	}
	// A violation is kept once for all the tests that it is new for.
	for _, name := range p.blamed(g.name) {
		key := name + "\n" + signature
		if !g.known[key] && len(g.failed[name]) < max(g.most, 1) {
			g.known[key], g.failed[name] = true, append(g.failed[name], g.kept)
			tests = append(tests, name)
		}
	}
	if len(tests) > 0 {
		g.kept++
	}
	return tests, nil
}

// Blame lists the tests that a violation is one of, whose execution has printed this.
func (g *Group) Blame(stdout []byte) []string {
	p := readProgress(stdout)
	return p.blamed(g.name)
}

// Enough says why to stop when nothing more can be found out about any test; else it is empty. It
// stops when each test without subtests has failed: only those can still change.
func (g *Group) Enough(explore.Verdict) string {
	for _, name := range g.tests {
		failed := len(g.failed[name]) >= max(g.most, 1)
		if !failed && !slices.ContainsFunc(g.tests, func(t string) bool {
			return strings.HasPrefix(t, name+"/")
		}) {
			return ""
		}
	}
	if len(g.tests) == 0 && len(g.failed) == 0 {
		return ""
	}
	if g.most > 1 {
		return fmt.Sprintf("the search stopped at %d distinct violations", g.most)
	}
	return "the search stopped at the first violation"
}

// verdicts says what a finished search has found out, subtests before what they are part of.
// failure is the error that it ended with, if any: there may be no result then. done is the worst
// verdict of the subtests that are done. elapsed is for the whole group. Each verdict shows it,
// since its tests share their executions.
func (g *Group) verdicts(found Found, failure error, done report.Verdict,
	elapsed time.Duration) []Verdict {
	names := slices.Clone(g.tests)
	if !slices.Contains(names, g.name) {
		names = append(names, g.name)
	}
	slices.SortStableFunc(names, func(a, b string) int {
		return strings.Count(b, "/") - strings.Count(a, "/")
	})
	var list []Verdict
	for _, name := range names {
		below := report.Holds
		if name == g.name {
			below = done
		}
		for _, v := range list {
			if strings.HasPrefix(v.Name, name+"/") {
				below = worse(below, v.Verdict)
			}
		}
		v := g.verdict(name, found, failure, below)
		v.Executions, v.Elapsed = found.Verdict.Executions, elapsed
		list = append(list, v)
	}
	return list
}

// verdict says what is known of one test. below is the worst verdict of its subtests. The order of
// the cases is the rule: an own failure first, then failures below, errors, and limits.
func (g *Group) verdict(name string, found Found, failure error, below report.Verdict) Verdict {
	v := Verdict{Test: report.Test{Name: name, Skipped: g.skips[name]}}
	if name == g.name {
		v.Missed, v.Early, v.Note = found.Missed, found.Early, found.Note
	}
	for _, own := range g.failed[name] {
		if own < len(found.Violations) {
			v.All = append(v.All, found.Violations[own])
		}
	}
	switch {
	case len(v.All) > 0:
		v.Verdict, v.Reason = report.Violated, found.Verdict.Reason
		v.Counterexample, v.Recording = v.All[0].Counterexample, v.All[0].Recording
	case below == report.Violated:
		v.Verdict, v.Reason = report.Violated, "a subtest is violated"
	case failure != nil:
		v.Verdict, v.Reason = report.Errored, failure.Error()
	case below == report.Errored:
		v.Verdict, v.Reason = report.Errored, "a subtest could not be checked"
	case !found.Verdict.Complete:
		v.Verdict, v.Reason = report.Unknown, found.Verdict.Reason
		if first, _, _ := strings.Cut(found.CutOff, "\n"); first != "" {
			v.Reason += ": " + first
		}
	case found.Vacuous != "":
		v.Verdict, v.Reason = report.Unknown, found.Vacuous
	case below == report.Unknown:
		v.Verdict, v.Reason = report.Unknown, "what a subtest does is unknown"
	default:
		v.Verdict, v.Reason = report.Holds, found.Verdict.Covered()
	}
	return v
}

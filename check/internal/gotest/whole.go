package gotest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tandem-mc/tandem/report"
)

// whole is a test function of which nothing is left out: what selects it, and what it does in the
// first execution of a search, which has the default schedule.
type whole struct {
	name     string
	patterns []string
	// first is nil until somebody has asked, and where there is no such execution.
	first *firstExecution
	asked bool
}

// firstExecution is what the first execution of a search says.
type firstExecution struct {
	progress
	isViolation bool
}

// passes reports whether a test has come to its end without a failure. A violation that is no
// failure of a test, such as a data race, may be one of any of them.
func (e *firstExecution) passes(test string) bool {
	state := e.state[test]
	ended := state == passed || state == skipped
	if !ended || !e.isViolation {
		return ended
	}
	for _, state := range e.state {
		if state == failed {
			return true
		}
	}
	return false
}

// errOnce ends a search of which only the first execution is wanted.
var errOnce = errors.New("one execution is enough")

// failsApart is the error of a test function whose parts cannot be searched by themselves: one of
// its tests fails only since others were left out.
type failsApart struct{ test string }

// Error names the test.
func (e *failsApart) Error() string {
	return fmt.Sprintf("%s fails when other subtests are left out, and not when all are run", e.test)
}

// checkFunction checks a test function: in parts, and if these depend on each other, as a whole.
// Errors are those of Tell.
func (s *Suite) checkFunction(ctx context.Context, name string, patterns []string) error {
	s.function = whole{name: name, patterns: patterns}
	_, err := s.check(ctx, name, patterns)
	var apart *failsApart
	if errors.As(err, &apart) {
		return s.checkWhole(ctx, apart)
	}
	return err
}

// failsOnlyApart names a test that has failed in the first execution of a group, in which parts of
// the function were left out, but passes in that of the whole function. It is empty if there is
// none: then what the group has found stands.
func (s *Suite) failsOnlyApart(ctx context.Context, g *Group) string {
	if g.first == nil || !g.first.isViolation || g.name == s.function.name && len(g.done) == 0 {
		return ""
	}
	for _, test := range g.first.blamed(g.name) {
		if _, counts := g.failed[test]; !counts || test != g.name && !strings.HasPrefix(test, g.name+"/") {
			continue // what the group is a part of is judged by itself
		}
		if first := s.firstOfWhole(ctx); first != nil && first.passes(test) {
			return test
		}
	}
	return ""
}

// firstOfWhole runs the whole function with the default schedule, once however often it is asked
// for. It is nil if that was not possible.
func (s *Suite) firstOfWhole(ctx context.Context) *firstExecution {
	f := &s.function
	if !f.asked {
		g := &Group{name: f.name, whole: true, once: true}
		// Its error is the one that ends it, or nothing is known.
		_, _ = s.Search(ctx, g, g.flags(f.patterns, s.Skip))
		f.first, f.asked = g.first, true
	}
	return f.first
}

// checkWhole searches a test function with all its subtests. Verdicts that were told stay, but
// where a violation is found. Errors are those of Tell.
func (s *Suite) checkWhole(ctx context.Context, why *failsApart) error {
	started := time.Now()
	f := s.function
	g := &Group{name: f.name, most: max(s.Violations, 1), whole: true}
	found, failure := s.Search(ctx, g, g.flags(f.patterns, s.Skip))
	if failure != nil && found.Interrupted {
		return nil
	}
	worst := report.Holds
	for test, verdict := range s.told {
		if strings.HasPrefix(test, f.name+"/") {
			worst = worse(worst, verdict)
		}
	}
	for _, v := range g.verdicts(found, failure, worst, time.Since(started)) {
		if _, told := s.told[v.Name]; told && (v.Counterexample == nil || s.told[v.Name] == report.Violated) {
			continue
		}
		if v.Name == f.name {
			v.Note = "its subtests were searched together: " + why.Error()
		}
		if err := s.tell(v); err != nil {
			return err
		}
	}
	return nil
}

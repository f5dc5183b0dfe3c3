// Package gotest checks Go tests: which functions and subtests are searched together, which
// patterns select them, and what the output of a test binary says of each. The searches themselves
// are the caller's.
package gotest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tandem-mc/tandem/report"
)

// maxSubtests bounds how many serial subtests one test may have.
const maxSubtests = 10_000

// Suite checks the tests of one package. It is for one goroutine.
type Suite struct {
	// Search explores the executions of a group with flags of the test binary that select it.
	Search func(ctx context.Context, g *Group, flags []string) (Found, error)
	// Tell is called with every verdict as soon as it is known. Its errors end the check.
	Tell func(Verdict) error
	told map[string]bool // the verdicts on these tests
}

// Check checks those test functions that a pattern selects, and reports whether there are any. When
// ctx ends, the verdict of what is under way is Unknown, and so is that of each after it.
func (s *Suite) Check(ctx context.Context, functions []string, pattern Pattern) (matched bool, err error) {
	s.told = map[string]bool{}
	for _, name := range functions {
		below, ok := pattern.below(name)
		if !ok {
			continue
		}
		matched = true
		if ctx.Err() == nil {
			if _, err := s.check(ctx, name, below); err != nil {
				return matched, err
			}
		}
		if ctx.Err() != nil && !s.told[name] {
			unknown := report.Test{Name: name, Verdict: report.Unknown,
				Reason: "the check was interrupted before"}
			if err := s.Tell(Verdict{Test: unknown}); err != nil {
				return matched, err
			}
		}
	}
	return matched, nil
}

// check checks a test or subtest: first its serial subtests, one by one, then
// what is left of it. Which subtests it has shows when it runs. Patterns select
// among its subtests; it returns the worst verdict. Errors are those of Tell.
func (s *Suite) check(ctx context.Context, name string, patterns []string) (report.Verdict, error) {
	started := time.Now()
	worst := report.Holds
	var done []string
	for {
		g := &Group{name: name, done: done}
		found, failure := s.Search(ctx, g, g.flags(patterns))
		if serial := g.serialAfter(found, failure); len(serial) > 0 && len(done) < maxSubtests {
			verdict, err := s.checkSubtests(ctx, serial, patterns)
			worst = worse(worst, verdict)
			if err != nil || ctx.Err() != nil {
				return worst, err
			}
			done = append(done, serial...)
			continue
		}
		if failure != nil && found.Interrupted {
			return worst, nil
		}
		if errors.Is(failure, errSerialSubtests) {
			failure = fmt.Errorf("there are more than %d subtests", maxSubtests)
		}
		for _, v := range g.verdicts(found, failure, worst, time.Since(started)) {
			if err := s.Tell(v); err != nil {
				return worst, err
			}
			s.told[v.Name] = true
			worst = worse(worst, v.Verdict)
		}
		return worst, nil
	}
}

// checkSubtests checks serial subtests, one after the other, and returns the worst verdict.
func (s *Suite) checkSubtests(ctx context.Context, names, patterns []string) (report.Verdict, error) {
	worst := report.Holds
	for _, name := range names {
		verdict, err := s.check(ctx, name, narrow(patterns, name))
		worst = worse(worst, verdict)
		if err != nil || ctx.Err() != nil {
			return worst, err
		}
	}
	return worst, nil
}

// worse of two verdicts; violated is the worst.
func worse(a, b report.Verdict) report.Verdict {
	order := []report.Verdict{report.Holds, report.Unknown, report.Errored, report.Violated}
	return order[max(slices.Index(order, a), slices.Index(order, b))]
}

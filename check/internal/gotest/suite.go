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

// maxSubtests bounds how many subtests of one test are searched by themselves.
const maxSubtests = 10_000

// Suite checks the tests of one package. It is for one goroutine.
type Suite struct {
	// Search explores the executions of a group with flags of the test binary that select it.
	Search func(ctx context.Context, g *Group, flags []string) (Found, error)
	// Violations is how many distinct ones are looked for in each test; 0 counts as 1.
	Violations int
	// Together: subtests that call t.Parallel are explored together with the test that they are
	// part of. Else each is explored by itself, like those that do not.
	Together bool
	// Skip is a pattern of go test -skip: tests and subtests that are left out; "": none are.
	Skip string
	// Tell is called with every verdict as soon as it is known. A later verdict on the same test
	// takes the place of an earlier one. Its errors end the check.
	Tell func(Verdict) error
	told map[string]report.Verdict // the latest on each test
	// function is the test function under way.
	function whole
}

// Check checks those test functions that a pattern selects, and reports whether there are any. When
// ctx ends, the verdict of what is under way is Unknown, and so is that of each after it. The error
// of a pattern in Skip is that of ParsePattern.
func (s *Suite) Check(ctx context.Context, functions []string, pattern Pattern) (matched bool, err error) {
	s.told = map[string]report.Verdict{}
	var skipped Pattern
	if s.Skip != "" {
		if skipped, err = ParsePattern(s.Skip); err != nil {
			return false, fmt.Errorf("the pattern %q of the tests to skip: %w", s.Skip, err)
		}
	}
	for _, name := range functions {
		below, ok := pattern.below(name)
		if !ok || skipped.matches(name) {
			continue
		}
		matched = true
		if ctx.Err() == nil {
			if err := s.checkFunction(ctx, name, below); err != nil {
				return matched, err
			}
		}
		if _, told := s.told[name]; ctx.Err() != nil && !told {
			unknown := report.Test{Name: name, Verdict: report.Unknown,
				Reason: "the check was interrupted before"}
			if err := s.Tell(Verdict{Test: unknown}); err != nil {
				return matched, err
			}
		}
	}
	return matched, nil
}

// check checks a test or subtest: first the subtests that are searched by themselves, then what is
// left of it. Which subtests it has shows when it runs. Patterns select among its subtests; it
// returns the worst verdict. Errors are those of Tell, and *failsApart. It searches again after
// each round of subtests, with those left out. The loop ends since done only grows.
func (s *Suite) check(ctx context.Context, name string, patterns []string) (report.Verdict, error) {
	started := time.Now()
	worst := report.Holds
	var done []string
	for {
		g := &Group{name: name, most: max(s.Violations, 1), together: s.Together, done: done}
		found, failure := s.Search(ctx, g, g.flags(patterns, s.Skip))
		if apart := g.apartAfter(found, failure); len(apart) > 0 && len(done) < maxSubtests {
			verdict, err := s.checkSubtests(ctx, apart, patterns)
			worst = worse(worst, verdict)
			if err != nil || ctx.Err() != nil {
				return worst, err
			}
			done = append(done, apart...)
			continue
		}
		// An interrupted search has no verdict. Check tells one of Unknown in its place.
		if failure != nil && found.Interrupted {
			return worst, nil
		}
		// Too many subtests appeared, so the group was not searched to its end.
		if errors.Is(failure, errSubtestsFirst) {
			failure = fmt.Errorf("there are more than %d subtests", maxSubtests)
		}
		if culprit := s.failsOnlyApart(ctx, g); culprit != "" {
			return worst, &failsApart{culprit}
		}
		for _, v := range g.verdicts(found, failure, worst, time.Since(started)) {
			if err := s.tell(v); err != nil {
				return worst, err
			}
			worst = worse(worst, v.Verdict)
		}
		return worst, nil
	}
}

// tell passes a verdict on and remembers it.
func (s *Suite) tell(v Verdict) error {
	s.told[v.Name] = v.Verdict
	return s.Tell(v)
}

// checkSubtests checks subtests by themselves, one after the other, and returns the worst verdict.
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

// worse of two verdicts; violated is the worst. The order is not that of the numbers: an error
// outweighs an unknown verdict.
func worse(a, b report.Verdict) report.Verdict {
	order := []report.Verdict{report.Holds, report.Unknown, report.Errored, report.Violated}
	return order[max(slices.Index(order, a), slices.Index(order, b))]
}

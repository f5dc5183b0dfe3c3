package check

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/sut"
)

// TestOptions say which test functions to check and how.
type TestOptions struct {
	Options // of every search; its Program is a test binary, Args are flag.Args of it, and Search is not used
	// NewSearch is called for every search: each top-level test and each subtest
	// that is not parallel has one of its own.
	NewSearch func() *explore.Search
	Run       string // which tests, as go test -run takes it; empty: all
	Short     bool   // go test -short
}

// TestVerdict is what was found out about a test function or a subtest.
type TestVerdict struct {
	report.Test
	Recording *report.Recording // of a violation
}

// ErrNoMatch is the error of a pattern that no test matches.
var ErrNoMatch = errors.New("no tests to run")

// maxSubtests bounds how many serial subtests one test may have.
const maxSubtests = 10_000

// Tests checks each test function by itself and calls tell with every verdict as
// soon as it is known. A subtest that does not call t.Parallel has a search of
// its own, since an order of it and of its siblings does not exist. Parallel
// siblings are explored together; each has the verdict of its own failures.
// A test that cannot be checked, for a reason that would be an error of Run, has
// the verdict Errored, and the others are checked. When ctx ends, the verdict of what
// is under way is Unknown, and so is that of each test function after it. Errors are
// those of tell, and those that leave nothing to check.
func Tests(ctx context.Context, o TestOptions, tell func(TestVerdict) error) error {
	alternatives := splitPattern(o.Run)
	for _, pattern := range alternatives {
		for _, element := range pattern {
			if _, err := regexp.Compile(element); err != nil {
				return fmt.Errorf("the pattern %q of the tests to run: %w", o.Run, err)
			}
		}
	}
	names, err := listTests(o)
	if err != nil {
		return err
	}
	t := &testRun{options: o, tell: tell, told: map[string]bool{}}
	matched := false
	for _, name := range names {
		below, ok := patternsBelow(alternatives, name)
		if !ok {
			continue
		}
		matched = true
		if ctx.Err() == nil {
			if _, err := t.check(ctx, name, below); err != nil {
				return err
			}
		}
		if ctx.Err() != nil && !t.told[name] {
			if err := tell(TestVerdict{Test: report.Test{Name: name, Verdict: report.Unknown,
				Reason: "the check was interrupted before"}}); err != nil {
				return err
			}
		}
	}
	if !matched {
		return fmt.Errorf("%s: %w: %d test functions, none matches %q", o.Package, ErrNoMatch,
			len(names), o.Run)
	}
	return nil
}

// testRun is the check of the tests of one package.
type testRun struct {
	options TestOptions
	tell    func(TestVerdict) error
	told    map[string]bool // the verdicts on these tests
}

// check checks a test or subtest: first its serial subtests, one by one, then
// what is left of it. Which subtests it has shows when it runs. Patterns select
// among its subtests; it returns the worst verdict. Errors are those of tell.
func (t *testRun) check(ctx context.Context, name string, patterns []string) (report.Verdict, error) {
	started := time.Now()
	worst := report.Holds
	var done []string
	for {
		g := &testGroup{name: name, done: done}
		result, failure := t.search(ctx, g, patterns)
		if serial := g.serialAfter(failure); len(serial) > 0 && len(done) < maxSubtests {
			verdict, err := t.checkSubtests(ctx, serial, patterns)
			worst = worse(worst, verdict)
			if err != nil || ctx.Err() != nil {
				return worst, err
			}
			done = append(done, serial...)
			continue
		}
		if failure != nil && interrupted(ctx, failure) {
			return worst, nil
		}
		if errors.Is(failure, errSerialSubtests) {
			failure = fmt.Errorf("there are more than %d subtests", maxSubtests)
		}
		for _, v := range g.verdicts(result, failure, worst, time.Since(started)) {
			if err := t.tell(v); err != nil {
				return worst, err
			}
			t.told[v.Name] = true
			worst = worse(worst, v.Verdict)
		}
		return worst, nil
	}
}

// checkSubtests checks serial subtests, one after the other, and returns the worst verdict.
func (t *testRun) checkSubtests(ctx context.Context, names, patterns []string) (report.Verdict, error) {
	worst := report.Holds
	for _, name := range names {
		verdict, err := t.check(ctx, name, below(patterns, name))
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

// search explores the executions of one group of tests.
func (t *testRun) search(ctx context.Context, g *testGroup, patterns []string) (*Result, error) {
	o := t.options.Options
	o.Args = append(t.flags(), "-test.run="+strings.Join(patterns, "|"))
	if len(g.done) > 0 {
		o.Args = append(o.Args, "-test.skip="+exactly(g.done...))
	}
	o.Args = append(o.Args, t.options.Args...)
	o.Search = t.options.NewSearch()
	result, err := t.searchIn(ctx, o, g)
	if !o.Audited || !contradicts(err) {
		return result, err
	}
	if o.Contradicted != nil {
		o.Contradicted(err)
	}
	o.Again = t.options.NewSearch
	*g = testGroup{name: g.name, done: g.done}
	return t.searchIn(ctx, o.inGroupScope(err), g)
}

func (t *testRun) searchIn(ctx context.Context, o Options, g *testGroup) (*Result, error) {
	r, err := newRun(ctx, o)
	if err != nil {
		return nil, err
	}
	r.enough, r.kind, r.judge, r.blame = g.enough, g.kind, g.judge, g.blame
	return r.finish(ctx)
}

// flags are those of every execution. Limits on time and on parallel tests would
// be the checker's own doing; the output marks what package testing says.
func (t *testRun) flags() []string {
	flags := []string{"-test.v=test2json", "-test.paniconexit0", "-test.timeout=0", "-test.parallel=65536"}
	if t.options.Short {
		flags = append(flags, "-test.short")
	}
	return flags
}

// listTests asks a test binary for the names of its test functions.
func listTests(o TestOptions) ([]string, error) {
	w, err := sut.Start(o.Program, sut.Options{Args: []string{"-test.list=.*"}, Env: o.Env, Dir: o.Dir,
		HangTimeout: o.Patience})
	if err != nil {
		return nil, err
	}
	defer w.Close()
	log, err := w.Run(sut.Schedule{Steps: o.Depth}, nil)
	if err != nil {
		return nil, err
	}
	if log.Outcome != sut.Completed {
		return nil, fmt.Errorf("asking %s for its tests: %v\n%s%s%s", o.Package, log.Outcome, log.Message,
			log.Stdout, log.Stderr)
	}
	return slices.DeleteFunc(strings.Fields(string(log.Stdout)), func(name string) bool {
		return !strings.HasPrefix(name, "Test")
	}), nil
}

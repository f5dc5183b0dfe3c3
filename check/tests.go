package check

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tandem-mc/tandem/check/internal/audit"
	"github.com/tandem-mc/tandem/check/internal/executor"
	"github.com/tandem-mc/tandem/check/internal/gotest"
	"github.com/tandem-mc/tandem/check/internal/naming"
	"github.com/tandem-mc/tandem/check/internal/pool"
	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/sut"
)

// TestOptions say which test functions to check and how.
type TestOptions struct {
	Options // of every search; its Program is a test binary, Args are flag.Args of it, and Search is not used
	// NewSearch is called for every search: each top-level test and each subtest has one of its
	// own, but for parallel subtests that are explored together.
	NewSearch func() *explore.Search
	Run       string // which tests, as go test -run takes it; empty: all
	Skip      string // which not, as go test -skip takes it; empty: none
	Short     bool   // go test -short
	Together  bool   // explore parallel subtests together, and not each by itself
}

// TestVerdict is what was found out about a test function or a subtest.
type TestVerdict struct {
	report.Test
	Recording *report.Recording // of the first violation
	All       []TestViolation   // of the test itself, in the order in which they were found
}

// TestViolation is an execution in which a test failed.
type TestViolation = gotest.Violation

// ErrNoMatch is the error of a pattern that no test matches.
var ErrNoMatch = errors.New("no tests to run")

// Tests checks each test function by itself and calls tell with every verdict as soon as it is
// known. Each subtest has a search of its own, too. With Together, parallel siblings are explored
// together, in all orders; each has the verdict of its own failures. A test that fails only since
// others are left out has its function searched with all subtests: then a test may be told a second
// time, and the later verdict holds. A test that cannot be checked, for a reason that would be an
// error of Run, has the verdict Errored, and the others are checked. When ctx ends, the verdict of
// what is under way is Unknown, and so is that of each test function after it. Errors are those of
// tell, and those that leave nothing to check.
func Tests(ctx context.Context, o TestOptions, tell func(TestVerdict) error) error {
	pattern, err := gotest.ParsePattern(o.Run)
	if err != nil {
		return fmt.Errorf("the pattern %q of the tests to run: %w", o.Run, err)
	}
	names, err := listTests(o)
	if err != nil {
		return err
	}
	suite := &gotest.Suite{
		Search: o.search, Violations: min(o.Violations, MaxViolations), Together: o.Together, Skip: o.Skip,
		Tell: func(v gotest.Verdict) error { return tell(TestVerdict(v)) },
	}
	matched, err := suite.Check(ctx, names, pattern)
	if err == nil && !matched {
		reason := fmt.Sprintf("none matches %q", o.Run)
		if o.Skip != "" {
			reason += fmt.Sprintf(" and is not skipped by %q", o.Skip)
		}
		if o.Run == "" && o.Skip != "" {
			reason = fmt.Sprintf("all are skipped by %q", o.Skip)
		}
		err = fmt.Errorf("%s: %w: %d test functions, %s", o.Package, ErrNoMatch, len(names), reason)
	}
	return err
}

// search explores the executions of one group of tests, which flags of the test binary select.
func (o *TestOptions) search(ctx context.Context, g *gotest.Group, flags []string) (gotest.Found, error) {
	search := o.Options
	search.Args = slices.Concat(o.flags(), flags, o.Args)
	search.Search = o.NewSearch()
	found, err := searchGroup(ctx, search, g)
	if !search.Audited || !audit.Contradicts(err) {
		return found, err
	}
	if search.Contradicted != nil {
		search.Contradicted(err)
	}
	search.Again = o.NewSearch
	g.Reset()
	return searchGroup(ctx, search.inGroupScope(err), g)
}

// searchGroup runs one search, whose executions the group judges.
func searchGroup(ctx context.Context, o Options, g *gotest.Group) (gotest.Found, error) {
	r, err := newRun(ctx, o, interest{
		enough: g.Enough,
		kind:   func(log *sut.Log, outcome explore.Outcome) string { return g.Kind(log.Stdout, outcome) },
		judge: func(log *sut.Log, isViolation bool, signature string) ([]string, error) {
			return g.Judge(log.Stdout, isViolation, signature)
		},
		blame: func(log *sut.Log) []string { return g.Blame(log.Stdout) },
	})
	if err != nil {
		return gotest.Found{Interrupted: pool.Interrupted(ctx, err)}, err
	}
	result, err := r.finish()
	found := gotest.Found{Interrupted: err != nil && pool.Interrupted(ctx, err)}
	if refused := (*executor.Refusal)(nil); errors.As(err, &refused) {
		found.Refused = refused.Stdout
	}
	if result != nil {
		found.Verdict, found.CutOff = result.Verdict, result.CutOff
		found.Note = naming.Line(r.replayed, result.Verdict, o.Program)
		found.Missed, found.Vacuous, found.Early = result.Missed, result.Vacuous, result.Counts.Early
		for _, v := range result.Violations {
			found.Violations = append(found.Violations, gotest.Violation{
				Summary: v.Summary, Counterexample: v.Counterexample, Recording: v.Recording})
		}
	}
	return found, err
}

// flags are those of every execution. Limits on time and on parallel tests would be the checker's
// own doing; the output marks what package testing says.
func (o *TestOptions) flags() []string {
	flags := []string{"-test.v=test2json", "-test.paniconexit0", "-test.timeout=0", "-test.parallel=65536"}
	if o.Short {
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
		return nil, fmt.Errorf("%s cannot be asked for its tests (%v): fix what keeps it from that, as "+
			"go test -list shows it"+
			"\n%s%s%s", o.Package, log.Outcome, log.Message,
			log.Stdout, log.Stderr)
	}
	return slices.DeleteFunc(strings.Fields(string(log.Stdout)), func(name string) bool {
		return !strings.HasPrefix(name, "Test")
	}), nil
}

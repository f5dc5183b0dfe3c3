package check

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tandem-mc/tandem/check/internal/scratch"
	"github.com/tandem-mc/tandem/configs"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/report/compare"
	"github.com/tandem-mc/tandem/strategy"
	"github.com/tandem-mc/tandem/sut"
)

// CompareRequest asks for one check with several strategies, backends and scopes. Each combination
// of the three lists is one check. The rest of the request is the same for all of them.
type CompareRequest struct {
	Request
	Strategies []string
	Backends   []string // none: that of the configuration
	Scopes     []string // none: that of the configuration
	Repeat     int      // how often each is run: all once, then all again
}

// MaxComparisons bounds how many checks one comparison runs.
const MaxComparisons = 1000

// Comparison is a CompareRequest that has been understood. The program is built once. Run may be
// called once for each Comparison, by one goroutine.
type Comparison struct {
	request CompareRequest
	configs []configs.Config // those to compare, once each
	first   *Job
}

// NewComparison sees that a comparison can be made, as far as that shows without starting anything.
// It validates every combination, so that a mistake in the last one does not show after hours. The
// error names the flag or value to change.
func NewComparison(r CompareRequest) (*Comparison, error) {
	if r.Config.Group == nil {
		return nil, errors.New("compare is about checkpoints of peers, and none are configured: " +
			"name them under `peers` in the configuration")
	}
	list, err := r.combinations()
	if err != nil {
		return nil, err
	}
	if r.Repeat < 1 || r.Repeat > MaxComparisons/len(list) {
		return nil, fmt.Errorf("--repeat %d is not allowed: give a number from 1 on, for at most %d runs "+
			"in all",
			r.Repeat, MaxComparisons)
	}
	first, err := NewJob(r.Request)
	return &Comparison{r, list, first}, err
}

// combinations are the configurations to compare, those of one scope and backend beside each other.
// The order is the one of the rows in the report. An error says which combination is invalid, named
// twice, or one too many.
func (r CompareRequest) combinations() ([]configs.Config, error) {
	if len(r.Strategies) == 0 {
		return nil, fmt.Errorf("--strategies names none: choose of %s", strings.Join(strategy.Names(), ", "))
	}
	var list []configs.Config
	for _, scope := range orDefault(r.Scopes, r.Config.Scope) {
		for _, backend := range orDefault(r.Backends, r.Config.Backend) {
			for _, name := range r.Strategies {
				next := r.Config
				next.Strategy, next.Backend, next.Scope = name, backend, scope
				if err := next.Validate(); err != nil {
					return nil, err
				}
				if slices.ContainsFunc(list, func(c configs.Config) bool {
					return c.Strategy == name && c.Backend == backend && c.Scope == scope
				}) {
					return nil, fmt.Errorf("strategy %s, backend %s and scope %s are named twice: leave "+
						"one out",
						name, backend, scope)
				}
				if list = append(list, next); len(list) > MaxComparisons {
					return nil, fmt.Errorf("these are more than %d combinations: "+
						"name fewer strategies, backends or scopes", MaxComparisons)
				}
			}
		}
	}
	return list, nil
}

// orDefault returns the list, or one that holds only the default if the list is empty.
func orDefault(list []string, otherwise string) []string {
	if len(list) == 0 {
		return []string{otherwise}
	}
	return list
}

// Run checks one combination after the other. Begin is called before each, with its name, and
// returns who is told how it goes; end is called after it. A combination that cannot be run has the
// reason in its row, and the others go on. The error is that of the build, which they share.
func (c *Comparison) Run(ctx context.Context, say func(format string, a ...any),
	begin func(title string) Listener, end func(title string, row *compare.Row),
) (*compare.Comparison, error) {
	r := c.request
	say("building %s", r.Package)
	program, clean, err := scratch.Build(ctx, c.first.buildOptions())
	if err != nil {
		return nil, err
	}
	defer clean()
	all := &compare.Comparison{Package: r.Package, Args: c.first.options.Args}
	// The rounds follow each other as wholes: what slows the machine for a while then hits all
	// combinations alike.
	runs := slices.Repeat(c.configs, r.Repeat)
	for i, config := range runs {
		row := compare.Row{Strategy: config.Strategy, Backend: config.Backend, Scope: config.Scope}
		// A combination that was not run has a row, too.
		title := fmt.Sprintf("%d of %d: %s", i+1, len(runs), row.Name())
		if ctx.Err() != nil {
			row.Failed, row.Interrupted, row.Reason = true, true, "not run: the comparison was interrupted"
		} else {
			c.measure(ctx, &row, config, program, begin(title))
			// A violation that was found before the interruption is a full verdict.
			row.Interrupted = ctx.Err() != nil && row.Verdict != report.Violated
		}
		end(title, &row)
		all.Rows = append(all.Rows, row)
	}
	return all, nil
}

// measure runs one combination and notes what came of it. The time that an ended attempt in scope
// connection took is part of the row: the user has waited for it, too.
func (c *Comparison) measure(
	ctx context.Context, row *compare.Row, config configs.Config, program *sut.Program, listener Listener,
) {
	r := c.request.Request
	r.Config = config
	started, wasted := time.Now(), time.Duration(0)
	job, err := NewJob(r)
	if err == nil {
		o := job.telling(listener)
		// All combinations run the same executable, so that they differ in nothing else.
		o.Program = program
		tell := o.Contradicted
		o.Contradicted = func(err error) {
			wasted = time.Since(started)
			tell(err)
		}
		// Each combination has a daemon of its own, which begins with an empty store.
		err = job.withDaemon(ctx, listener, &o, func() error {
			started = time.Now() // the time to start the daemon is left out
			result, err := Run(ctx, o)
			// An error after a violation leaves a result. Its numbers are shown beside the error.
			if err == nil || result != nil && len(result.Violations) > 0 {
				fillRow(row, Summary(o, result), result)
				row.Elapsed += wasted
			}
			if err != nil {
				return err
			}
			// The peak is wanted even if the check was interrupted.
			store, err := o.Client.Status(context.WithoutCancel(ctx))
			row.PeakBytes = store.PeakBytes
			return err
		})
	}
	if err != nil {
		row.Failed, row.Reason = true, err.Error()
	}
}

// fillRow takes over what a check has found and counted.
func fillRow(row *compare.Row, run report.Run, result *Result) {
	row.Verdict, row.Reason, row.Counts, row.Elapsed = run.Verdict, run.Reason, run.Counts, run.Counts.Elapsed
	row.Restarts, row.ImageBytes = result.Counts.Restarts, result.Counts.ImageBytes
	row.Outcomes = map[string]int{}
	for outcome, n := range result.Outcomes {
		row.Outcomes[outcome.String()] = n
	}
}

// Workers is how many executions of a combination run at the same time, at most.
func (c *Comparison) Workers() int { return c.first.Workers() }

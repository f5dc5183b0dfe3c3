package check

import (
	"context"
	"fmt"

	"github.com/tandem-mc/tandem/check/internal/driver"
	"github.com/tandem-mc/tandem/check/internal/execution"
	"github.com/tandem-mc/tandem/check/internal/executor"
	"github.com/tandem-mc/tandem/check/internal/narrate"
	"github.com/tandem-mc/tandem/check/internal/recording"
	"github.com/tandem-mc/tandem/iocache"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/sut"
)

// explainer makes violations simpler, and shows what happens in them. It has an executor to itself,
// since it replaces watchers and asks for more events than a search does. Only one goroutine may
// use it.
type explainer struct {
	ctx      context.Context
	options  *Options
	config   *executor.Config
	executor *executor.Executor
	blame    func(log *sut.Log) (tests []string) // that a violation is one of
	visited  *visited
	tell     func(tried, limit int) // how far a violation is made simpler; may be nil
}

// explainAll adds violations to a result. Each violation is shrunk first: the shorter schedule is
// the one that is explained. An error ends the loop, and those explained so far stay in the result.
func (e *explainer) explainAll(violations []*violation, result *Result) error {
	for _, v := range violations {
		e.shrink(v)
		if err := e.explain(v, result); err != nil {
			return err
		}
	}
	// The first violation is the one that a report without a list of violations shows.
	if len(result.Violations) > 0 {
		result.Counterexample, result.Recording = result.Violations[0].Counterexample,
			result.Violations[0].Recording
	}
	return nil
}

// explain runs the violating schedule once more, with everything noted that people want to see, and
// makes a counterexample and a recording of it. An error is returned if the program behaves
// differently this time: a counterexample that cannot be repeated would mislead.
func (e *explainer) explain(v *violation, result *Result) error {
	var exchanges []driver.Exchange
	x := e.executor
	defer x.Watch(func(x driver.Exchange) { exchanges = append(exchanges, x) })()
	schedule := e.config.Violating(v.Prefix, v.Log.EarlyTimers)
	// In scope auto the answers are audited before people rely on them.
	if err := x.Audit(schedule); err != nil {
		return err
	}
	// The earlier access of a race has no stack unless the runtime watches for it from the start.
	schedule.Show = &sut.Show{Watch: v.Log.Race.First()}
	preempting, err := executor.Preemptions(x.Worker(), schedule, x.Answers, v.Events)
	if err != nil {
		return fmt.Errorf("running the counterexample again: %w", err)
	}
	// The run that asked for preemptions has filled the list, too.
	exchanges = nil
	log, err := x.Run(schedule)
	if err != nil {
		return fmt.Errorf("running the counterexample again: %w", err)
	}
	if at := narrate.FirstDifference(v.Events, log.Events); at >= 0 {
		return fmt.Errorf("the program is not deterministic: the violating schedule, run again, differs at "+
			"event %d of %d%s%s\nlook for what reaches it and is not controlled, such as a file that others "+
			"write",
			at+1, len(v.Events), narrate.EventPlace(e.options.Program, log.Events, at),
			narrate.DifferingFields(v.Events, log.Events, at))
	}
	for i := range exchanges {
		exchanges[i].Cached = v.Hits[i] // in the second run, all are
	}
	shown := narrate.Counterexample(e.options.Program, log, exchanges, preempting)
	shown.Run, shown.Shrunk = Summary(*e.options, result), v.shrunk
	// The arguments name the tests that fail.
	if v.tests != nil {
		shown.Run.Args = v.tests
	}
	rec := recording.New(e.options.Program, about(e.options), log, exchanges)
	if rec.Cache, err = e.cache(exchanges, len(result.Violations)); err != nil {
		return err
	}
	shown.Cache = rec.Cache
	shown.Schedule = recording.Printed(e.options.Program, rec)
	shown.Summary.Executions = v.executions
	summary := shown.Summary
	summary.Counterexample = shown
	result.Violations = append(result.Violations, Violation{
		Tests: v.tests, Summary: summary, Counterexample: shown, Recording: rec,
	})
	return nil
}

// about is what was checked, as a recording tells it.
func about(o *Options) report.Program {
	p := report.Program{Package: o.Package, Args: o.Args, Env: o.Env, Directory: o.Dir, World: o.World}
	if p.Peers = o.Group != nil; p.Peers {
		p.Backend = o.BackendName
	}
	return p
}

// visited is which places of the I/O cache executions have come by that were reported to the
// search. What several workers run beside is not counted, so the counts are those of one worker.
// The lock of the search guards it.
type visited struct {
	ends  []uint32 // of each place, how many executions ended there
	known int      // nodes that the cache had before
}

// add counts where executions have ended. The list may be nil.
func (v *visited) add(ends *execution.Ends) {
	if ends == nil {
		return
	}
	// Places are numbered without gaps, and most of them are ends sooner or later.
	for _, n := range *ends {
		for int(n) >= len(v.ends) {
			v.ends = append(v.ends, 0)
		}
		v.ends[n]++
	}
}

// A check of which many violations are kept has the cache in the first ones only: it takes some
// 100 KB in each.
const treesKept = 10

// cache is the I/O cache around a violation; nil if there are no peers, or it is not one of the
// first ones. The exchanges are those of the violation, whose place in the result is index. The
// error is one of reading the cache.
func (e *explainer) cache(exchanges []driver.Exchange, index int) (*report.CacheTree, error) {
	if e.config.Peers == nil || index >= treesKept {
		return nil, nil
	}
	// The way of the violation is in the cache by now: it has been run with it.
	view := iocache.View{Ends: e.visited.ends, Known: e.visited.known, Most: report.MaxPlaces}
	// An input that reached nobody has led to where the one before it did.
	for _, x := range exchanges {
		view.Path = append(view.Path, x.Place)
	}
	s, answers, err := e.config.Peers.Snapshot(view)
	if err != nil {
		return nil, err
	}
	return narrate.CacheTree(s, answers), nil
}

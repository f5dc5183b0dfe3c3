package check

import (
	"fmt"
	"slices"

	"github.com/tandem-mc/tandem/check/internal/narrate"
	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut"
)

// foundEnough is the reason to stop when as many violations are found as are looked for.
func (r *run) foundEnough(v explore.Verdict) string {
	if r.options.Violations <= 1 {
		return explore.AtViolation(v)
	}
	limit := min(r.options.Violations, MaxViolations)
	if len(r.violations) < limit {
		return ""
	}
	return fmt.Sprintf("the search stopped at %d distinct violations", limit)
}

// report reports an execution to the search.
func (r *run) report(x explore.Execution) error {
	if r.options.observe != nil {
		if err := r.options.observe(x); err != nil {
			return err
		}
	}
	return r.search.Report(x)
}

// collect keeps a violation, if none of its kind has been.
func (r *run) collect(f *result, executions int) {
	if r.options.Violations <= 1 {
		if len(r.violations) == 0 {
			r.violations = append(r.violations, f.kept)
		}
		return
	}
	known := r.distinct[f.kind]
	if known == nil {
		if r.distinct == nil {
			r.distinct = map[string]*violation{}
		}
		known, r.distinct[f.kind] = f.kept, f.kept
		r.violations = append(r.violations, f.kept)
	}
	known.executions += executions
}

// withUnclaimed are the violations of the search and, as far as others are looked for, those that
// were run ahead of it.
func (r *run) withUnclaimed() []*violation {
	list, known := slices.Clone(r.violations), map[string]bool{}
	for _, f := range r.unclaimed {
		if len(list) < max(r.options.Violations, 1) && !known[f.kind] && r.distinct[f.kind] == nil {
			list, known[f.kind] = append(list, f.kept), true
		}
	}
	return list
}

// signature tells what violation an execution is. A data race takes another run, in which the
// earlier access is watched; the log is not valid any more after it.
func (x *executor) signature(log *sut.Log) (narrate.Signature, error) {
	if log.Race == nil || len(log.Race.Earlier.Stack) > 0 {
		return narrate.SignatureOf(x.run.options.Program, log), nil
	}
	counts := x.counts
	defer func() { x.counts = counts }()
	schedule := x.run.violating(choices(log.Events), log.EarlyTimers)
	schedule.Watch = log.Race.First()
	watched, err := x.worker.Run(schedule, x.answers())
	if err != nil {
		return narrate.Signature{}, fmt.Errorf("telling violations apart: %w", err)
	}
	return narrate.SignatureOf(x.run.options.Program, watched), nil
}

func keep(log *sut.Log) *violation {
	v := &violation{log: *log, events: narrate.WithoutEnabled(log.Events)}
	v.log.Events = v.events
	v.prefix = choices(v.events)
	return v
}

// choices is the schedule that an execution followed, written out.
func choices(events []sut.Event) []model.Action {
	var list []model.Action
	for i := range events {
		if e := &events[i]; e.Kind == sut.Stepped {
			list = append(list, e.Action())
		}
	}
	return list
}

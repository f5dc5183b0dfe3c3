package executor

import (
	"fmt"
	"slices"

	"github.com/tandem-mc/tandem/check/internal/execution"
	"github.com/tandem-mc/tandem/check/internal/narrate"
	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut"
)

// find returns what there is to know of an execution. The log may be invalid afterwards. known
// tells which kinds were reported before. An execution of those is not copied, since copies are
// large.
func (x *Executor) find(log *sut.Log, outcome explore.Outcome, known func(kind string) bool) (
	execution.Result, error) {
	var r execution.Result
	if outcome == explore.StepLimit {
		if limit, whole := x.config.limit(log, x.isBeside); !known(execution.LimitKind(limit)) {
			r.Limit, r.Limited = limit, whole
		}
	}
	kept, err := x.classify(log, outcome, &r)
	if err != nil || r.Kind == "" || known(r.Kind) {
		return r, err
	}
	if kept == nil {
		kept = x.Keep(log)
	}
	r.Kept = kept
	return r, nil
}

// classify determines the kind of an execution. If that takes others, it keeps this one. The
// signature of a data race takes another run, which overwrites the worker's log. Therefore the
// execution is copied before.
func (x *Executor) classify(log *sut.Log, outcome explore.Outcome, r *execution.Result) (
	kept *execution.Kept, err error) {
	r.Violation = outcome.Violation()
	switch {
	case x.config.Kind != nil:
		if r.Kind = x.config.Kind(log, outcome); r.Violation && x.config.Distinct {
			kept = x.Keep(log)
			var s narrate.Signature
			s, err = x.Signature(&kept.Log)
			r.Signature = s.Key
			r.Kind += " " + s.Key
		}
	case r.Violation && !x.config.Distinct:
		r.Kind = violated
	case r.Violation:
		kept = x.Keep(log)
		var s narrate.Signature
		s, err = x.Signature(&kept.Log)
		r.Kind = s.Key
	}
	return kept, err
}

// violated is the kind of all violations, where one of them is enough. Without Distinct, telling
// violations apart would cost executions for nothing.
const violated = "violated"

// Keep is an execution that outlives the next one, and who answered its inputs. The events that
// only say what else could run are left out.
func (x *Executor) Keep(log *sut.Log) *execution.Kept {
	kept := Keep(log)
	if x.session != nil {
		kept.Hits = slices.Clone(x.session.Hits())
	}
	return kept
}

// Keep is an execution that outlives the next one of its worker.
func Keep(log *sut.Log) *execution.Kept {
	kept := &execution.Kept{Log: *log, Events: narrate.WithoutEnabled(log.Events)}
	kept.Log.Events = kept.Events
	kept.Prefix = choices(kept.Events)
	return kept
}

// choices is the schedule that an execution followed, written out. The clock is left out: it
// advances by itself when the schedule is run again.
func choices(events []sut.Event) []model.Action {
	var list []model.Action
	for i := range events {
		if e := &events[i]; e.Kind == sut.Stepped {
			list = append(list, e.Action())
		}
	}
	return list
}

// Signature tells what violation an execution is. A data race takes another run, in which the
// earlier access is watched; the log is not valid any more after it.
func (x *Executor) Signature(log *sut.Log) (narrate.Signature, error) {
	if log.Race == nil || len(log.Race.Earlier.Stack) > 0 {
		return narrate.SignatureOf(x.config.Program, log), nil
	}
	// Counts of this extra run are no part of the search's.
	counts := x.counts
	defer func() { x.counts = counts }()
	schedule := x.config.Violating(choices(log.Events), log.EarlyTimers)
	schedule.Show = &sut.Show{Watch: log.Race.First()}
	watched, err := x.Run(schedule)
	if err != nil {
		return narrate.Signature{}, fmt.Errorf("telling violations apart: %w", err)
	}
	return narrate.SignatureOf(x.config.Program, watched), nil
}

package check

import (
	"fmt"
	"time"

	"github.com/tandem-mc/tandem/check/internal/driver"
	"github.com/tandem-mc/tandem/check/internal/execution"
	"github.com/tandem-mc/tandem/check/internal/executor"
	"github.com/tandem-mc/tandem/check/internal/saved"
	"github.com/tandem-mc/tandem/check/internal/translate"
	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/iocache"
)

// startSaving goes on with a saved run, if it is one, and saves from now on. Answers that the kept
// cache has are saved with the first save, so the run does not depend on that file.
func (r *run) startSaving(saving Saving) error {
	s := &saver{Saving: saving, next: time.Now().Add(saving.Interval)}
	if state := saving.Run.State(); state != nil {
		if err := r.resume(state); err != nil {
			return err
		}
	}
	r.saver = s
	if r.peers != nil {
		r.peers.OnRecord(s.record)
	}
	switch kept := r.options.Kept; {
	case kept == nil:
	case saving.Run.State() != nil:
		return keepOn(r.peers, kept, &r.options)
	default:
		err := kept.Each(func(e iocache.Entry) error { s.append(e); return nil })
		s.kept = len(s.answers)
		return err
	}
	return nil
}

// state is what is saved of the check, but for the search. It is taken between two executions. The
// caller adds the search.
func (r *run) state(counts execution.Counts) *saved.State {
	state := &saved.State{
		Build: r.options.Program.Hash, Counts: counts,
		Executions: r.options.Search.Verdict().Executions,
		Limited:    r.found.limited, Contradiction: r.options.contradiction,
		Dialled: r.config.Dials.Notes(),
	}
	state.Counts.Elapsed = r.clock.elapsed()
	for _, v := range r.found.list {
		state.Violations = append(state.Violations,
			saved.Violation{Schedule: v.Prefix, EarlyTimers: v.Log.EarlyTimers, Hits: v.Hits, Tests: v.tests,
				Executions: v.executions})
	}
	if r.peers != nil {
		state.Reads, state.Uninstrumented = r.peers.Known()
	}
	return state
}

// resume goes on with a saved run. The search must not have begun. Violations are executed again,
// since only their schedules were saved.
func (r *run) resume(s *saved.State) error {
	if s.Build != r.options.Program.Hash {
		return fmt.Errorf("the run cannot go on: the program %s has changed since the run began: "+
			"check it from the beginning", r.options.Package)
	}
	if err := r.options.Search.Resume(s.Search); err != nil {
		return fmt.Errorf("the run cannot go on: %w", err)
	}
	if r.peers != nil {
		if err := resumePeers(r.peers, s, &r.options); err != nil {
			return err
		}
	}
	for _, v := range s.Violations {
		err := r.recall(v)
		if err != nil && r.ctx.Err() != nil { // the check was interrupted, and the worker with it
			r.executor.Renew()
			err = r.recall(v)
		}
		if err != nil {
			return err
		}
	}
	r.clock.resumed, r.found.limited = s.Counts, s.Limited
	r.config.Dials.Add(s.Dialled)
	return nil
}

// resumePeers takes over what was saved of the peers' side.
func resumePeers(d *driver.Driver, s *saved.State, o *Options) error {
	if s.CacheBytes > 0 {
		d.Adopt(driver.RoomyCache(o.Masks, o.CacheBytes), "the search was resumed", o.Saving.Run.Answers)
		if err := o.Saving.Run.Recall(d.Cache()); err != nil {
			return err
		}
		o.limit(d.Cache())
	}
	d.Recall(s.Reads, s.Uninstrumented)
	return nil
}

// recall takes a violation over that was kept. The executions that ended with it are counted on
// from the saved number.
func (r *run) recall(saved saved.Violation) error {
	kept, err := r.runAgain(&saved)
	if err != nil {
		return err
	}
	kind := ""
	if r.options.Violations > 1 {
		s, err := r.executor.Signature(&kept.Log)
		if err != nil {
			return err
		}
		kind = s.Key
	}
	if v := r.found.collect(kind, kept, saved.Executions); v != nil {
		v.tests = saved.Tests
	}
	return nil
}

// runAgain runs a violation that was kept, for its log. The peers answer from the cache. An
// execution that is no violation this time is an error.
func (r *run) runAgain(saved *saved.Violation) (*execution.Kept, error) {
	log, err := r.executor.Run(r.config.Violating(saved.Schedule, saved.EarlyTimers))
	if err != nil {
		return nil, fmt.Errorf("running a violation that was saved: %w", err)
	}
	outcome, err := translate.Outcome(log)
	if err == nil && !outcome.Violation() {
		err = fmt.Errorf("this time it ended as %q: check the program from the beginning", outcome)
	}
	if err != nil {
		return nil, fmt.Errorf("running a violation that was saved: %w", err)
	}
	kept := executor.Keep(log)
	kept.Hits = saved.Hits
	return kept, nil
}

// stopSaving ends the saving. What is needed to go on stays where there is something to go on with:
// at least one execution. A check with a final verdict has its run removed. An error of the removal
// is told, and does not change the result.
func (r *run) stopSaving(result *Result, err error) *Result {
	s := r.saver
	if s == nil {
		return result
	}
	if result == nil {
		result = &Result{}
	}
	last := s.Run.State()
	switch {
	case err != nil && last == nil:
	case err != nil && last.Executions > 0: // what was saved last stays
		result.Saved = s.Run.Path()
	case err == nil && (result.Verdict.Kind == explore.Unknown || r.ctx.Err() != nil) &&
		r.options.Search.Verdict().Executions > 0 &&
		s.save(r.options.Search, r.state(r.done.Tally.Counts)):
		result.Saved = s.Run.Path()
	default:
		if err := s.Run.Remove(); err != nil {
			s.fail(err)
		}
	}
	return result
}

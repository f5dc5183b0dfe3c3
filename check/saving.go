package check

import (
	"cmp"
	"fmt"
	"sync"
	"time"

	"github.com/tandem-mc/tandem/check/internal/driver"
	"github.com/tandem-mc/tandem/check/internal/narrate"
	"github.com/tandem-mc/tandem/check/internal/saved"
	"github.com/tandem-mc/tandem/check/internal/translate"
	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/iocache"
)

// Saving says how a check is saved while it runs. A run that was opened is gone on with.
type Saving struct {
	Run *saved.Run
	// Interval is the time between saves, while they take less than a twentieth of it. 0: the
	// check is saved only when it is interrupted.
	Interval time.Duration
	// Asked says how the check was asked for, in JSON, for saved.Run.Asked. It is called once,
	// before the first save.
	Asked func() ([]byte, error)
	// Failed is told once that the check cannot be saved. It goes on, and what was
	// saved before stays.
	Failed func(error)
}

const (
	saveShare  = 20        // one part in so many of the time is spent on saving, at most
	maxUnsaved = 256 << 20 // bytes of answers that are kept for the next save
)

// saver saves a check. What is saved is as it was between two executions: of one that is under
// way nothing is counted.
type saver struct {
	Saving
	asked []byte
	next  time.Time

	mu      sync.Mutex // guards what follows
	answers []byte     // of the peers, since the last save
	kept    int        // bytes of them that were there from the start: those of --cache
	settled int        // bytes of them that were there when an execution was last reported
	failed  bool       // Failed was told
	lost    bool       // answers were dropped, so that nothing can be saved any more
}

// startSaving goes on with a saved run, if it is one, and saves from now on.
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

// record notes an answer of the peers.
func (s *saver) record(e iocache.Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lost {
		return
	}
	if s.append(e); len(s.answers)-s.kept > maxUnsaved {
		s.fail(fmt.Errorf("what the peers have answered since the last save takes more than %d bytes",
			maxUnsaved))
		s.answers, s.lost = nil, true
	}
}

// append adds an answer to those that are to be saved. The caller holds mu, or nobody records yet.
func (s *saver) append(e iocache.Entry) {
	if len(s.answers) == 0 && !s.Run.HasAnswers() {
		s.answers = iocache.AppendHeader(nil, "answers of the peers of a saved run")
	}
	s.answers = iocache.AppendEntry(s.answers, e)
}

func (s *saver) fail(err error) {
	if !s.failed && s.Failed != nil {
		s.Failed(fmt.Errorf("saving the check in %s: %w", s.Run.Path(), err))
	}
	s.failed = true
}

// settle takes the execution that has just been reported as finished.
func (s *saver) settle() {
	if s != nil {
		s.mu.Lock()
		s.settled = len(s.answers)
		s.mu.Unlock()
	}
}

// due reports whether it is time to save the check.
func (s *saver) due(now time.Time) bool {
	return s != nil && s.Interval > 0 && !now.Before(s.next)
}

// saveOnTime saves the check, and decides when it is time again.
func (r *run) saveOnTime(now time.Time) {
	s := r.saver
	r.save()
	took := time.Since(now)
	s.next = now.Add(took + max(s.Interval, saveShare*took))
}

// save saves the check, and reports whether there is something to go on with. Nobody
// may be advancing the search.
func (r *run) save() bool {
	s := r.saver
	if s == nil {
		return false
	}
	search, err := r.search.Save()
	if err == nil && search == nil {
		return false
	}
	if err == nil && s.asked == nil {
		s.asked, err = s.Asked()
	}
	state := r.state(search)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lost {
		return s.Run.State() != nil
	}
	if err == nil {
		err = s.Run.Save(state, s.answers[:s.settled])
	}
	if err != nil {
		s.fail(err)
		return s.Run.State() != nil // what was saved before stays
	}
	s.answers, s.kept = s.answers[:copy(s.answers, s.answers[s.settled:])], max(0, s.kept-s.settled)
	s.settled = 0
	return true
}

// state is what is saved of the check.
func (r *run) state(search []byte) *saved.State {
	state := &saved.State{
		Asked: r.saver.asked, Build: r.options.Program.Hash, Counts: r.counts,
		Executions: r.search.Verdict().Executions,
		Limited:    r.limited, Contradiction: r.options.contradiction, Search: search,
	}
	state.Counts.Elapsed = r.elapsed()
	for _, v := range r.violations {
		state.Violations = append(state.Violations,
			saved.Violation{Schedule: v.prefix, EarlyTimers: v.log.EarlyTimers, Hits: v.hits, Tests: v.tests,
				Executions: v.executions})
	}
	if r.peers != nil {
		state.Reads, state.Uninstrumented = r.peers.Known()
	}
	return state
}

// resume goes on with a saved run.
func (r *run) resume(s *saved.State) error {
	if s.Build != r.options.Program.Hash {
		return fmt.Errorf("the run cannot go on: the program %s is another one than that which it has "+
			"checked so far", r.options.Package)
	}
	if err := r.search.Resume(s.Search); err != nil {
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
			r.executor.renew()
			err = r.recall(v)
		}
		if err != nil {
			return err
		}
	}
	r.counts, r.begun, r.limited, r.before = s.Counts, s.Executions > 0, s.Limited, s.Counts.Elapsed
	return nil
}

// resumePeers takes over what was saved of the peers' side.
func resumePeers(d *driver.Driver, s *saved.State, o *Options) error {
	if s.CacheBytes > 0 {
		d.Adopt(driver.RoomyCache(o.Masks), "the search was resumed")
		if err := o.Saving.Run.Recall(d.Cache()); err != nil {
			return err
		}
		o.limit(d.Cache())
	}
	d.Recall(s.Reads, s.Uninstrumented)
	return nil
}

// recall takes a violation over that was kept.
func (r *run) recall(saved saved.Violation) error {
	v, err := r.recallViolation(&saved)
	if err != nil {
		return err
	}
	f := &result{kept: v}
	if r.options.Violations > 1 {
		var s narrate.Signature
		if s, err = r.executor.signature(&v.log); err != nil {
			return err
		}
		f.kind = s.Key
	}
	r.collect(f, saved.Executions)
	return nil
}

// recallViolation runs a violation that was kept, for its log.
func (r *run) recallViolation(saved *saved.Violation) (*violation, error) {
	log, err := r.executor.worker.Run(r.violating(saved.Schedule, saved.EarlyTimers), r.executor.answers())
	if err != nil {
		return nil, fmt.Errorf("running a violation that was saved: %w", err)
	}
	outcome, err := translate.Outcome(log)
	if err == nil && !outcome.Violation() {
		err = fmt.Errorf("this time it ended as %q", outcome)
	}
	if err != nil {
		return nil, fmt.Errorf("running a violation that was saved: %w", err)
	}
	v := keep(log)
	v.hits, v.tests = saved.Hits, saved.Tests
	return v, nil
}

// elapsed is how long the check has taken, before it was resumed included.
func (r *run) elapsed() time.Duration { return r.before + time.Since(r.started) }

// stopSaving ends the saving. What is needed to go on stays where there is something to go on with.
func (r *run) stopSaving(result *Result, err error) *Result {
	s := r.saver
	if s == nil {
		return result
	}
	if result == nil {
		result = &Result{}
	}
	switch {
	case err != nil:
		if s.Run.State() != nil { // what was saved last stays
			result.Saved = s.Run.Path()
		}
	case (result.Verdict.Kind == explore.Unknown || r.ctx.Err() != nil) && r.save():
		result.Saved = s.Run.Path()
	default:
		if err := s.Run.Remove(); err != nil {
			s.fail(err)
		}
	}
	return result
}

// keepAnswers has a driver begin with the answers that are kept, and keep others.
func keepAnswers(d *driver.Driver, k *saved.AnswerFile) {
	d.Adopt(k.Cache(), "they are kept in "+k.Path())
	d.OnRecord(k.Record)
}

// keepOn has a driver, which goes on with the answers of a saved run, keep these and others. The
// file may have more already: what was answered after the run was last saved.
func keepOn(d *driver.Driver, k *saved.AnswerFile, o *Options) error {
	o.limit(k.Cache())
	d.OnRecord(func(e iocache.Entry) { k.Follow(d.Cache(), e) })
	// When each answer was recorded: later ones may have cut the ways to earlier ones.
	asItWas := driver.RoomyCache(o.Masks)
	return o.Saving.Run.Answers(func(e iocache.Entry) error {
		err := asItWas.Restore(e)
		k.Follow(asItWas, e)
		return err
	})
}

// limit sets what a cache may take, and what may differ in its answers.
func (o *Options) limit(c *iocache.Cache) {
	const unlessSaid = 1 << 30
	c.SetMasks(o.Masks)
	c.Limit(cmp.Or(o.CacheBytes, unlessSaid))
}

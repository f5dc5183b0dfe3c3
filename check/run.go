package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tandem-mc/tandem/check/internal/audit"
	"github.com/tandem-mc/tandem/check/internal/driver"
	"github.com/tandem-mc/tandem/check/internal/execution"
	"github.com/tandem-mc/tandem/check/internal/executor"
	"github.com/tandem-mc/tandem/check/internal/far"
	"github.com/tandem-mc/tandem/check/internal/naming"
	"github.com/tandem-mc/tandem/check/internal/pool"
	"github.com/tandem-mc/tandem/explore"
)

// run is one check under way.
type run struct {
	ctx      context.Context
	end      context.CancelCauseFunc // ends ctx
	options  Options
	peers    *driver.Driver     // nil if there are none
	config   *executor.Config   // of all executors
	executor *executor.Executor // the first one, and after the search one that is left
	found    collector
	done     pool.Found // when the search has ended
	saver    *saver     // nil: the check is not saved
	clock    clock
	replayed string // what became of the schedule of tandem.Replay; empty: there is none
	visited  visited
	notes    []string    // on states that the program names
	leader   *far.Leader // of workers in other processes; nil: there are none
}

// newRun starts what takes part in a check. On an error nobody has to be closed. The group starts
// with the first input that the cache cannot answer.
func newRun(ctx context.Context, o Options, in interest) (*run, error) {
	if err := o.prepare(); err != nil {
		return nil, err
	}
	r := &run{notes: naming.Use(o.Search, o.Program, o.Group != nil, &o.Workers), clock: startClock()}
	o.World.States = o.Search.NamesStates()
	r.options, r.config = o, o.executors(in)
	r.ctx, r.end = context.WithCancelCause(ctx)
	r.found = collector{most: o.Violations, judge: in.judge, blame: in.blame}
	if in.enough == nil {
		in.enough = r.found.enough
	}
	o.Search.Until(in.enough)
	if o.Group != nil {
		r.peers = driver.New(r.ctx, o.driver(o.Scope))
		if o.Kept != nil && !o.resumes() {
			keepAnswers(r.peers, o.Kept)
		}
		o.limit(r.peers.Cache())
		if o.Audited {
			r.config.Auditor = newAuditor(r.ctx, o, r.peers)
		}
		r.config.Peers = r.peers
		r.visited.known = r.peers.Cache().Stats().Nodes
	}
	var err error
	if r.executor, err = executor.New(r.ctx, r.config, 0); err != nil {
		r.end(err)
		r.executor.Close()
		if r.peers != nil {
			err = errors.Join(err, r.peers.Close()) // which has the file of answers for workers
		}
	}
	return r, err
}

// isInterrupted reports whether a search ended with an error because it was interrupted. Peers that
// contradicted themselves before are not answers to go on with, so that counts in any case.
func (r *run) isInterrupted(err error) bool {
	if r.options.Audited && audit.Contradicts(err) && pool.CameFirst(err) {
		return false
	}
	return err != nil && pool.Interrupted(r.ctx, err)
}

// finish searches to the end and ends what takes part. Violations that were found before an error
// are explained all the same.
func (r *run) finish() (*Result, error) {
	var result *Result
	var crowded *driver.NoRoom
	defer r.end(nil)
	err := r.loop()
	defer func() { r.executor.Close() }()
	switch {
	case r.isInterrupted(err): // else the search had ended by then
		result, err = r.endedBy(whyInterrupted(r.ctx, r.options.Time))
	case err == nil:
		// It may have ended while violations were explained.
		if result, err = r.result(); err != nil && pool.Interrupted(r.ctx, err) {
			result, err = r.endedBy(whyInterrupted(r.ctx, r.options.Time))
		}
	case errors.As(err, &crowded):
		result, err = r.endedBy(crowded.Error())
	case len(r.found.list) > 0:
		var unshown error
		if result, unshown = r.endedBy("an error ended the search"); unshown != nil {
			err = fmt.Errorf("%w; a violation that was found before cannot be shown: %w", err, unshown)
		}
	}
	if result = r.stopSaving(result, err); result != nil {
		result.qualify()
	}
	if r.peers != nil {
		closeError := r.peers.Close()
		if r.config.Auditor != nil {
			closeError = errors.Join(closeError, r.config.Auditor.Close())
		}
		if err == nil && closeError != nil {
			err = fmt.Errorf("ending the peers: %w", closeError)
		}
	}
	return result, err
}

// How often what happens now and then happens, and when the workers after the first one start:
// after about as long as it takes to start one. Small searches are over by then.
const (
	roundInterval    = 50 * time.Millisecond
	progressInterval = 200 * time.Millisecond
	lateStart        = 5 * time.Millisecond
)

// loop has the executors search, and meanwhile does what has to be done now and then. The first
// error ends the loop. Executors after the first are made later, unless haste is set.
func (r *run) loop() error {
	if most := r.options.Time; most > 0 {
		left := r.clock.leftOf(most) + cmp.Or(r.options.overtime, overtime)
		defer time.AfterFunc(left, func() { r.end(errOutOfTime) }).Stop()
	}
	if ended, err := r.replayAsked(); err != nil || ended {
		return err
	}
	var err error
	if r.leader, err = far.Lead(r.ctx, r.config, r.executor, r.options.Distribution); err != nil {
		return err
	}
	defer func() { r.leader.Close(r.done.Tally.Counts.InVain) }()
	p := r.pool()
	if r.options.haste {
		p.Fill()
	} else {
		defer time.AfterFunc(lateStart, p.Fill).Stop()
	}
	r.leader.Gather(r.ctx, p, r.options.Search) // short searches are over before the first round
	p.Add(r.executor)
	round := time.NewTicker(roundInterval)
	defer round.Stop()
	interrupt := r.ctx.Done()
	for searching := true; searching; {
		select {
		case <-p.Ended():
			searching = false
		case <-interrupt:
			interrupt = nil
			p.Stop(r.ctx.Err())
		case now := <-round.C:
			if err := r.rounds(p, now); err != nil {
				p.Stop(err)
			}
		}
	}
	r.leader.Silence()
	// Wait closes all executors but one, which explains the violations.
	r.done, err = p.Wait()
	if r.done.Executor != nil {
		r.executor = r.done.Executor.(*executor.Executor)
	} else if err == nil {
		r.executor.Renew()
	}
	if r.ctx.Err() != nil {
		r.found.keepUnclaimed(r.done.Left)
	}
	if err != nil {
		return err
	}
	return r.peers.Alive()
}

// pool is what the executors work in. The ledger is the run itself.
func (r *run) pool() *pool.Pool {
	c := pool.Config{
		Search: r.options.Search, Ledger: r, Executors: r.options.Workers,
		New: func(number int) (pool.Executor, error) {
			return executor.New(r.ctx, r.config, number)
		},
		Begun: r.options.Search.Verdict().Executions > 0, Counts: r.clock.resumed,
		Forecast: r.peers != nil, Observe: r.options.observe, Eager: r.options.haste,
	}
	if r.config.Auditor != nil {
		c.Conclusive = audit.Contradicts // audits are samples: they may be others the next time
	}
	return pool.New(r.ctx, c)
}

// Account implements pool.Ledger.
func (r *run) Account(result *execution.Result) error {
	r.config.Dials.Add(result.Dialled)
	r.visited.add(result.Ends)
	return r.found.account(result)
}

// Settle implements pool.Ledger. The saver may be nil.
func (r *run) Settle() { r.saver.settle() }

// rounds does what has to be done now and then: see that the peers live even while the cache
// answers for them, save the check, and tell how far it is.
func (r *run) rounds(p *pool.Pool, now time.Time) error {
	if err := r.peers.Alive(); err != nil {
		return err
	}
	r.leader.Gather(r.ctx, p, r.options.Search)
	if r.saver.due(now) {
		p.Still(func(t pool.Tally) { r.saver.saveOnTime(now, r.options.Search, r.state(t.Counts)) })
	}
	if r.options.Progress != nil && r.clock.isTimeToTell(now) {
		var progress Progress
		p.Still(func(t pool.Tally) {
			progress = Progress{Verdict: r.options.Search.Verdict(), Counts: t.Counts,
				Found: r.found.told(r.options.Program)}
		})
		progress.Counts.Elapsed = r.clock.elapsed()
		r.options.Progress(progress)
	}
	return nil
}

// endedBy is what is known when somebody wants the search to end, or it cannot go on. The worker
// may have been ended then, but violations that were found are shown all the same. The verdict is
// Violated if there are violations, and else Unknown with the reason.
func (r *run) endedBy(reason string) (*Result, error) {
	result := r.known()
	result.Verdict.Kind, result.Verdict.Reason = explore.Unknown, reason
	found := r.found.withUnclaimed()
	if len(found) > 0 {
		result.Verdict.Kind = explore.Violated
		r.executor.Renew()
	}
	return result, r.explainer().explainAll(found, result)
}

// result is what is known when the search has ended by itself.
func (r *run) result() (*Result, error) {
	result := r.known()
	return result, r.explainer().explainAll(r.found.list, result)
}

// known is the result without violations. It is to be called after the search, when the counts do
// not change any more.
func (r *run) known() *Result {
	tally := &r.done.Tally
	tally.Counts.Elapsed = r.clock.elapsed()
	counts := tally.Counts
	counts.Add(r.done.Vain) // it is not saved, since it is run again
	counts.PeerCounts.Add(r.leader.PeerCounts())
	// A part of the executions, which those are not.
	counts.Early, counts.EarlyCutOff = tally.Counts.Early, tally.Counts.EarlyCutOff
	result := &Result{Verdict: r.done.Verdict, Counts: counts, CutOff: r.found.limited,
		Outcomes: tally.Outcomes}
	missed := r.config.Dials.Found(r.options.Group, r.options.Absent)
	result.Missed, result.Vacuous = missed.Missed, missed.Vacuous
	if r.peers != nil {
		known := r.peers.Report()
		result.Reads, result.Uninstrumented, result.Refusal = known.Reads, known.Uninstrumented, known.Refusal
		result.Unstored, result.Skipped, result.WhyKilled = known.Unstored, known.Skipped, known.Killed
		result.Scope = r.options.scope(tally.Counts)
		result.Notes = known.Crowded.Notes(r.options.CacheBytes, 1)
		if !r.clock.isResumed() { // else it is not known of the executions before
			result.Notes = append(result.Notes, known.Unused...)
		}
	}
	result.Notes = slices.Concat(result.Notes, missed.Notes(), r.notes, r.leader.Notes())
	result.Notes = append(result.Notes, naming.Explain(result.Verdict, r.options.Program)...)
	if r.replayed != "" {
		result.Notes = append(result.Notes, r.replayed)
	}
	return result
}

// explainer shows what happens in violations.
func (r *run) explainer() *explainer {
	return &explainer{ctx: r.ctx, options: &r.options, config: r.config, executor: r.executor,
		blame: r.found.blame, visited: &r.visited, tell: r.tellSimpler}
}

// tellSimpler tells now and then how far it is to make a violation simpler: that may take longer
// than the search.
func (r *run) tellSimpler(tried, limit int) {
	if r.options.Progress == nil || !r.clock.isTimeToTell(time.Now()) {
		return
	}
	p := Progress{Verdict: r.done.Verdict, Counts: r.done.Tally.Counts, Tried: tried, Limit: limit}
	p.Counts.Elapsed = r.clock.elapsed()
	r.options.Progress(p)
}

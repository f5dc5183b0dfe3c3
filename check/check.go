// Package check runs one check: the search chooses schedules, a worker executes
// them, the cache answers for the peers, and the peers stand where the cursor
// is whenever the cache cannot. It is the only room that knows the others.
package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tandem-mc/tandem/check/internal/audit"
	"github.com/tandem-mc/tandem/check/internal/driver"
	"github.com/tandem-mc/tandem/check/internal/modules"
	"github.com/tandem-mc/tandem/check/internal/narrate"
	"github.com/tandem-mc/tandem/check/internal/saved"
	"github.com/tandem-mc/tandem/ckptd"
	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/iocache"
	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/peers/watch"
	"github.com/tandem-mc/tandem/proxy"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/strategy"
	"github.com/tandem-mc/tandem/sut"
)

// DefaultShrink is a limit on executions that suffices for schedules of some hundred transitions.
const DefaultShrink = 400

// MaxViolations is the greatest number of distinct violations that a search keeps.
const MaxViolations = 100

// Options say what to check and how.
type Options struct {
	Program  *sut.Program
	Package  string // as the user named it
	Args     []string
	Env      []string // NAME=value
	World    sut.Environment
	Dir      string // working directory of the program; empty: the present one
	Strategy strategy.Strategy
	// StrategyName is what reports call it.
	StrategyName string
	// BackendName is what takes checkpoints of the group, in the words of ckptd.Options.
	BackendName string
	// Search explores; bounds on executions and time are part of it. Run adds the
	// end at the first violation.
	Search *explore.Search
	Depth  int // greatest number of transitions in an execution; 0: no other than the log's

	// Group is the peers; nil for a program that has none. Client starts them,
	// when the first input reaches them.
	Group  *peers.Group
	Client *ckptd.Client
	// Scope is that of the I/O cache: what the peers' answers may depend on.
	Scope iocache.Scope
	// Masks are rules for what may differ between two answers of the peers to the same request.
	Masks []iocache.Mask
	// Audited is scope auto: Scope is Connection, some executions are run with the requests in
	// other orders, and should the peers then answer otherwise, the check starts over in group
	// scope, with the search that Again returns, and Contradicted is told why.
	Audited      bool
	Again        func() *explore.Search
	Contradicted func(error)

	// Assumed is what else the verdict rests on, for reports: a line each.
	Assumed []string
	// observe sees each execution before the search does, in tests. An error of it is one of the
	// search.
	observe func(explore.Execution) error
	// Modules collects the modules without preemption that matter, for Assumptions; nil: they are
	// not looked for.
	Modules *modules.Set

	// Leaks makes goroutines that are left blocked for ever at the end a violation.
	Leaks bool

	// SelfCheck: the first and then one of n executions is run twice more, and must be
	// the same; 0: none is. It picks by the schedule.
	SelfCheck int

	// Violations is how many distinct violations are looked for; 0 counts as 1. See Tests
	// for those of tests.
	Violations int
	// Shrink is how many executions may be spent on making a violation simpler before
	// it is shown; 0: it is shown as it was found.
	Shrink int

	// Workers is how many executions may be run at the same time; 0: 1. The result does
	// not depend on it, but for Counts.
	Workers int

	Isolation sut.Isolation
	Patience  time.Duration // see sut.Options
	// PeerPatience is how long timers of peers that have the machine's clock are waited for; 0:
	// watch.DefaultPatience. Below 0 none is.
	PeerPatience time.Duration
	// Saving keeps what is needed to go on with the check; nil: nothing is kept.
	Saving *Saving
	// CacheBytes is how much memory the I/O cache may take before it puts answers into a file; 0:
	// 1 GiB.
	CacheBytes int64
	// CheckpointBytes is how much memory the checkpoints of Client may take, as messages say it;
	// 0: ckptd.DefaultMaxBytes.
	CheckpointBytes int64
	// Kept has the answers of the peers in earlier checks, and those of this one are kept there;
	// nil: none are. A saved run that is gone on with does without.
	Kept *saved.AnswerFile
	// Progress is told several times a second how far the check is; nil: nobody is.
	Progress func(Progress)

	contradiction string // that ended the check in scope auto

	haste bool // all workers are there before the search begins
}

// PeerCounts says how much work with the peers was done.
type PeerCounts = driver.Counts

// Counts says how much work was done beside the search itself.
type Counts = saved.Counts

// Result is what a check found.
type Result struct {
	Verdict explore.Verdict
	Counts  Counts
	// CutOff is which limits cut executions off, and where the first was of each, a line each.
	CutOff         string
	Counterexample *report.Counterexample // of the first violation
	Recording      *report.Recording      // the same, to be replayed
	Violations     []Violation            // all that were kept, the first included
	// Reads is what the peers have read of time and random numbers, and how often.
	Reads          string
	Uninstrumented []string // their processes of which that is not known
	Refusal        string   // why checkpoints were not kept in memory, if they were to be
	Unstored       string   // why the first of those that were not kept at all was not
	WhyKilled      string   // what is known of the first time that the peers were lost
	Skipped        string   // what the first of those that were not tried could not have held
	Unused         []string // peers that had no part in any execution, a line each
	Scope          string   // of the I/O cache, and what is known about it, in words
	// Outcomes is how many executions ended in which way, since the check was begun or gone on
	// with.
	Outcomes map[explore.Outcome]int
	// Saved is the directory from which the check can go on; empty: it has ended, or is not saved.
	Saved string
	// Summary is the check as a whole in the words of reports, and ImportPath the path of what was
	// checked. They are known for jobs only.
	Summary    report.Run
	ImportPath string
}

// Violation is an execution that should not be.
type Violation struct {
	Tests          []string // that fail in it; nil if the program is not made of tests
	Summary        report.Violation
	Counterexample *report.Counterexample
	Recording      *report.Recording
}

// Run checks a program. An error means that nothing more can be said about it: the
// program does what cannot be checked, a process that takes part has died, or
// the peers contradicted themselves. Violations that were found before the error are in
// the result, which is nil if there are none. When ctx ends, the verdict is Unknown, or
// Violated if there are violations.
func Run(ctx context.Context, o Options) (*Result, error) {
	result, err := runIn(ctx, o)
	if !o.Audited || !audit.Contradicts(err) {
		return result, err
	}
	if o.Saving != nil {
		if err := o.Saving.Run.Forget(); err != nil {
			return nil, err
		}
	}
	if o.Contradicted != nil {
		o.Contradicted(err)
	}
	return runIn(ctx, o.inGroupScope(err))
}

// runIn checks a program in the scope that is asked for.
func runIn(ctx context.Context, o Options) (*Result, error) {
	if o.resumes() && o.Saving.Run.State().Contradiction != "" {
		o.Scope, o.Audited, o.contradiction = iocache.Group, false, o.Saving.Run.State().Contradiction
	}
	r, err := newRun(ctx, o)
	if err != nil {
		return nil, err
	}
	if o.Saving != nil {
		if err := r.startSaving(*o.Saving); err != nil {
			r.executor.close()
			return nil, err
		}
	}
	return r.finish(ctx)
}

// resumes says whether a saved run is gone on with.
func (o *Options) resumes() bool { return o.Saving != nil && o.Saving.Run.State() != nil }

// The clocks of the program and of its peers start together, also where nothing is said.
var _ = [1]struct{}{}[sut.DefaultStart-peers.DefaultStart]

func newRun(ctx context.Context, o Options) (*run, error) {
	if o.Group != nil && o.Scope == iocache.Connection {
		for _, p := range o.Group.Peers {
			if p.Listen == "" && !p.IsClient() {
				return nil, fmt.Errorf("scope connection is for peers that listen and for clients, and %s "+
					"is neither: use scope group", p.Name)
			}
		}
	}
	if o.World.PeerTimers > 0 && o.Group != nil && o.Scope != iocache.Group {
		return nil, errors.New("that timers of the peers are due concerns all connections: use scope group")
	}
	if o.Group != nil {
		if err := o.selectFaults(); err != nil {
			return nil, err
		}
		o.World.Clients = o.Group.Clients()
		o.World.NameServers = o.Group.ServesNames()
		o.World.Behaviours, o.World.PerConnection = o.Group.Behaviours(), o.Scope == iocache.Connection
		o.World.PeerTime = o.Scope == iocache.Group
		group := *o.Group
		if o.World.Start != 0 {
			group.Start = time.Unix(o.World.Start, 0).UTC()
		}
		o.Group = &group
	}
	r := &run{ctx: ctx, options: o, started: time.Now(), told: time.Now(),
		outcomes: map[explore.Outcome]int{}}
	r.search, r.enough = o.Search, r.foundEnough
	r.search.Until(func(v explore.Verdict) string { return r.enough(v) })
	if o.Group != nil {
		r.peers = driver.New(ctx, o.driver(o.Scope))
		if o.Kept != nil && !o.resumes() {
			keepAnswers(r.peers, o.Kept)
		}
		o.limit(r.peers.Cache())
		if o.Audited {
			r.auditor = newAuditor(ctx, o, r.peers)
		}
	}
	var err error
	r.executor, err = r.newExecutor(0)
	return r, err
}

// driver says how the peers are kept at the cursor of a cache of some scope.
func (o *Options) driver(scope iocache.Scope) driver.Config {
	c := driver.Config{Start: driver.From(o.Client), Spec: *o.Group, Strategy: o.Strategy, Scope: scope}
	c.Patience = max(cmp.Or(o.PeerPatience, watch.DefaultPatience), 0)
	c.Room = cmp.Or(o.CheckpointBytes, ckptd.DefaultMaxBytes)
	c.Guess = 2 * time.Millisecond // about what the first checkpoint of a small peer costs
	if o.BackendName == ckptd.BackendCRIU {
		c.Guess = 20 * time.Millisecond
	}
	return c
}

// selectFaults says where the peers are whose connections can fail.
func (o *Options) selectFaults() error {
	if len(o.World.FaultPeers) == 0 {
		return nil
	}
	if err := o.Group.CheckFaults(o.World.FaultPeers); err != nil {
		return fmt.Errorf("faults: %w", err)
	}
	at, clients := o.Group.FaultPlaces(o.World.FaultPeers)
	o.World.FaultPlaces, o.World.FaultsOpened = nil, clients
	for _, a := range at {
		place := sut.FaultPlace{Path: a.Path, Port: a.At.Port(), Datagrams: a.Network == proxy.UDP}
		if a.At.IsValid() && !a.At.Addr().IsUnspecified() {
			place.IP = a.At.Addr().As16()
		}
		o.World.FaultPlaces = append(o.World.FaultPlaces, place)
	}
	return nil
}

func (o *Options) worker() sut.Options {
	return sut.Options{Args: o.Args, Env: o.Env, Dir: o.Dir, Isolation: o.Isolation, HangTimeout: o.Patience,
		Environment: o.World}
}

// finish searches to the end and ends what takes part.
func (r *run) finish(ctx context.Context) (*Result, error) {
	var result *Result
	var crowded *driver.NoRoom
	err := r.loop(ctx)
	defer func() { r.executor.close() }()
	switch {
	case err != nil && interrupted(ctx, err): // else the search had ended by then
		result, err = r.endedBy("it was interrupted")
	case err == nil:
		// It may have ended while violations were explained.
		if result, err = r.result(); err != nil && interrupted(ctx, err) {
			result, err = r.endedBy("it was interrupted")
		}
	case errors.As(err, &crowded):
		result, err = r.endedBy(crowded.Error())
	case len(r.violations) > 0:
		result, _ = r.endedBy("an error ended the search")
	}
	result = r.stopSaving(result, err)
	if r.peers != nil {
		closeError := r.peers.Close()
		if r.auditor != nil {
			closeError = errors.Join(closeError, r.auditor.Close())
		}
		if err == nil && closeError != nil {
			err = fmt.Errorf("ending the peers: %w", closeError)
		}
	}
	return result, err
}

// run is one check under way.
type run struct {
	ctx        context.Context
	options    Options
	executor   *executor // the first one, and after the search one that is left
	begun      bool      // the search has been asked for an execution
	search     *explore.Search
	enough     explore.Stop    // when the search ends although there is more to explore
	verdict    explore.Verdict // of the search, when it has ended
	outcomes   map[explore.Outcome]int
	peers      *driver.Driver
	auditor    *audit.Auditor // of scope auto; else nil
	counts     Counts         // of what was reported to the search
	vain       Counts         // of what was run and never was: it is not saved, since it is run again
	started    time.Time
	told       time.Time // when Progress last was
	violations []*violation
	unclaimed  []*result // violations that were run ahead of the search, when it was interrupted
	// kind says which executions are alike: the first of each kind is judged, those of kind ""
	// are not. With nil, violations are told apart as far as they are looked for.
	kind func(*sut.Log, explore.Outcome) string
	// judge returns the tests that a violation is one of, if it is to be kept. With nil
	// distinct violations are, as many as are looked for.
	judge    func(log *sut.Log, isViolation bool) (tests []string, err error)
	distinct map[string]*violation               // by kind, if several are looked for
	blame    func(log *sut.Log) (tests []string) // that a violation is one of
	limited  string                              // Result.CutOff
	saver    *saver                              // nil: the check is not saved
	before   time.Duration                       // that the check took before it was resumed
}

// violation is the schedule of an execution that should not be, and its log.
type violation struct {
	prefix []model.Action
	events []sut.Event
	log    sut.Log
	hits   []bool // for each input to the peers, whether the cache answered it
	tests  []string
	// executions: how many ended with it; known only if several violations are looked for.
	executions int
	shrunk     *report.Shrinking // nil if it was not
}

// loop has the executors search, and meanwhile does what has to be done now and then.
func (r *run) loop(ctx context.Context) error {
	p := newPool(r)
	if r.options.haste {
		p.fill()
	} else {
		defer time.AfterFunc(lateStart, p.fill).Stop()
	}
	p.add(r.executor)
	round := time.NewTicker(roundInterval)
	defer round.Stop()
	interrupt := ctx.Done()
	for searching := true; searching; {
		select {
		case <-p.ended:
			searching = false
		case <-interrupt:
			interrupt = nil
			p.stop(ctx.Err())
		case now := <-round.C:
			if err := r.rounds(p, now); err != nil {
				p.stop(err)
			}
		}
	}
	if err := p.wait(); err != nil {
		return err
	}
	return r.alive()
}

// maxRounds is how often a goroutine goes round a loop that waits, without any
// effect, while others can go on. More rounds than this are not explored.
const maxRounds = 32

// place is the innermost call in a stack that is not in the standard library.
func (r *run) place(stack []uint64) string {
	at, ok := narrate.Innermost(r.options.Program, stack)
	if !ok || !r.options.Program.IsOwn(at) {
		return ""
	}
	return fmt.Sprintf("\n\tat %v, in %s", at, at.Function)
}

// How often what happens now and then happens, and when the workers after the first
// one start: after about as long as it takes to start one. Small searches are over by then.
const (
	roundInterval    = 50 * time.Millisecond
	progressInterval = 200 * time.Millisecond
	lateStart        = 5 * time.Millisecond
)

// rounds does what has to be done now and then: see that the peers live even
// while the cache answers for them, save the check, and tell how far it is.
func (r *run) rounds(p *pool, now time.Time) error {
	if err := r.alive(); err != nil {
		return err
	}
	if r.saver.due(now) {
		p.still(func() { r.saveOnTime(now) })
	}
	if r.options.Progress != nil && now.Sub(r.told) >= progressInterval {
		r.told = now
		v, c := p.soFar()
		r.options.Progress(Progress{v, c})
	}
	return nil
}

// alive returns an error if a process on the peers' side has died.
func (r *run) alive() error {
	if r.peers == nil {
		return nil
	}
	return r.peers.Alive()
}

// endedBy is what is known when somebody wants the search to end, or it cannot go on. The
// worker may have been ended then, but violations that were found are shown all the same.
func (r *run) endedBy(reason string) (*Result, error) {
	result := r.known()
	result.Verdict.Kind, result.Verdict.Reason = explore.Unknown, reason
	found := r.withUnclaimed()
	if len(found) > 0 {
		result.Verdict.Kind = explore.Violated
		r.executor.renew()
	}
	return result, r.explainAll(found, result)
}

// known is the result without violations.
func (r *run) known() *Result {
	r.counts.Elapsed = r.elapsed()
	counts := r.counts
	counts.Add(r.vain)
	result := &Result{Verdict: r.verdict, Counts: counts, CutOff: r.limited, Outcomes: r.outcomes}
	if r.peers != nil {
		known := r.peers.Report()
		result.Reads, result.Uninstrumented, result.Refusal = known.Reads, known.Uninstrumented, known.Refusal
		result.Unstored, result.Skipped, result.WhyKilled = known.Unstored, known.Skipped, known.Killed
		result.Scope = r.options.scope(r.counts)
		if r.before == 0 { // else it is not known of those before
			result.Unused = known.Unused
		}
	}
	return result
}

func (r *run) result() (*Result, error) {
	result := r.known()
	return result, r.explainAll(r.violations, result)
}

// explainAll adds violations to a result.
func (r *run) explainAll(violations []*violation, result *Result) error {
	for _, v := range violations {
		r.shrink(v)
		if err := r.explain(v, result); err != nil {
			return err
		}
	}
	if len(result.Violations) > 0 {
		result.Counterexample, result.Recording = result.Violations[0].Counterexample,
			result.Violations[0].Recording
	}
	return nil
}

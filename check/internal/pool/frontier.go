package pool

import (
	"sync"
	"time"

	"github.com/tandem-mc/tandem/check/internal/execution"
	"github.com/tandem-mc/tandem/explore"
)

// frontier is the search, with the account of what was reported to it. Its lock is taken before
// that of the coordinator. Its methods may be called by several goroutines. Each takes the outer
// lock, unless its comment says that the caller holds it.
type frontier struct {
	Config
	work *coordinator

	mu    sync.Mutex // held by whoever advances the search, and by those who want it at rest
	tally Tally
	begun bool // the search has been asked for an execution

	start  time.Time // of the pool
	own    int       // executions since then that were not in parts
	looked time.Time // when a part for those elsewhere was looked for last
}

// Tally is what was counted of the executions that were reported to the search.
type Tally struct {
	Counts   execution.Counts
	Outcomes map[explore.Outcome]int // how many executions ended in which way, since the pool began
}

// newFrontier stands where the search does. Counts of an earlier process are the start of the
// tally.
func newFrontier(c Config, work *coordinator) *frontier {
	return &frontier{Config: c, work: work, begun: c.Begun, start: time.Now(),
		tally: Tally{Counts: c.Counts, Outcomes: map[explore.Outcome]int{}}}
}

// still calls f while the search is not being advanced. f must not call the pool.
func (f *frontier) still(do func(Tally)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do(f.tally)
}

// advance takes the search to an execution that has not been run, and returns that unless somebody
// else has begun with it. It reports results that are there until one is missing. A result of nil
// says that another executor runs the job, or that the search has ended.
func (f *frontier) advance(m *member) *job {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.ask() {
		othersIdle := f.othersIdle()
		if othersIdle {
			f.findWork()
		}
		if j, done, mine := f.work.look(m, othersIdle); mine {
			return j
		} else if !done || !f.report(j) {
			return nil
		}
	}
	return nil
}

// foresee finds something for an executor to do while the execution that the search waits for is
// being run. It holds the lock of the search, so one executor at a time does it.
func (f *frontier) foresee() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.findWork()
}

// conclude takes the search as far as it gets without executors, and ends it: with an error, unless
// it comes to its end.
func (f *frontier) conclude(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.ask() {
		if j, done, _ := f.work.waits(); !done || !f.report(j) {
			break
		}
	}
	f.work.stop(err)
}

// ask asks the search what comes next, if it has not been; false if nothing does. The caller holds
// the lock.
func (f *frontier) ask() bool {
	if asked, _, over := f.work.waits(); asked != nil || over {
		return !over
	}
	var a answer
	a.schedule, a.more = f.Search.Next() // without the lock of the coordinator, which others want
	// Arrived and Cancelled belong to the answer of Next, so they are read before anybody else
	// asks.
	a.arrived, a.cancelled = f.Search.Arrived(), f.Search.Cancelled()
	a.first = !f.begun
	if a.more && f.Forecast {
		a.forecast = f.Search.Forecast()
	}
	if f.work.ask(&a) {
		f.tally.Counts.Ahead++
	}
	f.begun = f.begun || a.more
	return a.more
}

// othersIdle reports whether work is to be found for others. For those elsewhere it is looked for
// now and then, since large parts do not come up in each execution. The caller holds the lock.
func (f *frontier) othersIdle() bool {
	return f.work.idle.Load() > 0 ||
		f.work.idleFar.Load() > 0 && (f.Eager || time.Since(f.looked) >= farLook)
}

// findWork has the others have something to do. The caller holds the lock, after ask.
func (f *frontier) findWork() {
	d := f.work.demand()
	for _, unused := range d.unused {
		f.Search.Recycle(unused)
	}
	// Jobs are for executors here only.
	var jobs []*job
	if d.jobs > 0 {
		jobs = newJobs(f.Search.Prefetch(d.jobs))
	}
	var found, far *part
	if f.Observe == nil { // what observes is to see what is reported to parts, too
		if d.far {
			far = f.splitFar()
		}
		if d.part {
			found = f.split()
		}
	}
	f.work.offer(jobs, found, far)
}

// split makes a part of the search; nil if there is nothing to take. The caller holds the lock. The
// limit of executions grows with those that were reported.
func (f *frontier) split() *part {
	p := f.Search.Split(explore.Size{Enough: partSize})
	if p == nil {
		return nil
	}
	executions := 0
	for _, n := range f.tally.Outcomes {
		executions += n
	}
	return newPart(p, min(max(partLeast, executions/partShare), f.room()), partTime)
}

// room is how many executions a part may take because of the bound.
func (f *frontier) room() int {
	return max(partLeast, f.Search.Remaining(partMost*roomShare)/roomShare)
}

// splitFar makes a part of the search that is large enough to be explored elsewhere; nil if there
// is none. The caller holds the lock.
func (f *frontier) splitFar() *part {
	// The rate is that of the executors here, since it counts what was not in parts.
	f.looked = time.Now()
	elapsed := f.looked.Sub(f.start)
	rate := float64(f.own) / elapsed.Seconds() // of one executor
	enough := max(farEnough, elapsed/farShare)
	least := max(partSize, rate*farLeast.Seconds())
	size := explore.Size{Least: least, Enough: max(partSize, rate*enough.Seconds()), Ahead: least,
		Quiet: int(least)}
	// Programs of tests have too few executions for parts of any length.
	if f.Eager {
		size = explore.Size{Enough: partSize}
	}
	p := f.Search.Split(size)
	if p == nil {
		return nil
	}
	return newPart(p, f.room(), max(partTime, elapsed/partShare))
}

// report tells the search what came of the job that it waits for; false if that ends it. The caller
// holds the lock. Each job is accounted for before the search sees it. An error stops the pool.
func (f *frontier) report(j *job) bool {
	if j.part != nil {
		return f.merge(j)
	}
	err := j.err
	if err == nil {
		err = f.account(j.result)
	}
	if err == nil && f.Observe != nil {
		err = f.Observe(j.execution)
	}
	if err == nil {
		err = f.Search.Report(j.execution)
	}
	if err != nil {
		f.work.stop(err)
		return false
	}
	f.tally.Outcomes[j.execution.Outcome]++
	f.own++
	f.Ledger.Settle()
	f.work.wasReported(j)
	return true
}

// merge has the search take over the part that it has come to; false if that ends it. If the search
// does not, the execution that it has asked for is to be run. The caller holds the lock.
func (f *frontier) merge(j *job) bool {
	t := j.part
	if t.failed || !f.Search.Merge(t.Subtree) {
		f.work.wasNotMerged(j, f.Search.Forecast())
		return true
	}
	if len(t.ended) > 0 {
		t.results = append(t.results, &execution.Result{Ends: &t.ended})
	}
	for _, r := range t.results {
		if err := f.account(r); err != nil {
			f.work.stop(err)
			return false
		}
	}
	f.tally.Counts.Add(t.counts)
	f.tally.Counts.SelfChecked += t.counts.SelfChecked
	f.tally.Counts.Ahead += t.executions
	for outcome, n := range t.outcomes {
		f.tally.Outcomes[outcome] += n
	}
	f.Ledger.Settle()
	f.work.wasMerged(t)
	return true
}

// account takes over what was found in an execution. The caller holds the lock. r may be nil: then
// there was nothing to tell. Only the first execution of a kind is kept.
func (f *frontier) account(r *execution.Result) error {
	if r == nil {
		return nil
	}
	limit := ""
	if r.Limit != "" {
		limit = execution.LimitKind(r.Limit)
	}
	if f.work.note(r.Kind, limit) {
		r.Kept = nil // it was run before the first of its kind was reported
	}
	f.tally.Counts.Add(r.Counts)
	if r.Checked {
		f.tally.Counts.SelfChecked++
	}
	return f.Ledger.Account(r)
}

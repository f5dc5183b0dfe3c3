package check

import (
	"fmt"
	"sync"

	"github.com/tandem-mc/tandem/explore"
)

// pool has several executors explore one search. The search stays one: whoever has an
// execution that it waits for reports that, and asks it for the next. What the
// others have to do are executions that it will ask for later (explore.Ahead). They are run early,
// and kept until it gets there. So what is reported to it, and in which order, does not
// depend on who does what when.
type pool struct {
	run   *run
	ended chan struct{} // closed when all is over
	busy  sync.WaitGroup

	// advancing is held by whoever advances the search, and by those who want it at rest.
	advancing sync.Mutex
	asked     *job // what it waits for; nil: it is to be asked. Who changes it holds mu too

	mu        sync.Mutex // may be taken by who holds advancing
	work      sync.Cond  // something is queued, or all is over
	executors []*executor
	leader    *executor       // that advanced the search last
	taken     bool            // the search is being advanced
	seen      map[string]bool // kinds of findings that have been reported
	early     early
	over      bool
	err       error
}

// job is an execution to be run, or one that was.
type job struct {
	schedule explore.Schedule
	first    bool        // of the check
	forecast float64     // explore.Forecast, if it was not run ahead
	memory   *translator // that the execution is in, unless that is the executor's own
	done

	// mu:
	state  jobState
	asked  bool // the search waits for it
	bytes  int  // that are kept
	places [2]int
}

// done is what came of a job.
type done struct {
	execution explore.Execution
	finding   *finding
	err       error
}

type jobState uint8

const (
	queued jobState = iota // for an executor
	running
	finished
)

func newPool(r *run) *pool {
	p := &pool{run: r, ended: make(chan struct{}), seen: map[string]bool{}, early: newEarly()}
	p.work.L = &p.mu
	return p
}

// add has an executor serve the pool.
func (p *pool) add(x *executor) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		x.close()
		return
	}
	p.executors = append(p.executors, x)
	p.busy.Add(1)
	go p.serve(x)
}

// fill adds as many executors as there are to be.
func (p *pool) fill() {
	for number := 1; number < p.run.options.Workers; number++ {
		x, err := p.run.newExecutor(number)
		if err != nil {
			p.stop(fmt.Errorf("worker %d of %d: %w", number+1, p.run.options.Workers, err))
			return
		}
		p.add(x)
	}
}

// stop ends everything early.
func (p *pool) stop(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.finish(err)
}

// still calls f while the search is not being advanced.
func (p *pool) still(f func()) {
	p.advancing.Lock()
	defer p.advancing.Unlock()
	f()
}

// soFar is what there is to say while the search goes on.
func (p *pool) soFar() (v explore.Verdict, c Counts) {
	p.still(func() { v, c = p.run.search.Verdict(), p.run.counts })
	c.Elapsed = p.run.elapsed()
	return v, c
}

// serve runs jobs until all is over, or an execution fails: the worker is not to be
// used again.
func (p *pool) serve(x *executor) {
	defer p.busy.Done()
	defer x.worker.Stay()()
	for j := p.next(x); j != nil; j = p.next(x) {
		var d done
		if x.talk != nil {
			x.talk.forecast = j.forecast
		}
		d.execution, d.finding, d.err = x.execute(j.schedule, j.first, p.known)
		p.finished(x, j, d)
	}
}

// known reports whether a finding of a kind has been reported: others need not be kept.
func (p *pool) known(kind string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen[kind]
}

// finished takes what came of a job.
func (p *pool) finished(x *executor, j *job, d done) {
	p.mu.Lock()
	defer p.mu.Unlock()
	x.executing = false
	j.done, j.state = d, finished
	if d.err != nil {
		p.leave(x, d.err)
	}
	if !j.asked || p.leader != x { // else the next that it does is to report it
		p.early.keep(j, x)
	}
}

// next returns a job for an executor, when there is one; nil when all is over.
func (p *pool) next(x *executor) *job {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.goesOn(x) {
		if p.due() && p.leads(x) {
			if j := p.advance(x); j != nil {
				return j
			}
			continue
		}
		if j := p.early.pop(); j != nil {
			p.begin(x, j)
			return j
		}
		x.waiting = true
		p.work.Wait()
		x.waiting = false
	}
	return nil
}

// goesOn reports whether there may be jobs for an executor. The caller holds mu.
func (p *pool) goesOn(x *executor) bool { return !p.over && !x.failed && p.run.ctx.Err() == nil }

// due reports whether the search can be advanced. The caller holds mu.
func (p *pool) due() bool {
	return !p.taken && (p.asked == nil || p.asked.state != running)
}

// leads reports whether an executor is the one to advance the search: the one that did so last, in
// the caches of whose processor it is, unless there is nothing else to do. The caller holds mu.
func (p *pool) leads(x *executor) bool {
	return p.leader == nil || p.leader == x || p.leader.waiting || p.early.idle()
}

// begin has an executor run a job. The caller holds mu.
func (p *pool) begin(x *executor, j *job) {
	j.state, x.executing = running, true
}

// advance takes the search to an execution that has not been run, and returns that
// unless somebody else is about it. The caller holds mu, but not meanwhile.
func (p *pool) advance(x *executor) *job {
	p.taken, p.leader = true, x
	p.mu.Unlock()
	p.advancing.Lock()
	j := p.step(x)
	p.advancing.Unlock()
	p.mu.Lock()
	p.taken = false
	return j
}

// step is advance, of which the caller holds advancing.
func (p *pool) step(x *executor) *job {
	for p.ask() {
		p.forecast()
		if done, mine := p.look(x); mine {
			return p.asked
		} else if !done || !p.report(p.asked) {
			return nil
		}
	}
	return nil
}

// look reports whether the job that the search waits for is done. If nobody is about
// it, it becomes that of an executor.
func (p *pool) look(x *executor) (done, mine bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if mine = p.asked.state == queued && !p.over && !x.failed && p.run.ctx.Err() == nil; mine {
		p.begin(x, p.asked)
	}
	return p.asked.state == finished, mine
}

// ask asks the search what comes next, if it has not been; false if nothing does. Who
// advances the search calls it.
func (p *pool) ask() bool {
	p.mu.Lock()
	asked, over := p.asked, p.over
	p.mu.Unlock()
	if asked != nil || over {
		return !over
	}
	schedule, more := p.run.search.Next() // without mu, which the others may want meanwhile
	p.mu.Lock()
	defer p.mu.Unlock()
	if !more {
		p.finish(nil)
		return false
	}
	if p.asked = p.early.remove(&schedule); p.asked == nil {
		p.asked, p.run.begun = &job{schedule: schedule, first: !p.run.begun}, true
	} else if p.asked.state != queued {
		p.run.counts.Ahead++
	}
	if p.asked.asked = true; p.asked.state == queued {
		p.asked.forecast = explore.Forecast(p.run.search)
	}
	return true
}

// forecast has the others have something to do. Who advances the search calls it, after ask.
func (p *pool) forecast() {
	p.mu.Lock()
	n := len(p.executors)
	missing := 16*n - len(p.early.queue)
	low := n > 1 && p.early.low(n)
	p.mu.Unlock()
	if !low {
		return
	}
	list := explore.Ahead(p.run.search, missing)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.early.fill(p.run.search, list) {
		p.work.Broadcast()
	}
}

// report tells the search what came of the job that it waits for; false if that ends
// it. Who advances the search calls it.
func (p *pool) report(j *job) bool {
	err := j.err
	if err == nil {
		err = p.account(j.finding)
	}
	if err == nil {
		err = p.run.search.Report(j.execution)
	}
	if err != nil {
		p.stop(err)
		return false
	}
	p.run.outcomes[j.execution.Outcome]++
	p.run.saver.settle()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.early.recycle(j)
	p.asked = nil
	return true
}

// account takes a finding over into the result.
func (p *pool) account(f *finding) error {
	if f == nil {
		return nil
	}
	p.mu.Lock()
	if p.seen[f.kind] {
		f.kept = nil // it was run before the first of its kind was reported
	}
	if f.kind != "" {
		p.seen[f.kind] = true
	}
	if f.limited != "" {
		p.seen[cutOff] = true
	}
	p.mu.Unlock()
	return p.run.account(f)
}

// leave ends an executor with which an execution has failed. That error is told when the
// search waits for it; without any executor that is now. The caller holds mu.
func (p *pool) leave(x *executor, err error) {
	x.failed = true
	if p.leader == x {
		p.leader = nil
	}
	for _, other := range p.executors {
		if !other.failed {
			p.work.Broadcast()
			return
		}
	}
	p.finish(err)
}

// finish ends everything. The caller holds mu.
func (p *pool) finish(err error) {
	if p.over {
		return
	}
	p.over, p.err = true, err
	p.work.Broadcast()
	for _, x := range p.executors {
		if x.executing { // what nobody will ask for any more
			x.failed = true
			x.interrupt()
		}
	}
	close(p.ended)
}

// wait waits until all executors are done, and leaves the run one that can be used, if
// there is one, and what the search has found out. When it was interrupted, that is
// also what has been run ahead of it.
func (p *pool) wait() error {
	p.busy.Wait()
	var usable *executor
	for _, x := range p.executors {
		if x.failed || usable != nil {
			x.close()
		} else {
			usable = x
		}
	}
	r := p.run
	r.verdict = r.search.Verdict()
	if usable != nil {
		r.executor = usable
	}
	for _, j := range p.early.rest(p.asked) {
		r.counts.InVain++
		if f := j.finding; f != nil {
			r.vain.add(f.counts)
			if r.ctx.Err() != nil && f.isViolation && f.kept != nil && r.judge == nil {
				r.unclaimed = append(r.unclaimed, f.kept)
			}
		}
	}
	return p.err
}

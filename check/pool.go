package check

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tandem-mc/tandem/check/internal/translate"
	"github.com/tandem-mc/tandem/explore"
)

// pool has several executors explore one search. One of them leads: it asks the search what to
// execute, executes and reports that. Each of the others explores a part of it
// (explore.Search.Split), until the search comes to that and takes over what was explored. The
// executor that is about the part which the search comes to leads from then on, where it was. A
// search that knows its schedules beforehand is not divided: the others run them early
// (explore.Search.Prefetch), and what came of it is kept until the search gets there. So what is
// reported to it, and in which order, does not depend on who does what when.
type pool struct {
	run     *run
	ended   chan struct{} // closed when all is over
	busy    sync.WaitGroup
	filling sync.Mutex // held while executors are made

	// advancing is held by whoever advances the search, and by those who want it at rest.
	advancing sync.Mutex
	asked     *job // what it waits for; nil: it is to be asked. Who changes it holds mu too

	// changes counts what may concern those who wait. Who changes it holds mu.
	changes atomic.Uint32
	idle    atomic.Int32 // executors that wait for something to do

	mu        sync.Mutex // may be taken by who holds advancing
	work      sync.Cond  // there was a change
	executors []*executor
	leader    *executor // that advanced the search last
	taken     bool      // the search is being advanced, or divided
	foreseen  bool      // there is nothing more for the others to do, before something is reported to it
	parts     parts
	seen      map[string]bool // kinds of results that have been reported
	ahead     speculation
	over      bool
	err       error
}

// job is an execution to be run, or one that was.
type job struct {
	schedule explore.Schedule
	hash     uint64                // of the schedule, if it was forecast
	part     *part                 // that the search has come to: nobody is to run the job
	first    bool                  // of the check
	forecast float64               // explore.Search.Forecast, if it was not run ahead
	memory   *translate.Translator // that the execution is in, unless that is the executor's own
	done

	// mu:
	state jobState
	asked bool // the search waits for it
	bytes int  // that are kept
}

// done is what came of a job.
type done struct {
	execution explore.Execution
	result    *result
	err       error
}

type jobState uint8

const (
	queued jobState = iota // for an executor
	running
	finished
)

func newPool(r *run) *pool {
	p := &pool{run: r, ended: make(chan struct{}), seen: map[string]bool{}, ahead: newSpeculation(),
		parts: newParts()}
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

// fill adds as many executors as there are to be, until all is over.
func (p *pool) fill() {
	p.filling.Lock()
	defer p.filling.Unlock()
	for number := 1; number < p.run.options.Workers && !p.isOver(); number++ {
		x, err := p.run.newExecutor(number)
		if err != nil {
			p.stop(fmt.Errorf("worker %d of %d: %w", number+1, p.run.options.Workers, err))
			return
		}
		p.add(x)
	}
}

func (p *pool) isOver() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.over
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

// serve runs jobs, and explores parts, until all is over, or an execution fails: the worker is
// not to be used again.
func (p *pool) serve(x *executor) {
	defer p.busy.Done()
	defer x.worker.Stay()()
	for j, part := p.next(x, nil, nil); j != nil || part != nil; j, part = p.next(x, j, part) {
		if part != nil {
			part.explore(x, p)
			continue
		}
		if x.talk != nil {
			x.talk.Expect(j.forecast)
		}
		j.execution, j.result, j.err = x.execute(j.schedule, j.first, p.known)
	}
}

// known reports whether a result of a kind has been reported: others need not be kept.
func (p *pool) known(kind string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen[kind]
}

// finished takes a job that was run. The caller holds mu.
func (p *pool) finished(x *executor, j *job) {
	x.executing = false
	j.state = finished
	if j.err != nil {
		p.leave(x, j.err)
	}
	if j.asked && p.leader == x && !p.taken {
		return // it is reported by this executor next, since no other one leads
	}
	p.ahead.keep(j, x)
	if j.asked {
		p.changed()
	}
}

// next takes the job that an executor has run, if any, or the part that it has explored, and
// returns another one, when there is one; none when all is over.
func (p *pool) next(x *executor, ran *job, explored *part) (*job, *part) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if ran != nil {
		p.finished(x, ran)
	}
	if explored != nil {
		p.rest(x, explored)
	}
	for p.goesOn(x) {
		if p.due() && p.leads(x) {
			if j := p.advance(x); j != nil {
				return j, nil
			}
			continue
		}
		if j := p.ahead.pop(); j != nil {
			p.begin(x, j)
			return j, nil
		}
		if part := p.parts.pop(); part != nil {
			x.executing = true
			return nil, part
		}
		if !p.taken && !p.foreseen {
			p.foresee()
		} else {
			p.waitForWork(x)
		}
	}
	return nil, nil
}

// waitForWork waits for a change. The caller holds mu, but not meanwhile. To begin with it does not
// give up its processor, if each executor has one: most changes come soon, and to wake somebody
// up takes as long as an execution.
func (p *pool) waitForWork(x *executor) {
	seen := p.changes.Load()
	p.idle.Add(1)
	defer p.idle.Add(-1)
	if len(p.executors) <= runtime.NumCPU() {
		p.mu.Unlock()
		const patience, between = 200 * time.Microsecond, 256
		for until := time.Now().Add(patience); p.changes.Load() == seen && time.Now().Before(until); {
			for i := 0; i < between && p.changes.Load() == seen; i++ {
			}
		}
		p.mu.Lock()
	}
	for p.changes.Load() == seen {
		x.waiting = true
		p.work.Wait()
	}
	x.waiting = false
}

// changed tells those who wait. The caller holds mu.
func (p *pool) changed() {
	p.changes.Add(1)
	p.work.Broadcast()
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
	return p.leader == nil || p.leader == x || p.leader.waiting || p.ahead.idle()
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
		if p.idle.Load() > 0 {
			p.forecast()
		}
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
	due, dropped := p.run.search.Arrived(), p.run.search.Cancelled()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.parts.giveUp(dropped)
	if !more {
		p.finish(nil)
		return false
	}
	if p.asked = p.ahead.remove(&schedule); p.asked == nil {
		p.asked, p.run.begun = &job{schedule: schedule, first: !p.run.begun}, true
	} else if p.asked.state != queued {
		p.run.counts.Ahead++
	}
	p.parts.await(p.asked, due)
	if p.asked.asked = true; p.asked.state == queued && p.run.peers != nil {
		p.asked.forecast = p.run.search.Forecast()
	}
	return true
}

// foresee finds something for an executor to do while the execution that the search waits for is
// being run. The caller holds mu, but not meanwhile.
func (p *pool) foresee() {
	p.taken = true
	p.mu.Unlock()
	p.advancing.Lock()
	p.forecast()
	p.advancing.Unlock()
	p.mu.Lock()
	p.taken = false
	p.changed() // the execution may have been finished meanwhile
}

// forecast has the others have something to do. The caller holds advancing, after ask.
func (p *pool) forecast() {
	p.mu.Lock()
	n := len(p.executors)
	unused, missing, room := p.parts.clear(), p.ahead.missing(n), p.parts.room(n)
	p.mu.Unlock()
	if n == 1 {
		return
	}
	for _, part := range unused {
		p.run.search.Recycle(part)
	}
	jobs := newJobs(p.run.search.Prefetch(missing))
	var found *part
	if room {
		found = p.run.newPart()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ahead.add(jobs)
	p.parts.add(found)
	if p.foreseen = len(jobs) == 0 && found == nil; !p.foreseen {
		p.changed()
	}
}

// report tells the search what came of the job that it waits for; false if that ends
// it. Who advances the search calls it.
func (p *pool) report(j *job) bool {
	if j.part != nil {
		return p.join(j)
	}
	err := j.err
	if err == nil {
		err = p.account(j.result)
	}
	if err == nil {
		err = p.run.report(j.execution)
	}
	if err != nil {
		p.stop(err)
		return false
	}
	p.run.outcomes[j.execution.Outcome]++
	p.run.saver.settle()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ahead.recycle(j)
	p.asked, p.foreseen = nil, false
	return true
}

// account takes what was found in an execution over into the result of the check.
func (p *pool) account(f *result) error {
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
	if f.limit != "" {
		p.seen[cutOff+f.limit] = true
	}
	p.mu.Unlock()
	return p.run.account(f)
}

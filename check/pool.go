package check

import (
	"fmt"
	"sync"
	"time"

	"github.com/tandem-mc/tandem/explore"
)

// pool has several executors explore one search. The whole of it is a task; whenever an
// executor has nothing to do, a task under way is divided, and the part is a task of its
// own, which runs ahead of its owner (explore.Divide). Where the owner comes to a part
// of it, it takes the executions that the part has run. When there are none it waits, and its
// executor helps elsewhere. What is reported to the whole search, and in which
// order, does not depend on who does what when.
type pool struct {
	run   *run
	whole *task
	ended chan struct{} // closed when all is over
	busy  sync.WaitGroup
	// advancing is held for reading while a search is being advanced: whoever holds it
	// for writing finds all at rest.
	advancing sync.RWMutex

	mu        sync.Mutex
	work      sync.Cond // there are tasks to go on with, or all is over
	ready     []*task
	idle      int // executors that wait for one
	executors []*executor
	tasks     map[*explore.Part]*task // whose executions have not all been taken
	ahead     int                     // executions that have been noted and not taken
	total     explore.Verdict         // counts of all that was run
	before    accounted               // before the first execution of the part that the whole has taken from last
	latest    explore.Verdict         // of the whole, not long ago
	wanted    bool                    // a later one is
	over      bool
	err       error
}

// task is a search under way: the whole one, or that of a part. One goroutine at a
// time uses it; it shares with others what follows mu, which is that of the pool.
type task struct {
	search   explore.Search
	part     *explore.Part   // nil for the whole
	owner    *task           // likewise
	seen     map[string]bool // kinds of findings
	schedule explore.Schedule
	asked    bool  // schedule is what search asks for
	follows  *task // the part that has it, or will; nil: it is to be executed
	reported bool  // done has been reported, and not noted
	done     done

	// mu:
	found   []numbered
	noted   int       // executions
	taken   int       // of them, by the owner
	awaited time.Time // since when the owner has been waiting; zero: it is not
	paused  bool      // it has run far enough ahead
	err     error     // what ended it, if it was an error
	ended   bool
}

// done is an execution. Without its log it can be kept.
type done struct {
	explore.Execution
	*finding
}

// numbered is a finding with the number of its execution in the task.
type numbered struct {
	at int
	*finding
}

// Bounds on what is held of executions that have not been taken.
const (
	maxAhead = 1 << 22 // executions
	maxFound = 1 << 16 // findings of a task
	maxBytes = 1 << 25 // of what else a task holds for its owner
	maxTasks = 1 << 10
)

// freshness is how old what an owner knows of a part may become while it waits for it.
const freshness = 20 * time.Millisecond

func newPool(r *run) *pool {
	p := &pool{run: r, whole: &task{search: r.search, seen: map[string]bool{}}, ended: make(chan struct{}), tasks: map[*explore.Part]*task{}}
	p.work.L = &p.mu
	p.ready, p.latest = []*task{p.whole}, r.search.Verdict()
	p.total = p.latest
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

// still calls f while no search is being advanced.
func (p *pool) still(f func()) {
	p.advancing.Lock()
	defer p.advancing.Unlock()
	f()
}

// soFar is what there is to say while the search goes on: what the whole was
// not long ago, with the counts of all that was run.
func (p *pool) soFar() (explore.Verdict, Counts) {
	p.mu.Lock()
	defer p.mu.Unlock()
	v, c := p.latest, p.run.counts
	v.Executions, v.Redundant, v.Limited = p.total.Executions, p.total.Redundant, p.total.Limited
	v.Violations, v.Transitions = p.total.Violations, p.total.Transitions
	c.Elapsed = p.run.elapsed()
	p.wanted = true
	return v, c
}

// tally adds an execution to the counts of a verdict.
func tally(v *explore.Verdict, e *explore.Execution) {
	v.Executions++
	v.Transitions += len(e.Transitions)
	switch {
	case e.Outcome == explore.Redundant:
		v.Redundant++
	case e.Outcome == explore.StepLimit:
		v.Limited++
	case e.Outcome.Violation():
		v.Violations++
	}
}

// serve goes on with tasks until all is over, or an execution fails: the worker is not
// to be used again.
func (p *pool) serve(x *executor) {
	defer p.busy.Done()
	defer x.worker.Stay()()
	for t := p.next(); t != nil; t = p.next() {
		if err := p.explore(x, t); err != nil {
			p.leave(x, t, err)
			return
		}
	}
}

// next returns a task to go on with, when there is one; nil when all is over.
func (p *pool) next() *task {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle++
	for len(p.ready) == 0 && !p.over {
		p.work.Wait()
	}
	p.idle--
	if p.over {
		return nil
	}
	last := len(p.ready) - 1
	t := p.ready[last]
	p.ready = p.ready[:last]
	return t
}

// push lets somebody go on with a task. The caller holds mu.
func (p *pool) push(t *task) {
	p.ready = append(p.ready, t)
	p.work.Signal()
}

// explore goes on with a task as long as it can. An error is that of an execution.
func (p *pool) explore(x *executor, t *task) error {
	for p.goOn(x, t) {
		e, f, err := x.execute(t.schedule, t.seen)
		if err != nil {
			return err
		}
		p.executed(x, t, done{e, f})
	}
	return nil
}

// executed takes what an executor has done for a task.
func (p *pool) executed(x *executor, t *task, d done) {
	p.advancing.RLock()
	defer p.advancing.RUnlock()
	p.mu.Lock()
	x.executing = false
	p.run.saver.settle()
	tally(&p.total, &d.Execution)
	p.mu.Unlock()
	if p.report(t, d) {
		p.share(t)
	}
}

// goOn brings a task to where something is to be executed, and reports whether that
// is to be done now.
func (p *pool) goOn(x *executor, t *task) bool {
	p.advancing.RLock()
	defer p.advancing.RUnlock()
	execute := p.advance(t) && !p.pauses(t)
	p.tell(t)
	p.mu.Lock()
	defer p.mu.Unlock()
	x.executing = execute && !p.over && p.run.ctx.Err() == nil
	return x.executing
}

// advance brings a task to where something is to be executed; false if there is
// nothing, or not yet.
func (p *pool) advance(t *task) bool {
	for !t.ended {
		if !t.asked && !p.ask(t) {
			return false
		}
		if t.follows == nil {
			return true
		}
		d, ok := p.take(t)
		if !ok || !p.report(t, d) {
			return false
		}
	}
	return false
}

// ask has the search say what comes next; false if nothing does.
func (p *pool) ask(t *task) bool {
	schedule, more := t.search.Next()
	p.mu.Lock()
	defer p.mu.Unlock()
	if t.reported && t.part != nil {
		p.note(t, !more)
	}
	t.reported = false
	if t == p.whole && p.wanted {
		p.latest, p.wanted = t.search.Verdict(), false
	}
	if !more {
		p.end(t, nil)
		return false
	}
	t.schedule, t.asked, t.follows = schedule, true, nil
	if schedule.Part != nil {
		t.follows = p.tasks[schedule.Part]
	}
	return true
}

// note lets the owner of a task take what was reported last. The caller holds mu.
func (p *pool) note(t *task, last bool) {
	t.part.Note(t.done.Execution, last)
	t.noted++
	p.ahead++
	if t.done.finding != nil {
		t.found = append(t.found, numbered{t.noted, t.done.finding})
	}
}

// take returns the next execution of the part that a task has come to. If there is
// none, the task waits.
func (p *pool) take(t *task) (done, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	part := t.follows
	e, ok := part.part.Take()
	if !ok && part.err != nil {
		p.end(t, part.err)
	} else if !ok {
		part.awaited = time.Now()
		if part.paused {
			part.paused = false
			p.push(part)
		}
	}
	if !ok {
		return done{}, false
	}
	if part.taken == 0 && t == p.whole {
		p.before = p.run.accounted()
	}
	part.taken++
	p.ahead--
	d := done{Execution: e}
	if len(part.found) > 0 && part.found[0].at == part.taken {
		d.finding, part.found = part.found[0].finding, part.found[1:]
	}
	if e.Last {
		delete(p.tasks, part.part)
	}
	return d, true
}

// report tells the search of an execution that it has asked for; false if that ends it.
func (p *pool) report(t *task, d done) bool {
	var err error
	if t == p.whole {
		err = p.account(d.finding)
	}
	if err == nil {
		err = t.search.Report(d.Execution)
	}
	if err != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.end(t, err)
		return false
	}
	t.asked, t.reported = false, true
	t.done = done{explore.Execution{Outcome: d.Outcome, Length: max(d.Length, len(d.Transitions))}, d.finding}
	return true
}

// account takes a finding over into the result.
func (p *pool) account(f *finding) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.run.account(f)
}

// end ends a task, and with the whole one everything. The caller holds mu.
func (p *pool) end(t *task, err error) {
	t.err, t.ended = err, true
	if t == p.whole {
		p.finish(err)
	}
}

// pauses reports whether a task has run far enough ahead of its owner, which then wakes
// it when it needs more: with a violation after which nothing counts any more, or
// what is held of it has to be bounded.
func (p *pool) pauses(t *task) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	far := len(t.found) >= maxFound || t.part != nil && t.part.Burden() >= maxBytes || p.ahead >= maxAhead && t.awaited.IsZero() || t.seen[violated]
	t.paused = t.part != nil && far
	return t.paused
}

// tell lets the owner of a task go on if it waits for what there now is, then the
// owner's, and so on.
func (p *pool) tell(t *task) {
	for p.due(t) {
		t = t.owner
		if p.advance(t) {
			p.mu.Lock()
			p.push(t)
			p.mu.Unlock()
		}
	}
}

// due reports whether the owner of a task, if it waits for it, is to go on now.
func (p *pool) due(t *task) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case t.awaited.IsZero():
		return false
	case t.ended || t.paused || len(t.found) > 0 || time.Since(t.awaited) >= freshness:
		t.awaited = time.Time{}
		return true
	}
	return false
}

// share divides a task that is at rest, or one that waits for it, and so on, if an
// executor has nothing to do.
func (p *pool) share(t *task) {
	for p.lacking() {
		part, ok := explore.Divide(t.search)
		p.mu.Lock()
		waits := !t.awaited.IsZero()
		if ok {
			next := &task{search: part.Search, part: part, owner: t, seen: map[string]bool{}}
			p.tasks[part] = next
			p.run.counts.Parts++
			p.push(next)
		}
		p.mu.Unlock()
		if ok || !waits {
			return
		}
		t = t.owner // nobody else uses it while it waits
	}
}

// lacking reports whether there should be more tasks.
func (p *pool) lacking() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	lacking := p.idle > len(p.ready) || p.run.options.haste && len(p.ready) < p.run.options.Workers-1
	return lacking && len(p.tasks) < maxTasks && p.ahead < maxAhead
}

// leave ends an executor with which an execution has failed. That error is told when it
// is its turn; without any executor that is now.
func (p *pool) leave(x *executor, t *task, err error) {
	p.advancing.RLock()
	defer p.advancing.RUnlock()
	p.mu.Lock()
	x.executing, x.failed = false, true
	p.end(t, err)
	alive := 0
	for _, x := range p.executors {
		if !x.failed {
			alive++
		}
	}
	if alive == 0 {
		p.finish(err)
	}
	p.mu.Unlock()
	p.tell(t)
}

// finish ends everything. The caller holds mu.
func (p *pool) finish(err error) {
	if p.over {
		return
	}
	p.over, p.err = true, err
	p.work.Broadcast()
	for _, x := range p.executors {
		if x.executing { // what would not be taken any more
			x.failed = true
			x.interrupt()
		}
	}
	close(p.ended)
}

// wait waits until all executors are done, and leaves the run one that can be used, if
// there is one, and what the search has found out. When it was interrupted, that is
// also what nobody has taken yet.
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
	if r.ctx.Err() == nil {
		return p.err
	}
	p.latest = r.verdict
	r.verdict, _ = p.soFar()
	for _, t := range p.tasks {
		for _, f := range t.found {
			if f.kept != nil && f.isViolation && r.judge == nil {
				r.unclaimed = append(r.unclaimed, f.kept)
			}
		}
	}
	return p.err
}

// Package pool has several executors explore one search. One of them leads: it asks the search what
// to execute, executes that, and reports it. Each of the others explores a part of the search
// (explore.Search.Split), until the search comes to that part and takes over what was explored. The
// executor that is exploring the part which the search comes to leads from then on. A search that
// knows its schedules beforehand is not divided: the others run them early
// (explore.Search.Prefetch), and what came of them is kept until the search gets there. So what is
// reported to the search, and in which order, does not depend on when each executor does what.
//
// There are two locks. The outer one is that of the frontier, which has the search and the account
// of what was reported to it. The inner one is that of the coordinator, which has what executors
// are to do. Each method of the coordinator takes the inner lock for itself. Meanwhile it calls
// nothing but Detach and Interrupt of an executor, which wait for nobody and call nothing of this
// package. So no other order of the two is possible.
package pool

import (
	"context"
	"fmt"
	"sync"

	"github.com/tandem-mc/tandem/check/internal/execution"
	"github.com/tandem-mc/tandem/explore"
)

// Lifecycle is what executors have in common, wherever they execute. Only Interrupt may be called
// at any time, from any goroutine.
type Lifecycle interface {
	// Stay is called by the goroutine that uses the executor, before it does; what it returns is
	// called by it in the end.
	Stay() (leave func())
	// Interrupt has what is under way end soon, with an error.
	Interrupt()
	Close()
}

// Executor runs executions, one after the other.
type Executor interface {
	Lifecycle
	// Execute runs a schedule of the search. The execution is in the memory of the executor, and so
	// is valid until the next one or until Detach. The first execution of a check may be treated
	// otherwise than the rest. Of results of a known kind the execution need not be kept. After an
	// error the executor is not used again.
	Execute(s explore.Schedule, first bool, known func(kind string) bool) (
		explore.Execution, *execution.Result, error)
	// Expect says how many executions are expected to go on where the next one does. It is only
	// called if Config.Forecast is set.
	Expect(executions float64)
	// Detach returns the memory that the last execution is in. The executor uses spare from now on,
	// which an executor of the pool has returned before; or new memory, if it is nil.
	Detach(spare Memory) Memory
}

// Memory is what an execution is in. Size is about how many bytes it holds.
type Memory interface{ Size() int }

// Ledger is told what was found in the executions that are reported to the search, in its order.
// Nobody advances the search meanwhile.
type Ledger interface {
	// Account takes over a result. An error ends the search.
	Account(*execution.Result) error
	// Settle says that all executions are reported whose results were accounted for.
	Settle()
}

// Config says what a pool works at.
type Config struct {
	Search    *explore.Search
	Ledger    Ledger
	Executors int                                // at most; 0: 1
	New       func(number int) (Executor, error) // makes another executor; numbers begin with 1
	Begun     bool                               // the search has asked for executions before
	Counts    execution.Counts                   // of those
	Forecast  bool                               // executors want to know what to expect
	// Eager has parts for executors elsewhere be as small as those for executors here: for tests.
	Eager bool
	// Observe sees each execution before the search does, one after the other. Its error is one of
	// the search. With it the search is not divided. It may be nil.
	Observe func(explore.Execution) error
	// Conclusive says which errors of an execution, or of one elsewhere, end the search even if it
	// comes too early, and would perhaps not come again. It may be nil.
	Conclusive func(error) bool
}

// Pool has executors explore a search. It is made by New, and ends with Wait.
type Pool struct {
	ctx      context.Context
	config   Config
	front    *frontier
	work     *coordinator
	busy     sync.WaitGroup // executors that serve the pool
	filling  sync.Mutex     // held while executors are made
	reported func(kind string) bool
}

// New returns a pool without executors. The pool does nothing until an executor is added.
func New(ctx context.Context, c Config) *Pool {
	work := newCoordinator(ctx)
	p := &Pool{ctx: ctx, config: c, work: work, front: newFrontier(c, work)}
	p.reported = work.isKnown
	return p
}

// Ended is closed when there is nothing more to do.
func (p *Pool) Ended() <-chan struct{} { return p.work.ended }

// Add has an executor serve the pool, which closes it in the end, or returns it. It is not to be
// called during Wait or after it. Once the search is over the executor is closed at once.
func (p *Pool) Add(x Executor) { p.join(&member{Lifecycle: x, here: x}) }

// AddFar is Add for an executor that has parts explored in another process. It is closed by the
// pool in any case.
func (p *Pool) AddFar(x Far) { p.join(&member{Lifecycle: x, far: x}) }

// join has an executor served by a goroutine of its own.
func (p *Pool) join(m *member) {
	p.busy.Add(1)
	if !p.work.add(m) {
		p.busy.Done()
		m.Close()
		return
	}
	go p.serve(m)
}

// Fill makes as many executors as there are to be, until all is over. An error in making one ends
// the pool. Executors that exist already go on until then.
func (p *Pool) Fill() {
	p.filling.Lock()
	defer p.filling.Unlock()
	for number := 1; number < p.config.Executors && !p.work.isOver(); number++ {
		x, err := p.config.New(number)
		if err != nil {
			p.Stop(fmt.Errorf("worker %d of %d: %w", number+1, p.config.Executors, err))
			return
		}
		p.Add(x)
	}
}

// Stop ends everything early. The first error stays; but a contradiction takes the place of an
// interrupt.
func (p *Pool) Stop(err error) { p.work.stop(err) }

// Still calls f while the search is not being advanced, with what was counted so far.
func (p *Pool) Still(f func(Tally)) { p.front.still(f) }

// serve does what the coordinator says until there is nothing more to do, or an execution fails:
// the executor is not to be used again. Stay keeps its goroutine on the processor of the worker.
func (p *Pool) serve(m *member) {
	defer p.busy.Done()
	defer m.Stay()()
	for t := p.work.next(m, task{}); t.what != leave; t = p.work.next(m, t) {
		switch t.what {
		case run:
			p.run(m, t.job)
		case exploreSubtree:
			if m.far != nil {
				t.err = p.exploreFar(m, t.part)
			} else {
				t.err = p.explore(m, t.part)
			}
		case advance:
			if t.job = p.front.advance(m); t.job != nil {
				t.what = run
				p.run(m, t.job)
			}
		case foresee:
			p.front.foresee()
		case conclude:
			p.front.conclude(t.err)
			return
		}
	}
}

// run keeps an error in the job: it is reported in the order of the search.
func (p *Pool) run(m *member, j *job) {
	if p.config.Forecast {
		m.here.Expect(j.forecast)
	}
	j.execution, j.result, j.err = m.here.Execute(j.schedule, j.first, p.reported)
}

// Found is what a pool has found in the end.
type Found struct {
	Verdict explore.Verdict // of the search
	Tally   Tally
	// Vain counts what was run and not reported. It is no part of the tally, except how many
	// executions that were.
	Vain execution.Counts
	// Left are the results of executions that were run and not reported.
	Left []*execution.Result
	// Executor is one that can be used; nil: none can. Others are closed.
	Executor Executor
}

// Wait waits until all executors are done, and returns what the search has found out. The error is
// why it has ended early. It is called once. The executors must have been told to end, or come to
// the end of the search.
func (p *Pool) Wait() (Found, error) {
	p.filling.Lock() // nobody is added from now on
	defer p.filling.Unlock()
	p.busy.Wait()
	f := Found{Verdict: p.config.Search.Verdict(), Tally: p.front.tally}
	var err error
	f.Left, f.Vain, err = p.work.rest()
	f.Tally.Counts.InVain += f.Vain.InVain
	// A usable executor is left over for what follows the search, such as counterexamples.
	for _, m := range p.work.members {
		if m.failed || m.far != nil || f.Executor != nil {
			m.Close()
		} else {
			f.Executor = m.here
		}
	}
	return f, err
}

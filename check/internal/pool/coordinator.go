package pool

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tandem-mc/tandem/explore"
)

// coordinator says what each executor is to do. Its methods may be called by several goroutines,
// and with the lock of the frontier held; none of them takes that lock.
type coordinator struct {
	ctx   context.Context
	ended chan struct{} // closed when all is over

	// changes counts what may concern those who wait. Who changes it holds mu.
	changes atomic.Uint32
	idle    atomic.Int32 // executors here that wait for something to do
	idleFar atomic.Int32 // and elsewhere

	mu       sync.Mutex // guards what follows
	wake     sync.Cond  // there was a change
	wakeFar  sync.Cond  // there is a part for those elsewhere, or all is over
	members  []*member
	leader   *member         // that advanced the search last
	taken    bool            // the search is being advanced, or divided
	foreseen bool            // there is nothing more for the others to do, until something is reported
	asked    *job            // what the search waits for; nil: it is to be asked
	spare    *job            // that nobody needs any more; nil: there is none
	parts    parts           // of the search
	ahead    speculation     // what the search will ask for
	known    map[string]bool // kinds of results that were reported
	over     bool
	err      error
}

func newCoordinator(ctx context.Context) *coordinator {
	c := &coordinator{ctx: ctx, ended: make(chan struct{}), known: map[string]bool{},
		ahead: newSpeculation(), parts: newParts()}
	c.wake.L, c.wakeFar.L = &c.mu, &c.mu
	return c
}

// add adds an executor; false if all is over.
func (c *coordinator) add(m *member) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.over {
		c.members = append(c.members, m)
	}
	return !c.over
}

// isOver reports whether there is nothing more to do.
func (c *coordinator) isOver() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.over
}

// isKnown reports whether a result of a kind has been reported: others need not be kept.
func (c *coordinator) isKnown(kind string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known[kind]
}

// next takes what an executor has done, and returns what it is to do now. It waits until there is
// something. (Both are one step: what was run in the executor's own memory is reported by that
// executor, before it runs anything else.)
func (c *coordinator) next(m *member, done task) task {
	c.mu.Lock()
	defer c.mu.Unlock()
	var failed error
	switch done.what {
	case run:
		failed = done.job.err
		c.ran(m, done.job)
	case exploreSubtree:
		failed = done.err
		c.explored(m, done.part, failed)
	case advance:
		c.taken = false
	case foresee:
		c.taken = false
		c.changed() // the execution may have been finished meanwhile
	}
	// The search may still advance with results that are there.
	if failed != nil && c.haveAllFailed() {
		return task{what: conclude, err: failed} // or nobody will report what was run
	}
	if m.far != nil {
		return c.nextFar(m)
	}
	// The order of the alternatives is that of their use: results first, then work ahead.
	for !c.over && !m.failed && c.ctx.Err() == nil {
		if c.canAdvance() && c.leads(m) {
			c.taken, c.leader = true, m
			return task{what: advance}
		}
		if j := c.ahead.pop(); j != nil {
			j.state, m.executing = running, true
			return task{what: run, job: j}
		}
		if t := c.parts.queue.pop(); t != nil {
			m.executing, m.part = true, t
			return task{what: exploreSubtree, part: t}
		}
		if !c.taken && !c.foreseen {
			c.taken = true
			return task{what: foresee}
		}
		c.waitForWork(m)
	}
	return task{}
}

// nextFar is next, for an executor that has parts explored elsewhere. The caller holds mu.
func (c *coordinator) nextFar(m *member) task {
	for !c.over && !m.failed && c.ctx.Err() == nil {
		if t := c.parts.far.pop(); t != nil {
			m.executing, m.part = true, t
			return task{what: exploreSubtree, part: t}
		}
		// It is woken by changed, when there is a part, and not for anything else that changes.
		c.idleFar.Add(1)
		c.wakeFar.Wait()
		c.idleFar.Add(-1)
	}
	return task{}
}

// ran takes a job that was run. The caller holds mu. An error is kept in the job, and reported in
// the order of the search.
func (c *coordinator) ran(m *member, j *job) {
	m.executing = false
	j.state = finished
	if j.err != nil {
		c.fail(m)
	}
	if j.asked && c.leader == m && !c.taken {
		return // it is reported by this executor next, since no other one leads
	}
	c.ahead.keep(j, m.here)
	if j.asked {
		c.changed()
	}
}

// explored takes a part that an executor goes no further with. The caller holds mu. A part that
// failed is finished, too. The search finds out when it comes to it.
func (c *coordinator) explored(m *member, t *part, err error) {
	m.executing, m.part = false, nil
	if err != nil {
		c.fail(m)
	}
	t.state = finished
	if c.asked == nil || c.asked.part != t {
		return
	}
	c.asked.state = finished
	switch c.changed(); {
	case m.failed:
	case m.far == nil:
		c.leader = m // where it was explored
	default:
		c.recall()
	}
}

// recall has an executor here come back from its part, if all are about one: the search can go on,
// and nobody elsewhere advances it. The caller holds mu.
func (c *coordinator) recall() {
	// One that has nothing to do goes on with the search by itself.
	var any *member
	for _, m := range c.members {
		if m.far != nil || m.failed {
			continue
		}
		if m.part == nil {
			return
		}
		any = m
	}
	if any != nil {
		any.part.end()
	}
}

// fail notes that an executor is not to be used again. Its error is told when the search waits for
// what it has run. The caller holds mu.
func (c *coordinator) fail(m *member) {
	m.failed = true
	if c.leader == m {
		c.leader = nil
	}
	c.changed()
}

// haveAllFailed reports whether no executor is left that can advance the search. The caller holds
// mu.
func (c *coordinator) haveAllFailed() bool {
	for _, m := range c.members {
		if !m.failed && m.far == nil {
			return false
		}
	}
	return true
}

// waitForWork waits for a change. The caller holds mu, but not meanwhile. To begin with it does not
// give up its processor, if each executor has one: most changes come soon, and to wake somebody up
// takes as long as an execution. The spinning is bounded by time, so an idle check does not burn
// processors.
func (c *coordinator) waitForWork(m *member) {
	seen := c.changes.Load()
	c.idle.Add(1)
	defer c.idle.Add(-1)
	if here, _ := c.count(); here <= runtime.GOMAXPROCS(0) {
		c.mu.Unlock()
		const patience, between = 200 * time.Microsecond, 256
		for until := time.Now().Add(patience); c.changes.Load() == seen && time.Now().Before(until); {
			for i := 0; i < between && c.changes.Load() == seen; i++ {
			}
		}
		c.mu.Lock()
	}
	for c.changes.Load() == seen {
		m.waiting = true
		c.wake.Wait()
	}
	m.waiting = false
}

// changed tells those who wait. The caller holds mu. It wakes all, since each may wait for
// something else.
func (c *coordinator) changed() {
	c.changes.Add(1)
	c.wake.Broadcast()
	// Many wait there, and each has a lock to take.
	if c.over || len(c.parts.far) > 0 {
		c.wakeFar.Broadcast()
	}
}

// count is how many executors there are to give work to, here and elsewhere. The caller holds mu.
func (c *coordinator) count() (here, far int) {
	for _, m := range c.members {
		switch {
		case m.failed:
		case m.far != nil:
			far++
		default:
			here++
		}
	}
	return here, far
}

// canAdvance reports whether the search can be advanced. The caller holds mu.
func (c *coordinator) canAdvance() bool {
	return !c.taken && (c.asked == nil || c.asked.state != running)
}

// leads reports whether an executor is the one to advance the search: the one that did so last, in
// the caches of whose processor it is, unless there is nothing else to do. The caller holds mu.
func (c *coordinator) leads(m *member) bool {
	return c.leader == nil || c.leader == m || c.leader.waiting || c.ahead.idle()
}

// What follows is for the frontier, whose lock the caller holds. So the search is at rest.

// waits returns the job that the search waits for, and whether it is done; nil if the search is to
// be asked.
func (c *coordinator) waits() (asked *job, done, over bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	// A finished job is one whose result can be reported.
	return c.asked, c.asked != nil && c.asked.state == finished, c.over
}

// answer is what the search has answered when it was asked.
type answer struct {
	schedule  explore.Schedule // to be run next
	more      bool             // else the search has ended
	first     bool             // the schedule is the first of the check
	forecast  float64
	arrived   *explore.Subtree   // that the search has come to
	cancelled []*explore.Subtree // since it was asked before
}

// ask takes an answer of the search, and has the search wait for that execution. What was run ahead
// takes its place; where the search has come to a part, the part does. It reports whether somebody
// had begun with the execution before. The result says how well the work ahead hits. The caller
// holds the lock of the frontier.
func (c *coordinator) ask(a *answer) (early bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.parts.giveUp(a.cancelled)
	if !a.more {
		c.finish(nil)
		return false
	}
	j := c.ahead.remove(&a.schedule)
	if j == nil {
		if j = c.spare; j == nil {
			j = &job{}
		}
		*j, c.spare = job{schedule: a.schedule, first: a.first}, nil
	}
	early = j.state != queued
	if c.parts.await(j, a.arrived); j.state == queued {
		j.forecast = a.forecast
	}
	c.asked, j.asked = j, true
	return early
}

// look returns the job that the search waits for, and whether it is done. If nobody has begun with
// it, it becomes that of an executor, and others may take the search. Those that found it taken are
// told, unless work was looked for meanwhile. mine says that the caller is to run it.
func (c *coordinator) look(m *member, looked bool) (j *job, done, mine bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	j = c.asked
	if mine = j.state == queued && !c.over && !m.failed && c.ctx.Err() == nil; mine {
		j.state, m.executing, c.taken = running, true, false
		if !looked && c.idle.Load() > 0 {
			c.changed()
		}
	}
	return j, j.state == finished, mine
}

// demand is what executors could do while others run what the search waits for.
type demand struct {
	jobs   int                // so many that the search will ask for later
	part   bool               // a part of the search
	far    bool               // a large part, for somebody elsewhere
	unused []*explore.Subtree // parts that nobody needs any more
}

// demand is computed anew each time. The parts in it are removed from the coordinator, so they are
// returned once.
func (c *coordinator) demand() demand {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := demand{unused: c.parts.clear()} // first, since that makes room
	here, far := c.count()
	all := here + far
	// A part for somebody elsewhere is made only when somebody waits for it: it would get old.
	if d.far = c.idleFar.Load() > 0 && c.parts.far.room(1) && c.parts.room(all); here > 1 {
		d.jobs, d.part = c.ahead.missing(here), c.parts.queue.room(here) && c.parts.room(all)
	}
	return d
}

// offer takes what was found to do. Finding nothing is remembered, so that executors do not look
// again until something was reported.
func (c *coordinator) offer(jobs []*job, found, far *part) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead.add(jobs)
	c.parts.add(found, &c.parts.queue)
	c.parts.add(far, &c.parts.far)
	if c.foreseen = len(jobs) == 0 && found == nil && far == nil; !c.foreseen {
		c.changed()
	}
}

// note notes the kinds under which a result is known from now on, and reports whether its kind was
// known before.
func (c *coordinator) note(kind, limit string) (known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known = c.known[kind]
	if kind != "" {
		c.known[kind] = true
	}
	if limit != "" {
		c.known[limit] = true
	}
	return known
}

// wasReported says that the search does not wait for a job any more. Its memory may be used again
// from now on.
func (c *coordinator) wasReported(j *job) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead.recycle(j)
	c.asked, c.foreseen, c.spare = nil, false, j
}

// wasMerged says that the search has taken over a part. The next executor that advances asks the
// search again.
func (c *coordinator) wasMerged(t *part) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.parts.all, t.Subtree)
	c.asked, c.foreseen = nil, false
}

// wasNotMerged says that the search has not taken over the part that it waits for: the execution
// that it has asked for is to be run. The part stays until its executor rests, and then counts as
// in vain.
func (c *coordinator) wasNotMerged(j *job, forecast float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	j.part.givenUp = true
	j.part, j.state, j.forecast = nil, queued, forecast
	c.foreseen = false
}

package pool

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tandem-mc/tandem/check/internal/dials"
	"github.com/tandem-mc/tandem/check/internal/execution"
	"github.com/tandem-mc/tandem/explore"
)

// part is a part of the search that one executor explores.
type part struct {
	*explore.Subtree
	most    int           // executions
	time    time.Duration // that it takes at most
	ends    atomic.Bool   // the search has come to it, and waits, or has given it up
	wanted  chan struct{} // closed when ends is set
	endOnce sync.Once

	// Of the executor that explores it, until it rests:
	executions int
	outcomes   map[explore.Outcome]int
	counts     execution.Counts
	results    []*execution.Result // but for those that are nothing but counts, in order
	dials      dials.Set           // of these
	sampled    bool                // one of them is to be audited
	ended      execution.Ends      // of those that are nothing but counts
	failed     bool                // nobody can go on with it, and the search is to find out why

	// Guarded by the coordinator:
	state   jobState
	givenUp bool
}

// Bounds on parts. What is explored far ahead of the search is lost if the check is killed.
const (
	// A part has at least partSize executions, as far as can be told. It takes the time of one or
	// two to make it.
	partSize = 32
	partTime = 5 * time.Second
	partMost = 1 << 14 // executions
	// A part ends after one in partShare of the executions so far, and after one in roomShare of
	// those that a bound leaves room for, where all that was not joined is in vain; but not before
	// partLeast.
	partShare = 16
	roomShare = 64
	partLeast = 64
	maxParts  = 16 // for each executor
)

// Bounds on parts for executors elsewhere. To give one out and to take it over costs both sides
// some milliseconds, so it is to have the work of a second, as far as can be told, and never less
// than farLeast. It rests later than others, and as late as the check can afford to lose it.
const (
	farEnough = time.Second
	farLeast  = farEnough / 8
	farShare  = 64                   // parts grow to so small a part of the time so far
	farLook   = 5 * time.Millisecond // between two searches for one
)

// newPart is a part that takes at most so many executions.
func newPart(s *explore.Subtree, most int, time time.Duration) *part {
	return &part{Subtree: s, most: most, time: time, outcomes: map[explore.Outcome]int{},
		wanted: make(chan struct{})}
}

// end has whoever explores the part stop with it.
func (t *part) end() {
	// It may be given up after the search has come to it, and the other way round.
	t.endOnce.Do(func() {
		t.ends.Store(true)
		close(t.wanted)
	})
}

// explore has an executor explore a part until the search wants it or gives it up, it has ended, or
// has become large, or somebody may want to see what was found. An error is one of the executor.
// The first execution of the check is never in a part, so first is false.
func (p *Pool) explore(m *member, t *part) error {
	for end := time.Now().Add(t.time); !t.ends.Load() && t.executions < t.most && p.ctx.Err() == nil; {
		schedule, more := t.Next()
		if !more {
			return nil
		}
		if p.config.Forecast {
			m.here.Expect(t.Forecast())
		}
		x, found, err := m.here.Execute(schedule, false, p.reported)
		if err != nil {
			return p.fail(t, err)
		}
		// A contradiction in the part's own log is found again by the search, in its order.
		if t.failed = t.Report(x) != nil; t.failed {
			return nil
		}
		if t.note(x.Outcome, found) || time.Now().After(end) {
			return nil
		}
	}
	return nil
}

// fail ends a part with an error of its executor, which is returned.
func (p *Pool) fail(t *part, err error) error {
	t.failed = true
	if p.config.Conclusive != nil && p.config.Conclusive(err) {
		// If another executor explores the part anew, this error may not come again.
		p.Stop(err)
	}
	return err
}

// note takes the result of an execution, and reports whether the search may end with it. Limits are
// noted once for each part. Counts without a result are summed up. To be audited are those that are
// drawn, and the first one, since it may be the first of the check.
func (t *part) note(outcome explore.Outcome, f *execution.Result) (ends bool) {
	t.executions++
	t.outcomes[outcome]++
	if f == nil {
		return false
	}
	if f.Limit != "" && slices.ContainsFunc(t.results, func(other *execution.Result) bool {
		return other.Limit == f.Limit
	}) {
		f.Limit, f.Limited = "", ""
	}
	if !t.dials.Add(f.Dialled) {
		f.Dialled = nil
	}
	if f.Sample != nil && !f.Sample.Drawn && t.sampled {
		f.Sample = nil
	}
	t.sampled = t.sampled || f.Sample != nil
	if f.Kind != "" || f.Limit != "" || f.Dialled != nil || f.Sample != nil {
		t.results = append(t.results, f)
		return f.Kept != nil
	}
	t.counts.Add(f.Counts)
	if f.Ends != nil {
		t.ended = append(t.ended, *f.Ends...)
	}
	if f.Checked {
		t.counts.SelfChecked++
	}
	return false
}

// parts are the parts of a search. The coordinator guards them. The zero value cannot be used: see
// newParts.
type parts struct {
	all   map[*explore.Subtree]*part // but for those that were joined, or given up and ended
	queue queue                      // that wait for an executor
	far   queue                      // that wait for one elsewhere
	vain  execution.Counts           // of those that were not joined
}

// queue is a list of parts.
type queue []*part

func newParts() parts { return parts{all: map[*explore.Subtree]*part{}} }

// clear drops those that were given up, or not joined, and that nobody explores any more, and
// returns them.
func (p *parts) clear() (list []*explore.Subtree) {
	for _, t := range p.all {
		if t.givenUp && t.state == finished {
			p.inVain(t)
			list = append(list, t.Subtree)
		}
	}
	return list
}

// room reports whether there is to be another one for so many executors.
func (p *parts) room(executors int) bool { return len(p.all) < maxParts*executors }

// room reports whether another one is to be queued for so many executors: what waits too long is
// reached by the search first.
func (q queue) room(executors int) bool { return len(q) < executors }

// inVain drops a part that the search will not join, and that nobody explores any more.
func (p *parts) inVain(t *part) {
	delete(p.all, t.Subtree)
	p.vain.InVain += t.executions
	p.vain.Add(t.counts)
	for _, f := range t.results {
		p.vain.Add(f.Counts)
	}
}

// rest drops all that are left, and returns what they have found.
func (p *parts) rest() (results []*execution.Result) {
	for _, t := range p.all {
		p.inVain(t)
		results = append(results, t.results...)
	}
	return results
}

// add queues a part, if there is one.
func (p *parts) add(t *part, in *queue) {
	if t != nil {
		p.all[t.Subtree], *in = t, append(*in, t)
	}
}

// pop returns a part for an executor; nil if there is none. Parts that were given up meanwhile are
// passed over and dropped later.
func (q *queue) pop() *part {
	for len(*q) > 0 {
		t := (*q)[0]
		*q = (*q)[1:]
		if t.givenUp || t.state != queued {
			t.state = finished
			continue
		}
		t.state = running
		return t
	}
	return nil
}

// giveUp gives up what the search will not join. Executors stop with them at the next execution.
func (p *parts) giveUp(list []*explore.Subtree) {
	for _, dropped := range list {
		if t := p.all[dropped]; t != nil {
			t.givenUp = true
			t.end()
		}
	}
}

// await has a job wait for the part that the search has come to, if it has. What nobody has begun
// with is not waited for.
func (p *parts) await(j *job, due *explore.Subtree) {
	t := p.all[due]
	if t == nil {
		return
	}
	if t.state == queued {
		t.state = finished
	}
	j.part, j.state = t, t.state
	t.end()
}

package check

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/tandem-mc/tandem/check/internal/audit"
	"github.com/tandem-mc/tandem/explore"
)

// part is a part of the search that one executor explores.
type part struct {
	*explore.Subtree
	most int         // executions
	ends atomic.Bool // the search has come to it, and waits, or has given it up

	// Of the executor, until it rests:
	executions int
	outcomes   map[explore.Outcome]int
	counts     Counts
	results    []*result // but for those that are nothing but counts, in order
	failed     bool      // nobody can go on with it, and the search is to find out why

	// mu:
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

// newPart makes a part of the search; nil if there is nothing to take. Nobody may be advancing it.
func (r *run) newPart() *part {
	if r.options.observe != nil {
		return nil // it is to see every execution, and those of parts are reported to the part
	}
	p := r.search.Split(partSize)
	if p == nil {
		return nil
	}
	executions := 0
	for _, n := range r.outcomes {
		executions += n
	}
	most := min(executions/partShare, r.search.Remaining(partMost*roomShare)/roomShare)
	return &part{Subtree: p, most: max(partLeast, most), outcomes: map[explore.Outcome]int{}}
}

// explore has an executor explore a part until the search wants it or gives it up, it has ended,
// or has become large, or somebody may want to see what was found.
func (t *part) explore(x *executor, p *pool) {
	for end := time.Now().Add(partTime); !t.ends.Load() && t.executions < t.most && x.run.ctx.Err() == nil; {
		schedule, more := t.Next()
		if !more {
			return
		}
		if x.talk != nil {
			x.talk.Expect(t.Forecast())
		}
		execution, f, err := x.execute(schedule, false, p.known)
		if err == nil {
			err = t.Report(execution)
		} else if x.broken = err; x.run.auditor != nil && audit.Contradicts(err) {
			// Audits are samples: if another executor explores the part anew, this one may not
			// be taken again.
			p.stop(err)
		}
		if t.failed = err != nil; t.failed || t.note(execution.Outcome, f) || time.Now().After(end) {
			return
		}
	}
}

// note takes the result of an execution, and reports whether the search may end with it.
func (t *part) note(outcome explore.Outcome, f *result) (ends bool) {
	t.executions++
	t.outcomes[outcome]++
	if f == nil {
		return false
	}
	if f.limit != "" && slices.ContainsFunc(t.results, func(other *result) bool {
		return other.limit == f.limit
	}) {
		f.limit, f.limited = "", ""
	}
	if f.kind != "" || f.limit != "" {
		t.results = append(t.results, f)
		return f.kept != nil
	}
	t.counts.Add(f.counts)
	if f.checked {
		t.counts.SelfChecked++
	}
	return false
}

// rest takes a part that an executor goes no further with. The caller holds mu.
func (p *pool) rest(x *executor, t *part) {
	x.executing = false
	if x.broken != nil {
		p.leave(x, x.broken)
	}
	t.state = finished
	if p.asked != nil && p.asked.part == t {
		p.asked.state = finished
		if p.changed(); !x.failed {
			p.leader = x // where it was explored
		}
	}
}

// join has the search take over the part that it has come to; false if that ends it. If the
// search does not, the execution that it has asked for is to be run. Who advances the search
// calls it.
func (p *pool) join(j *job) bool {
	t := j.part
	joined := !t.failed && p.run.search.Merge(t.Subtree)
	if joined {
		if err := p.accountAll(t); err != nil {
			p.stop(err)
			return false
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.foreseen = false
	if joined {
		delete(p.parts.all, t.Subtree)
		p.asked = nil
	} else {
		t.givenUp = true
		j.part, j.state, j.forecast = nil, queued, p.run.search.Forecast()
	}
	return true
}

// accountAll takes what was found in a part over into the result.
func (p *pool) accountAll(t *part) error {
	for _, f := range t.results {
		if err := p.account(f); err != nil {
			return err
		}
	}
	r := p.run
	r.counts.Add(t.counts)
	r.counts.SelfChecked += t.counts.SelfChecked
	r.counts.Ahead += t.executions
	for outcome, n := range t.outcomes {
		r.outcomes[outcome] += n
	}
	r.saver.settle()
	return nil
}

// parts are the parts of a search. The pool's mu guards them.
type parts struct {
	all   map[*explore.Subtree]*part // but for those that were joined, or given up and ended
	queue []*part                    // that wait for an executor
	vain  Counts                     // of those that were not joined
}

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
func (p *parts) room(executors int) bool {
	return len(p.queue) < executors && len(p.all) < maxParts*executors
}

// inVain drops a part that the search will not join, and that nobody explores any more.
func (p *parts) inVain(t *part) {
	delete(p.all, t.Subtree)
	p.vain.InVain += t.executions
	p.vain.Add(t.counts)
	for _, f := range t.results {
		p.vain.Add(f.counts)
	}
}

// rest drops all that are left, and returns what they have found.
func (p *parts) rest() (results []*result) {
	for _, t := range p.all {
		p.inVain(t)
		results = append(results, t.results...)
	}
	return results
}

func (p *parts) add(t *part) {
	if t != nil {
		p.all[t.Subtree], p.queue = t, append(p.queue, t)
	}
}

// pop returns a part for an executor; nil if there is none.
func (p *parts) pop() *part {
	for len(p.queue) > 0 {
		t := p.queue[0]
		p.queue = p.queue[1:]
		if t.givenUp || t.state != queued {
			t.state = finished
			continue
		}
		t.state = running
		return t
	}
	return nil
}

// giveUp gives up what the search will not join.
func (p *parts) giveUp(list []*explore.Subtree) {
	for _, dropped := range list {
		if t := p.all[dropped]; t != nil {
			t.givenUp = true
			t.ends.Store(true)
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
	t.ends.Store(true)
}

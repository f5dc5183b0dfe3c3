package dpor

import (
	"slices"

	"github.com/tandem-mc/tandem/explore/internal/core"
	"github.com/tandem-mc/tandem/explore/internal/trace"
	"github.com/tandem-mc/tandem/explore/internal/wakeup"
)

// planner makes reversals of races from the trace of an execution.
type planner struct {
	trace   *trace.Trace
	maximal bool  // nothing could have gone on at the end of the execution
	ender   int32 // the event that ended the program while others might have gone on, or -1

	reversal wakeup.Reversal // that was planned last
	outlined outline         // likewise, without a plan
	scratch  []int32
	limits   []int32         // for gather
	counters map[int32]int32 // of objects, in compose
	accounts accounts
}

// alternative is the reversal of event i that has another alternative of its operation.
func (p *planner) alternative(i int32, a core.Action) *wakeup.Reversal {
	r, _ := p.collect(i, -1, nil, nil)
	r.Add(trace.Step{Action: a, Accesses: p.trace.AccessesOf(i), Marks: trace.Needed | trace.Guessed}, -1)
	return r
}

// plan makes the reversal of f: everything that does not depend on the event, or what of
// that is within, and in the end op, before which what is in its past has to run.
func (p *planner) plan(f *reversible) *wakeup.Reversal {
	r, ends := p.collect(f.Event, f.without, f.Within, f.Past)
	if !ends {
		op := f.op
		op.Choice, op.Marks = 0, trace.Needed|trace.Guessed|trace.Open
		r.Add(op, -1)
	}
	return r
}

// collect makes the reversal of event e that consists of all that happened neither
// after e nor after another event, if that is not negative, and is within a clock, if
// that is not nil. What is in the past is needed. It reports whether the program ends with it.
func (p *planner) collect(e, without int32, within, past trace.Clock) (r *wakeup.Reversal, ends bool) {
	p.gather(e, without, within)
	whole := p.maximal && len(p.scratch) < wakeup.MaxSteps
	if len(p.scratch) >= wakeup.MaxSteps {
		p.gather(e, without, past)
	}
	r, ends = p.compose(e, p.scratch, past)
	r.Whole = r.Whole && whole
	return r, ends
}

// gather lists the events after e for collect; if within is not nil only those in it. It may stop
// when there are more than a reversal can have. It takes time for what it lists, not for what is in
// between.
func (p *planner) gather(e, without int32, within trace.Clock) {
	t := p.trace
	p.limits = p.limits[:0]
	total, first, last := 0, int32(len(t.Events)), e
	for g := range t.Goroutines {
		events := t.Goroutines[g].Events
		from, to := t.Without(int32(g), e, without, within)
		if p.limits = append(p.limits, int32(to)); from < to {
			total, first, last = total+to-from, min(first, events[from]), max(last, events[to-1])
		}
	}
	p.scratch = p.scratch[:0]
	const sparse = 8
	// to look at what is in between would take longer than to sort
	if int(last-first) > sparse*total {
		for g, to := range p.limits {
			if from := t.After(int32(g), e); from < int(to) {
				p.scratch = append(p.scratch, t.Goroutines[g].Events[from:to]...)
			}
		}
		slices.Sort(p.scratch)
		return
	}
	for x := first; x <= last && (within != nil || len(p.scratch) < wakeup.MaxSteps); x++ {
		if event := &t.Events[x]; event.Ordinal <= p.limits[event.Number] {
			p.scratch = append(p.scratch, x)
		}
	}
}

// compose makes the reversal of event e that consists of later events. Where a counter
// would go below zero, which it did not with e, or where the program ended, it ends if
// that is needed, and else goes on with nothing but what is.
func (p *planner) compose(e int32, events []int32, past trace.Clock) (r *wakeup.Reversal, ends bool) {
	t := p.trace
	r = &p.reversal
	r.Reset(e, t, p.maximal)
	r.Grow(len(events) + 1)
	clear(p.counters)
	incomplete, counts := false, t.CountsFrom(e) && p.accounts.mayOverdraw()
	for _, x := range events {
		s := trace.Step{Action: t.Events[x].Action, Accesses: t.AccessesOf(x), Number: t.Events[x].Number}
		if t.Includes(past, x) {
			s.Marks = trace.Needed
		}
		fatal := x == p.ender || counts && p.overdraws(e, x)
		incomplete = incomplete || fatal
		if s.Is(trace.Needed) || !incomplete {
			r.Add(s, x)
		}
		if fatal && s.Is(trace.Needed) || len(r.Steps) == wakeup.MaxSteps {
			r.Whole = false
			return r, true
		}
	}
	r.Whole = r.Whole && !incomplete
	return r, false
}

// overdraws reports whether event x takes a counter below zero, after those asked for
// before, from the state before event e.
func (p *planner) overdraws(e, x int32) bool {
	for _, u := range p.trace.UsesOf(x) {
		if !u.Counts() {
			continue
		}
		counter, known := p.counters[u.Object]
		if !known {
			counter = p.trace.CountBefore(&p.trace.Objects[u.Object], e)
		}
		p.counters[u.Object] = counter + u.Delta
		if counter+u.Delta < 0 {
			return true
		}
	}
	return false
}

// single is the reversal that has one step.
func single(node int32, a core.Action, accesses []core.Access, m trace.Marks) *wakeup.Reversal {
	return &wakeup.Reversal{Node: node, Steps: []trace.Step{{Action: a, Accesses: accesses,
		Marks: trace.Needed | m}}, Removed: make([]bool, 1), Before: make([][]int, 1)}
}

// foreseeable returns those of the accesses of a transition, executed after an event that made
// others, that it certainly makes before that too: all up to the first that conflicts, since what
// follows may depend on it. (What commutes with these but not with all that it then accesses, is in
// a race of its own with it.) With them are those with which it withdraws, and the first to each
// object that its Needs are about: it looks at those in any case.
func foreseeable(accesses []core.Access, needs []core.Need, others []core.Access) []core.Access {
	n := slices.IndexFunc(accesses, func(a core.Access) bool {
		return core.Conflict([]core.Access{a},
			others)
	}) + 1
	if n == 0 {
		return accesses
	}
	for i := 0; i < len(accesses) && core.Withdraws(accesses[i]); i++ {
		n = max(n, i+1)
	}
	for _, need := range needs {
		n = max(n, 1+slices.IndexFunc(accesses, func(a core.Access) bool { return a.Object == need.Object }))
	}
	return accesses[:n]
}

package dfs

import (
	"slices"

	"github.com/tandem-mc/tandem/explore/internal/codec"
	"github.com/tandem-mc/tandem/explore/internal/core"
	"github.com/tandem-mc/tandem/explore/internal/trace"
)

// Bounded is DPOR for executions in which goroutines are preempted at most so many times
// (MaxPreemptions): bounded partial-order reduction (Coons, Musuvathi, McKinley: Bounded
// Partial-Order Reduction, OOPSLA 2013). It finds every outcome that DFS finds within the bound, in
// fewer executions. The bound is kept by the worker, which lists as enabled what is within it.
//
// Of two executions that differ only in the order of independent transitions one may be within the
// bound and the other beyond it. So one cannot stand for the other as in DPOR, and there are no
// sleep sets and no wakeup trees: a partial order may be executed more than once. What is left are
// backtrack sets, which are larger than those of dynamic partial-order reduction without a bound
// (Flanagan and Godefroid, POPL 2005) in three ways:
//
//   - A goroutine that is to run instead of an event is to run as well at the last place before
//     that where the switch costs nothing. What it does may be independent of all that comes in
//     between.
//   - It is to run before every event that conflicts with its next operation, not only before the
//     last one. DPOR would find the others when it has reversed that, but this might be beyond the
//     bound.
//   - That one operation only enables the other (Unlock and Lock) is no reason to leave it out:
//     before the Unlock, it costs nothing to switch from the goroutine that waits.
//
// It is DFS that picks only what is in the backtrack sets. Elements i of trace, prefix, stack and
// sets belong together.
type Bounded struct {
	Search
	trace *trace.Trace
	sets  []backtracks
}

// backtracks is what bpor knows of a state on the path.
type backtracks struct {
	set  []core.GoroutineID // the backtrack set
	free int                // freeBefore
}

// NewBounded returns a search within a bound on preemptions.
func NewBounded(b core.Bounds) *Bounded {
	return &Bounded{Search: Search{Tally: core.Tally{Bounds: b}}, trace: trace.New()}
}

// Next implements core.Search.
func (b *Bounded) Next() (core.Schedule, bool) {
	schedule, more := b.Search.Next()
	if top := len(b.stack) - 1; more && top >= 0 {
		b.trace.Truncate(top)
		b.sets = b.sets[:top+1]
	}
	return schedule, more
}

// Report implements core.Search.
func (b *Bounded) Report(e core.Execution) error {
	if err := b.follow(e); err != nil {
		return err
	}
	for i := range b.trace.Events {
		if err := b.trace.CheckReplay(int32(i), &e.Transitions[i]); err != nil {
			return err
		}
	}
	// after a resume that is all of them
	for i := len(b.trace.Events); i < len(e.Transitions); i++ {
		if err := b.extend(i, &e.Transitions[i]); err != nil {
			return err
		}
	}
	return b.finish(e.Pending)
}

// extend takes transition i, which is new in the trace.
func (b *Bounded) extend(i int, x *core.Transition) error {
	if i == len(b.stack) {
		if err := b.push(i, x); err != nil {
			return err
		}
		s := &b.stack[i] // of which, to begin with, only the other alternatives of x are to do
		s.todo = slices.DeleteFunc(s.todo, func(a core.Action) bool { return a.Goroutine != x.Goroutine })
		b.sets = append(b.sets, backtracks{set: []core.GoroutineID{x.Goroutine}})
	}
	b.sets[i].free = b.freeBefore(i)
	if !x.Barrier {
		if err := b.reverseBefore(i, &core.Pending{Goroutine: x.Goroutine, Needs: x.Needs,
			Accesses: x.Accesses}); err != nil {
			return err
		}
	}
	if _, err := b.trace.Push(x); err != nil {
		return err
	}
	for p := range x.Partners {
		if err := b.reverseBefore(i, &x.Partners[p]); err != nil {
			return err
		}
	}
	return nil
}

// freeBefore returns the last state up to i where it costs no preemption to go on with another
// goroutine: where the one that is executed there began, or rested.
func (b *Bounded) freeBefore(i int) int {
	if i == 0 || b.prefix[i-1].Goroutine != b.prefix[i].Goroutine ||
		slices.ContainsFunc(b.stack[i].enabled, func(a core.Alternative) bool { return a.Rests }) {
		return i
	}
	return b.sets[i-1].free
}

// finish takes what was pending at the end of an execution. What was enabled might have gone on
// but for the event that ended the program.
func (b *Bounded) finish(pending []core.Pending) error {
	last := len(b.trace.Events) - 1
	for i := range pending {
		p := &pending[i]
		if err := b.reverseBefore(last+1, p); err != nil {
			return err
		}
		if p.Enabled && last >= 0 {
			b.backtrack(last, p.Goroutine)
		}
	}
	return nil
}

// reverseBefore has a goroutine run before each event that its operation, which is pending before
// event i, conflicts with and that did not happen before it anyway.
func (b *Bounded) reverseBefore(i int, p *core.Pending) error {
	t := b.trace
	op, err := t.PendingOperation(p)
	if err != nil {
		return err
	}
	if err := t.JoinPastBefore(int32(i), p.Goroutine, p.Needs); err != nil {
		return err
	}
	for _, u := range op.Uses {
		for _, x := range slices.Backward(t.Objects[u.Object].Uses) {
			used := t.Uses[x.Use].Kinds
			if t.Includes(t.Now, x.Event) {
				if used&(1<<core.Write) != 0 {
					break // all before it conflict with it, and so are past, too
				}
			} else if used.Conflict(u.Kinds) {
				b.backtrack(int(x.Event), p.Goroutine)
			}
		}
	}
	return nil
}

// backtrack has a goroutine run instead of an event, and at the last place before it where the
// switch costs nothing.
func (b *Bounded) backtrack(event int, g core.GoroutineID) {
	for _, state := range [...]int{event, b.sets[event].free} {
		// it is blocked there: any of the others may be what lets it go on
		if !b.addToSet(state, g) {
			for _, a := range b.stack[state].enabled {
				b.addToSet(state, a.Goroutine)
			}
		}
	}
}

// addToSet adds a goroutine, with all alternatives of its operation, to the backtrack set of a
// state, and reports whether it can run there.
func (b *Bounded) addToSet(state int, g core.GoroutineID) bool {
	s, set := &b.stack[state], &b.sets[state].set
	i := slices.IndexFunc(s.enabled, func(a core.Alternative) bool { return a.Goroutine == g })
	if i < 0 || slices.Contains(*set, g) {
		return i >= 0
	}
	*set = append(*set, g)
	for choice := range s.enabled[i].Choices {
		s.todo = append(s.todo, core.Action{Goroutine: g, Choice: choice})
	}
	return true
}

// Split implements core.Tree.
func (b *Bounded) Split(size core.Size) *core.Subtree {
	if len(b.trace.Events)+1 < len(b.stack) {
		return nil // it was resumed, and has executed nothing yet
	}
	p, inner := b.Search.subtree(size)
	if p == nil {
		return nil
	}
	part := &Bounded{Search: *inner, trace: trace.Prefix(b.trace, p.Node, trace.New()),
		sets: slices.Clone(b.sets[:p.Node+1])}
	for i := range part.sets {
		part.sets[i].set = slices.Clip(part.sets[i].set)
	}
	p.Search = part
	return b.Add(p)
}

// Merge implements core.Tree. It adds to the backtrack sets what the subtree has added. Meanwhile
// others may have been added too, which makes no difference to what the subtree explored.
func (b *Bounded) Merge(p *core.Subtree) bool {
	part := p.Search.(*Bounded)
	for i := range p.Node + 1 {
		for _, g := range part.sets[i].set {
			b.addToSet(i, g)
		}
	}
	b.sets[p.Node].free = part.sets[p.Node].free // of what the branch begins with
	b.mergeDFS(p, &part.Search)
	b.trace, b.sets = part.trace, append(b.sets[:p.Node+1], part.sets[p.Node+1:]...)
	return true
}

// Save writes no trace: it is that of the first execution after a resume.
func (b *Bounded) Save(e *codec.Encoder) {
	for i := range b.saveAs(e, "bpor") {
		e.Number(uint64(len(b.sets[i].set)))
		for _, g := range b.sets[i].set {
			e.ID(uint64(g))
		}
	}
}

// Resume implements core.Saveable.
func (b *Bounded) Resume(d *codec.Decoder) {
	b.resumeAs(d, "bpor")
	for range b.stack {
		var s backtracks
		for range d.Length() {
			s.set = append(s.set, core.GoroutineID(d.ID()))
		}
		b.sets = append(b.sets, s)
	}
}

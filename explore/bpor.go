package explore

import "slices"

// bpor is DPOR for executions in which goroutines are preempted at most so many times (MaxPreemptions): bounded
// partial-order reduction (Coons, Musuvathi, McKinley: Bounded Partial-Order Reduction, OOPSLA 2013). It finds every
// outcome that DFS finds within the bound, in fewer executions. The bound is kept by the worker, which lists as enabled what is
// within it.
//
// Of two executions that differ only in the order of independent transitions one may be within the bound and the
// other beyond it. So one cannot stand for the other as in DPOR, and there are no sleep sets and no wakeup trees: a partial
// order may be executed more than once. What is left are backtrack sets, which are larger than those of dynamic
// partial-order reduction without a bound (Flanagan and Godefroid, POPL 2005) in three ways:
//
//   - A goroutine that is to run instead of an event is to run as well at the last place before that where the switch
//     costs nothing. What it does may be independent of all that comes in between.
//   - It is to run before every event that conflicts with its next operation, not only before the last
//     one. DPOR would find the others when it has reversed that, but this might be beyond the bound.
//   - That one operation only enables the other (Unlock and Lock) is no reason to leave it out: before the Unlock, it
//     costs nothing to switch from the goroutine that waits.
//
// It is DFS that picks only what is in the backtrack sets. Elements i of trace, prefix, stack and sets belong together.
type bpor struct {
	dfs
	trace *trace
	sets  []backtracks
}

// backtracks is what bpor knows of a state on the path.
type backtracks struct {
	set  []GoroutineID // the backtrack set
	free int           // freeBefore
}

func newBPOR(b bounds) *bpor { return &bpor{dfs: dfs{tally: tally{bounds: b}}, trace: newTrace()} }

func (b *bpor) Next() (Schedule, bool) {
	schedule, more := b.dfs.Next()
	if top := len(b.stack) - 1; more && top >= 0 {
		b.trace.truncate(top)
		b.sets = b.sets[:top+1]
	}
	return schedule, more
}

func (b *bpor) Report(e Execution) error {
	if err := b.follow(e); err != nil {
		return err
	}
	for i := range b.trace.events {
		if err := b.trace.checkReplay(int32(i), &e.Transitions[i]); err != nil {
			return err
		}
	}
	for i := len(b.trace.events); i < len(e.Transitions); i++ { // after a resume that is all of them
		if err := b.extend(i, &e.Transitions[i]); err != nil {
			return err
		}
	}
	return b.finish(e.Pending)
}

// extend takes transition i, which is new in the trace.
func (b *bpor) extend(i int, x *Transition) error {
	if i == len(b.stack) {
		if err := b.push(i, x); err != nil {
			return err
		}
		s := &b.stack[i] // of which, to begin with, only the other alternatives of x are to do
		s.todo = slices.DeleteFunc(s.todo, func(a Action) bool { return a.Goroutine != x.Goroutine })
		b.sets = append(b.sets, backtracks{set: []GoroutineID{x.Goroutine}})
	}
	b.sets[i].free = b.freeBefore(i)
	if !x.Barrier {
		if err := b.reverse(i, &Pending{Goroutine: x.Goroutine, Needs: x.Needs, Accesses: x.Accesses}); err != nil {
			return err
		}
	}
	if _, err := b.trace.push(x); err != nil {
		return err
	}
	for p := range x.Partners {
		if err := b.reverse(i, &x.Partners[p]); err != nil {
			return err
		}
	}
	return nil
}

// freeBefore returns the last state up to i where it costs no preemption to go on with another goroutine: where the one
// that is executed there began, or rested.
func (b *bpor) freeBefore(i int) int {
	if i == 0 || b.prefix[i-1].Goroutine != b.prefix[i].Goroutine ||
		slices.ContainsFunc(b.stack[i].enabled, func(a Alternative) bool { return a.Rests }) {
		return i
	}
	return b.sets[i-1].free
}

// finish takes what was pending at the end of an execution. What was enabled might have gone on
// but for the event that ended the program.
func (b *bpor) finish(pending []Pending) error {
	last := len(b.trace.events) - 1
	for i := range pending {
		p := &pending[i]
		if err := b.reverse(last+1, p); err != nil {
			return err
		}
		if p.Enabled && last >= 0 {
			b.backtrack(last, p.Goroutine)
		}
	}
	return nil
}

// reverse has a goroutine run before each event that its operation, which is pending before event i, conflicts with and
// that did not happen before it anyway.
func (b *bpor) reverse(i int, p *Pending) error {
	t := b.trace
	op, err := t.pendingOperation(p)
	if err != nil {
		return err
	}
	if err := t.joinPastBefore(int32(i), p.Goroutine, p.Needs); err != nil {
		return err
	}
	for _, u := range op.uses {
		for _, x := range slices.Backward(t.objects[u.object].uses) {
			used := t.uses[x.use].kinds
			if t.includes(t.now, x.event) {
				if used&(1<<Write) != 0 {
					break // all before it conflict with it, and so are past, too
				}
			} else if used.conflict(u.kinds) {
				b.backtrack(int(x.event), p.Goroutine)
			}
		}
	}
	return nil
}

// backtrack has a goroutine run instead of an event, and at the last place before it where the switch costs nothing.
func (b *bpor) backtrack(event int, g GoroutineID) {
	for _, state := range [...]int{event, b.sets[event].free} {
		if !b.choose(state, g) { // it is blocked there: any of the others may be what lets it go on
			for _, a := range b.stack[state].enabled {
				b.choose(state, a.Goroutine)
			}
		}
	}
}

// choose adds a goroutine, with all alternatives of its operation, to the backtrack set of a state, and reports whether
// it can run there.
func (b *bpor) choose(state int, g GoroutineID) bool {
	s, set := &b.stack[state], &b.sets[state].set
	i := slices.IndexFunc(s.enabled, func(a Alternative) bool { return a.Goroutine == g })
	if i < 0 || slices.Contains(*set, g) {
		return i >= 0
	}
	*set = append(*set, g)
	for choice := range s.enabled[i].Choices {
		s.todo = append(s.todo, Action{Goroutine: g, Choice: choice})
	}
	return true
}

func (b *bpor) divide(least float64) *Subtree {
	if len(b.trace.events)+1 < len(b.stack) {
		return nil // it was resumed, and has executed nothing yet
	}
	p, inner := b.dfs.part(least)
	if p == nil {
		return nil
	}
	part := &bpor{dfs: *inner, trace: b.trace.prefix(p.node, newTrace()), sets: slices.Clone(b.sets[:p.node+1])}
	for i := range part.sets {
		part.sets[i].set = slices.Clip(part.sets[i].set)
	}
	p.search = part
	return b.begin(p)
}

// join chooses what the part has chosen in addition. In between others may have been, which makes no difference to what it explores.
func (b *bpor) join(p *Subtree) bool {
	part := p.search.(*bpor)
	for i := range p.node + 1 {
		for _, g := range part.sets[i].set {
			b.choose(i, g)
		}
	}
	b.sets[p.node].free = part.sets[p.node].free // of what the branch begins with
	b.joinDFS(p, &part.dfs)
	b.trace, b.sets = part.trace, append(b.sets[:p.node+1], part.sets[p.node+1:]...)
	return true
}

// save writes no trace: it is that of the first execution after a resume.
func (b *bpor) save(e *encoder) {
	for i := range b.saveAs(e, "bpor") {
		e.number(uint64(len(b.sets[i].set)))
		for _, g := range b.sets[i].set {
			e.id(uint64(g))
		}
	}
}

func (b *bpor) resume(d *decoder) {
	b.resumeAs(d, "bpor")
	for range b.stack {
		var s backtracks
		for range d.length() {
			s.set = append(s.set, GoroutineID(d.id()))
		}
		b.sets = append(b.sets, s)
	}
}

package explore

import (
	"fmt"
	"slices"
)

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
// The elements i of trace, path and nodes belong together as in dpor.
type bpor struct {
	tally
	trace *trace
	path  []Action
	nodes []backtracking
	begun bool
	sizes subtrees
}

// backtracking is a state on the path with its backtrack set.
type backtracking struct {
	enabled []Alternative
	chosen  []GoroutineID // the backtrack set
	todo    []Action      // of them, what has not been picked yet
	ahead   int           // so many of these Ahead has listed
	free    int32         // freeBefore
}

func (b *bpor) Next() (Schedule, bool) {
	b.ask()
	if !b.begun {
		b.begun = true
		return Schedule{WantEnabled: true}, true
	}
	top := b.last()
	if top < 0 {
		return b.end()
	}
	b.trace.truncate(top)
	n := &b.nodes[top]
	b.nodes, b.path = b.nodes[:top+1], append(b.path[:top], n.todo[0])
	b.sizes.turn(top, b.counts.Executions)
	n.todo, n.ahead = n.todo[1:], max(n.ahead-1, 0)
	return Schedule{Prefix: b.path, WantEnabled: true}, true
}

func (b *bpor) Report(e Execution) error {
	if err := b.take(e); err != nil {
		return err
	}
	if err := checkActions(b.path, e.Transitions); err != nil {
		return err
	}
	for i := range b.nodes {
		if want, got := b.nodes[i].enabled, e.Transitions[i].Enabled; !slices.Equal(want, got) {
			return &DivergenceError{Step: i, Want: fmt.Sprintf("%v to be enabled", want), Got: fmt.Sprint(got)}
		}
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
	if i == len(b.nodes) {
		if err := b.push(x); err != nil {
			return err
		}
	}
	b.nodes[i].free = b.freeBefore(i)
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

// push puts the state before a transition on the stack.
func (b *bpor) push(x *Transition) error {
	i := len(b.nodes)
	b.nodes, b.path = append(b.nodes, backtracking{enabled: slices.Clone(x.Enabled)}), append(b.path[:i], x.Action)
	if !b.choose(i, x.Goroutine) {
		return logError(i, "%s was executed but is not among the enabled ones, %v", x.Action, x.Enabled)
	}
	b.nodes[i].todo = slices.DeleteFunc(b.nodes[i].todo, func(a Action) bool { return a == x.Action })
	return nil
}

// freeBefore returns the last node up to i where it costs no preemption to go on with another goroutine: where the one
// that is executed there began, or rested.
func (b *bpor) freeBefore(i int) int32 {
	if i == 0 || b.path[i-1].Goroutine != b.path[i].Goroutine ||
		slices.ContainsFunc(b.nodes[i].enabled, func(a Alternative) bool { return a.Rests }) {
		return int32(i)
	}
	return b.nodes[i-1].free
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
	for _, node := range [...]int{event, int(b.nodes[event].free)} {
		if !b.choose(node, g) { // it is blocked there: any of the others may be what lets it go on
			for _, a := range b.nodes[node].enabled {
				b.choose(node, a.Goroutine)
			}
		}
	}
}

// choose adds a goroutine, with all alternatives of its operation, to the backtrack set of a node, and reports whether
// it can run there.
func (b *bpor) choose(node int, g GoroutineID) bool {
	n := &b.nodes[node]
	i := slices.IndexFunc(n.enabled, func(a Alternative) bool { return a.Goroutine == g })
	if i < 0 || slices.Contains(n.chosen, g) {
		return i >= 0
	}
	n.chosen = append(n.chosen, g)
	for choice := range n.enabled[i].Choices {
		n.todo = append(n.todo, Action{g, choice})
	}
	return true
}

// last is the last node on the path where something is left to do, -1 if there is none.
func (b *bpor) last() int {
	top := len(b.nodes) - 1
	for top >= 0 && len(b.nodes[top].todo) == 0 {
		top--
	}
	return top
}

// ahead: whatever is in the backtrack sets will be run.
func (b *bpor) ahead(n, within int) (list []Schedule) {
	for i := len(b.nodes) - 1; i >= 0 && within > 0; i-- {
		node := &b.nodes[i]
		within -= len(node.todo)
		for ; node.ahead < len(node.todo); node.ahead++ {
			if len(list) == n {
				return list
			}
			prefix := append(slices.Clone(b.path[:i]), node.todo[node.ahead])
			list = append(list, Schedule{Prefix: prefix, WantEnabled: true})
		}
	}
	return list
}

// beyond: what an execution adds to backtrack sets takes the trace to tell.
func (b *bpor) beyond(*Schedule, *Execution) []Schedule { return nil }

func (b *bpor) Verdict() Verdict {
	v := b.verdict("")
	v.Estimate = b.sizes.estimate(len(b.nodes), b.counts.Executions, func(i int) int { return len(b.nodes[i].todo) })
	return v
}

// save writes the stack up to the last state where something is left to do. The trace is that of the first
// execution after a resume.
func (b *bpor) save(e *encoder) {
	b.tally.save(e, "bpor")
	b.sizes.save(e)
	last := b.last()
	if b.waiting { // what is being executed is left, too
		last = len(b.nodes) - 1
	}
	e.count(last + 1)
	for i := range last + 1 {
		n := &b.nodes[i]
		e.action(b.path[i])
		e.alternatives(n.enabled)
		e.number(uint64(len(n.chosen)))
		for _, g := range n.chosen {
			e.id(uint64(g))
		}
		todo := n.todo
		if b.waiting && i == last {
			todo = append([]Action{b.path[i]}, todo...)
		}
		e.actions(todo)
	}
}

func (b *bpor) resume(d *decoder) {
	b.tally.resume(d, "bpor")
	b.sizes.resume(d)
	for range d.length() {
		b.path = append(b.path, d.action())
		n := backtracking{enabled: d.alternatives()}
		for range d.length() {
			n.chosen = append(n.chosen, GoroutineID(d.id()))
		}
		n.todo = d.actions()
		b.nodes = append(b.nodes, n)
	}
	b.begun = b.begun || b.counts.Executions > 0
}

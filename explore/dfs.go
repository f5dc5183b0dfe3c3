package explore

import (
	"fmt"
	"slices"
)

// dfs runs every execution, depth first and without any reduction.
type dfs struct {
	tally
	prefix []Action // the path to the top of the stack
	stack  []branching
	begun  bool
	sizes  subtrees
	division
}

func newDFS(b bounds) *dfs { return &dfs{tally: tally{bounds: b}} }

// branching is a state on the path with what can be picked there.
type branching struct {
	enabled []Alternative
	todo    []Action // not picked yet
}

func (d *dfs) Next() (Schedule, bool) {
	d.ask()
	if !d.begun {
		d.begun = true
		return Schedule{Prefix: d.prefix, WantEnabled: true, Limits: d.bounds.limits}, true
	}
	top := d.last()
	if top < 0 {
		return d.end()
	}
	b := &d.stack[top]
	d.prefix[top] = b.todo[0]
	d.stack, d.prefix = d.stack[:top+1], d.prefix[:top+1]
	d.sizes.turn(top, d.counts.Executions)
	b.todo = b.todo[1:]
	d.arrive(top, func(p *Subtree) bool { return p.begins == d.prefix[top] })
	return Schedule{Prefix: d.prefix, WantEnabled: true, Limits: d.bounds.limits}, true
}

// last is the last state on the path where something is left to do, -1 if there is none.
func (d *dfs) last() int {
	for top := len(d.stack) - 1; top >= d.floor; top-- {
		if len(d.stack[top].todo) > 0 {
			return top
		}
	}
	return -1
}

func (d *dfs) Report(e Execution) error {
	if err := d.follow(e); err != nil {
		return err
	}
	for i := len(d.stack); i < len(e.Transitions); i++ {
		if err := d.push(i, &e.Transitions[i]); err != nil {
			return err
		}
	}
	return nil
}

// follow counts an execution, and compares it with the path that it was to take.
func (d *dfs) follow(e Execution) error {
	if err := d.take(e); err != nil {
		return err
	}
	d.leave()
	if err := checkActions(d.prefix, e.Transitions); err != nil {
		return err
	}
	for i := range d.stack {
		if want, got := d.stack[i].enabled, e.Transitions[i].Enabled; !slices.Equal(want, got) {
			return &DivergenceError{Step: i, Want: fmt.Sprintf("%v to be enabled", want), Got: fmt.Sprint(got)}
		}
	}
	return nil
}

func (d *dfs) divide(least float64) *Subtree {
	p, part := d.part(least)
	if p == nil {
		return nil
	}
	p.search = part
	return d.begin(p)
}

// part makes a part; nil if there is nothing to take.
func (d *dfs) part(least float64) (*Subtree, *dfs) {
	untaken := func(i int) int {
		return slices.IndexFunc(d.stack[i].todo, func(a Action) bool { return !d.has(i, func(p *Subtree) bool { return p.begins == a }) })
	}
	node := d.sizes.divide(len(d.stack), d.counts.Executions, least, func(i int) bool { return untaken(i) >= 0 })
	if node < 0 {
		return nil, nil
	}
	p := &Subtree{node: node, begins: d.stack[node].todo[untaken(node)]}
	part := &dfs{tally: tally{bounds: d.bounds}, stack: slices.Clone(d.stack[:node+1]), prefix: append(slices.Clone(d.prefix[:node]), p.begins)}
	for i := range part.stack {
		part.stack[i].todo = nil
	}
	part.floor = node + 1
	return p, part
}

// join: what is to do up to where the part turns off is the search's own.
func (d *dfs) join(p *Subtree) bool {
	d.joinDFS(p, p.search.(*dfs))
	return true
}

func (d *dfs) joinDFS(p *Subtree, part *dfs) {
	d.sizes.join(&part.sizes, p.node, d.counts.Executions)
	d.tally.join(p)
	d.stack, d.prefix, d.due = append(d.stack[:p.node+1], part.stack[p.node+1:]...), part.prefix, nil
}

// push puts the state before transition t on the stack.
func (d *dfs) push(step int, t *Transition) error {
	b := branching{enabled: slices.Clone(t.Enabled)}
	found := false
	for _, alternative := range t.Enabled {
		for choice := range alternative.Choices {
			a := Action{Goroutine: alternative.Goroutine, Choice: choice}
			if a == t.Action {
				found = true
			} else {
				b.todo = append(b.todo, a)
			}
		}
	}
	if !found {
		return logError(step, "%s was executed but is not among the enabled ones, %v", t.Action, t.Enabled)
	}
	d.prefix, d.stack = append(d.prefix, t.Action), append(d.stack, b)
	return nil
}

func (d *dfs) Verdict() Verdict {
	v := d.verdict("")
	v.Estimate = d.sizes.estimate(len(d.stack), d.counts.Executions, func(i int) int { return len(d.stack[i].todo) })
	return v
}

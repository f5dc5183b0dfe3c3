package explore

import (
	"fmt"
	"slices"
)

// DFS returns the search that runs every execution, depth first and without any
// reduction. It is meant for small programs, and as the twin of DPOR.
func DFS() Search {
	return &dfs{}
}

type dfs struct {
	tally
	prefix []Action // the path to the top of the stack
	stack  []branching
	begun  bool
	inside bool // the path goes on in a part of which there is more
	sizes  subtrees
}

// branching is a state on the path with what can be picked there.
type branching struct {
	enabled []Alternative
	todo    []Action // not picked yet
	parts   []*Part  // the first ones of todo that were handed out
}

func (d *dfs) Next() (Schedule, bool) {
	d.ask()
	if !d.begun {
		d.begun = true
		return Schedule{WantEnabled: true}, true
	}
	top := d.last()
	if top < 0 {
		return d.end()
	}
	b := &d.stack[top]
	d.prefix[top] = b.todo[0]
	d.stack, d.prefix = d.stack[:top+1], d.prefix[:top+1]
	if !d.inside {
		d.sizes.turn(top, d.counts.Executions)
	}
	if d.inside = len(b.parts) > 0; d.inside {
		return d.follow(b.parts[0])
	}
	b.todo = b.todo[1:]
	return Schedule{Prefix: d.prefix, WantEnabled: true}, true
}

// last is the last state on the path where something is left to do, -1 if there is none.
func (d *dfs) last() int {
	top := len(d.stack) - 1
	for top >= 0 && len(d.stack[top].todo) == 0 {
		top--
	}
	return top
}

func (d *dfs) Report(e Execution) error {
	if err := d.take(e); err != nil {
		return err
	}
	if d.part != nil {
		d.taken(e)
		return nil
	}
	if err := checkActions(d.prefix, e.Transitions); err != nil {
		return err
	}
	for i := range d.stack {
		if want, got := d.stack[i].enabled, e.Transitions[i].Enabled; !slices.Equal(want, got) {
			return &DivergenceError{Step: i, Want: fmt.Sprintf("%v to be enabled", want), Got: fmt.Sprint(got)}
		}
	}
	for i := len(d.stack); i < len(e.Transitions); i++ {
		if err := d.push(i, &e.Transitions[i]); err != nil {
			return err
		}
	}
	return nil
}

// divide hands out what begins with the first action that is left to do as near to
// the root as possible, and is not what comes next.
func (d *dfs) divide() (*Part, bool) {
	next := d.last()
	for i := range d.stack {
		b := &d.stack[i]
		if len(b.todo) == len(b.parts) || i == next && len(b.parts) == 0 {
			continue
		}
		part := &dfs{begun: true, prefix: slices.Clone(d.prefix[:i+1]), stack: slices.Clone(d.stack[:i+1])}
		for j := range part.stack {
			part.stack[j].todo, part.stack[j].parts = nil, nil
		}
		part.stack[i].todo = []Action{b.todo[len(b.parts)]}
		p := &Part{Search: part}
		b.parts = append(b.parts, p)
		return p, true
	}
	return nil, false
}

// taken goes on behind a part that has ended.
func (d *dfs) taken(e Execution) {
	if b := &d.stack[len(d.stack)-1]; e.Last {
		b.todo, b.parts, d.inside = b.todo[1:], b.parts[1:], false
	}
}

// push puts the state before transition t on the stack.
func (d *dfs) push(step int, t *Transition) error {
	b := branching{enabled: slices.Clone(t.Enabled)}
	found := false
	for _, alternative := range t.Enabled {
		for choice := range alternative.Choices {
			a := Action{alternative.Goroutine, choice}
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
	v.Estimate = d.sizes.estimate(len(d.stack), d.counts.Executions, func(i int) int {
		if d.inside && i == len(d.stack)-1 {
			return len(d.stack[i].todo) - 1 // the part is still the first
		}
		return len(d.stack[i].todo)
	})
	return v
}

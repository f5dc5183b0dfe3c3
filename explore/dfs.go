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
}

// branching is a state on the path with what can be picked there.
type branching struct {
	enabled []Alternative
	todo    []Action // not picked yet
}

func (d *dfs) Next() (Schedule, bool) {
	d.ask()
	if !d.begun {
		d.begun = true
		return Schedule{WantEnabled: true}, true
	}
	for top := len(d.stack) - 1; top >= 0; top-- {
		if b := &d.stack[top]; len(b.todo) > 0 {
			d.prefix[top] = b.todo[0]
			b.todo = b.todo[1:]
			d.stack, d.prefix = d.stack[:top+1], d.prefix[:top+1]
			return Schedule{Prefix: d.prefix, WantEnabled: true}, true
		}
	}
	return d.end()
}

func (d *dfs) Report(e Execution) error {
	if err := d.take(e); err != nil {
		return err
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
	return d.verdict("")
}

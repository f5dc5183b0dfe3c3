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
	sizes  subtrees
}

// branching is a state on the path with what can be picked there.
type branching struct {
	enabled []Alternative
	todo    []Action // not picked yet
	ahead   int      // so many of them Ahead has listed
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
	d.sizes.turn(top, d.counts.Executions)
	b.todo, b.ahead = b.todo[1:], max(b.ahead-1, 0)
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

// ahead: whatever is left to do on the path will be done.
func (d *dfs) ahead(n, within int) (list []Schedule) {
	for i := len(d.stack) - 1; i >= 0 && within > 0; i-- {
		b := &d.stack[i]
		within -= len(b.todo)
		for ; b.ahead < len(b.todo); b.ahead++ {
			if len(list) == n {
				return list
			}
			prefix := append(slices.Clone(d.prefix[:i]), b.todo[b.ahead])
			list = append(list, Schedule{Prefix: prefix, WantEnabled: true})
		}
	}
	return list
}

// beyond: what could have been picked after the prefix will be, the last place first.
func (d *dfs) beyond(schedule *Schedule, e *Execution) (list []Schedule) {
	for i := len(e.Transitions) - 1; i >= len(schedule.Prefix); i-- {
		t := &e.Transitions[i]
		for _, alternative := range t.Enabled {
			for choice := range alternative.Choices {
				if a := (Action{alternative.Goroutine, choice}); a != t.Action {
					list = append(list, Schedule{Prefix: append(actionsOf(e.Transitions[:i]), a), WantEnabled: true})
				}
			}
		}
	}
	return list
}

func actionsOf(transitions []Transition) []Action {
	list := make([]Action, len(transitions), len(transitions)+1)
	for i := range transitions {
		list[i] = transitions[i].Action
	}
	return list
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
	v.Estimate = d.sizes.estimate(len(d.stack), d.counts.Executions, func(i int) int { return len(d.stack[i].todo) })
	return v
}

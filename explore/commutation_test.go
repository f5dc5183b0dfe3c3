package explore

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// commutation counts pairs of actions that were executed in both orders.
type commutation struct{ independent, dependent, needlessly int }

// TestConflictsOfRandomPrograms executes, in states that random programs get to, any two
// actions of different goroutines in both orders. If their accesses do not conflict, the order
// must make no difference: to the state, to what each accesses, and to what is enabled.
// How often it makes none though they conflict is the precision of the relation.
func TestConflictsOfRandomPrograms(t *testing.T) {
	for _, f := range []struct {
		name string
		profile
	}{
		{"variables", profile{blocks: variables}},
		{"mutexes", profile{blocks: join(mutexes, rwmutexes, variables)}},
		{"wait groups", profile{blocks: join(waitGroups, variables[:2])}},
		{"channels", profile{blocks: join(channels, closings, variables[:2])}},
		{"choices and times", profile{blocks: join(choices, times, variables, branches)}},
		{"sealed", profile{blocks: join(variables, mutexes, waitGroups, channels, choices), seal: true}},
	} {
		t.Run(f.name, func(t *testing.T) {
			var c commutation
			programs := rapid.Custom(f.generate)
			for number := range 150 {
				c.along(t, programs.Example(number), uint64(number+1))
			}
			if c.independent == 0 || c.dependent == 0 {
				t.Errorf("%+v: nothing was compared", c)
			}
			t.Logf("%d pairs independent, %d dependent, %d of these (%d %%) commute",
				c.independent, c.dependent, c.needlessly, 100*c.needlessly/max(1, c.dependent))
		})
	}
}

// along compares all pairs in the states of a random execution of a program.
func (c *commutation) along(t *testing.T, p *program, seed uint64) {
	var prefix []Action
	for _, x := range run(p, Schedule{Seed: seed}, 0).log.Transitions {
		prefix = append(prefix, x.Action)
		w := attempt(p, prefix)
		if w.ended {
			return
		}
		enabled := w.enabled()
		for i, a := range enabled {
			for _, b := range enabled[:i] {
				for choice := range a.Choices * b.Choices {
					first := Action{Goroutine: a.Goroutine, Choice: choice % a.Choices}
					second := Action{Goroutine: b.Goroutine, Choice: choice / a.Choices}
					if problem := c.exchange(p, prefix, first, second); problem != "" {
						t.Fatalf("after %v: %v and %v do not conflict, but %s\n%v", prefix, first, second, problem, p)
					}
				}
			}
		}
	}
}

// exchange compares one pair. Actions that end the program, and orders in which
// a counter gets below zero, are left out.
func (c *commutation) exchange(p *program, prefix []Action, a, b Action) (problem string) {
	onlyA, onlyB := attempt(p, prefix, a), attempt(p, prefix, b)
	ab, ba := attempt(p, prefix, a, b), attempt(p, prefix, b, a)
	if onlyA.ended || onlyB.ended || ab != nil && ab.ended || ba != nil && ba.ended {
		return ""
	}
	difference := ""
	switch {
	case ab == nil || ba == nil:
		difference = "one disables the other"
	case ab.state() != ba.state():
		difference = fmt.Sprintf("the states differ:\n%s\n%s", ab.state(), ba.state())
	case !sameEnabled(ab, ba):
		difference = "other goroutines are enabled"
	case !sameAccesses(onlyA, ba) || !sameAccesses(onlyB, ab):
		difference = "what is accessed differs"
	}
	if !dependent(last(onlyA), last(onlyB)) && !dependent(last(onlyB), last(onlyA)) {
		c.independent++
		return difference
	}
	c.dependent++
	if difference == "" {
		c.needlessly++
	}
	return ""
}

// sameEnabled compares what can be picked, whoever ran last.
func sameEnabled(a, b *worker) bool {
	return slices.EqualFunc(a.enabled(), b.enabled(), func(x, y Alternative) bool {
		return x.Goroutine == y.Goroutine && x.Choices == y.Choices
	})
}

func last(w *worker) Transition { return w.log.Transitions[len(w.log.Transitions)-1] }

// sameAccesses compares the last transitions of two executions.
func sameAccesses(x, y *worker) bool {
	return slices.EqualFunc(last(x).Accesses, last(y).Accesses, func(a, b Access) bool {
		return a.Object == b.Object && a.Kind == b.Kind && a.Delta == b.Delta
	})
}

// attempt executes actions after others, and nothing more; nil if that is impossible.
func attempt(p *program, prefix []Action, more ...Action) (w *worker) {
	schedule := append(slices.Clone(prefix), more...)
	defer func() {
		if recover() != nil {
			w = nil
		}
	}()
	return run(p, Schedule{Prefix: schedule}, len(schedule))
}

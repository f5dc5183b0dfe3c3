package explore

import (
	"fmt"
	"slices"
	"testing"

	"github.com/tandem-mc/tandem/explore/internal/testkit"
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
		testkit.Profile
	}{
		{"variables", testkit.Profile{Blocks: testkit.Variables}},
		{"mutexes", testkit.Profile{Blocks: testkit.Join(testkit.Mutexes, testkit.Rwmutexes,
			testkit.Variables)}},
		{"wait groups", testkit.Profile{Blocks: testkit.Join(testkit.WaitGroups, testkit.Variables[:2])}},
		{"channels", testkit.Profile{Blocks: testkit.Join(testkit.Channels, testkit.Closings,
			testkit.Variables[:2])}},
		{"choices and " +
			"times", testkit.Profile{Blocks: testkit.Join(testkit.Choices, testkit.Times,
			testkit.Variables, testkit.Branches)}},
		{"sealed", testkit.Profile{Blocks: testkit.Join(testkit.Variables, testkit.Mutexes,
			testkit.WaitGroups, testkit.Channels, testkit.Choices), Seal: true}},
	} {
		t.Run(f.name, func(t *testing.T) {
			var c commutation
			programs := rapid.Custom(f.Generate)
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
func (c *commutation) along(t *testing.T, p *testkit.Program, seed uint64) {
	var prefix []Action
	for _, x := range testkit.Run(p, Schedule{Seed: seed}, 0).Log.Transitions {
		prefix = append(prefix, x.Action)
		w := attempt(p, prefix)
		if w.Ended {
			return
		}
		enabled := w.Enabled()
		for i, a := range enabled {
			for _, b := range enabled[:i] {
				for choice := range a.Choices * b.Choices {
					first, second := Action{Goroutine: a.Goroutine, Choice: choice % a.Choices},
						Action{Goroutine: b.Goroutine, Choice: choice / a.Choices}
					if problem := c.exchange(p, prefix, first, second); problem != "" {
						t.Fatalf("after %v: %v and %v do not conflict, but %s\n"+
							"%v", prefix, first, second, problem, p)
					}
				}
			}
		}
	}
}

// exchange compares one pair. Actions that end the program, and orders in which
// a counter gets below zero, are left out.
func (c *commutation) exchange(p *testkit.Program, prefix []Action, a, b Action) (problem string) {
	onlyA, onlyB := attempt(p, prefix, a), attempt(p, prefix, b)
	ab, ba := attempt(p, prefix, a, b), attempt(p, prefix, b, a)
	if onlyA.Ended || onlyB.Ended || ab != nil && ab.Ended || ba != nil && ba.Ended {
		return ""
	}
	difference := ""
	switch {
	case ab == nil || ba == nil:
		difference = "one disables the other"
	case ab.State() != ba.State():
		difference = fmt.Sprintf("the states differ:\n%s\n%s", ab.State(), ba.State())
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
func sameEnabled(a, b *testkit.Worker) bool {
	return slices.EqualFunc(a.Enabled(), b.Enabled(), func(x, y Alternative) bool {
		return x.Goroutine == y.Goroutine && x.Choices == y.Choices
	})
}

func last(w *testkit.Worker) Transition { return w.Log.Transitions[len(w.Log.Transitions)-1] }

// sameAccesses compares the last transitions of two executions.
func sameAccesses(x, y *testkit.Worker) bool {
	return slices.EqualFunc(last(x).Accesses, last(y).Accesses, func(a, b Access) bool {
		return a.Object == b.Object && a.Kind == b.Kind && a.Delta == b.Delta
	})
}

// attempt executes actions after others, and nothing more; nil if that is impossible.
func attempt(p *testkit.Program, prefix []Action, more ...Action) (w *testkit.Worker) {
	schedule := append(slices.Clone(prefix), more...)
	defer func() {
		if recover() != nil {
			w = nil
		}
	}()
	return testkit.Run(p, Schedule{Prefix: schedule}, len(schedule))
}

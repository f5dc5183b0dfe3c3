package dpor

import (
	"testing"

	"github.com/tandem-mc/tandem/explore/internal/core"
)

// counterLog is a log of goroutines that add to one counter, one after the other;
// goroutine 9 waits for it in vain.
func counterLog(steps ...int32) core.Execution {
	var e core.Execution
	counter := int32(0)
	for i := 0; i < len(steps); i += 2 {
		a := core.Access{Object: 1, Kind: core.Commute, Delta: steps[i+1]}
		if counter == 0 {
			a.Ready = core.ReadyExclusive
		}
		counter += a.Delta
		e.Transitions = append(e.Transitions, core.Transition{
			Action: core.Action{Goroutine: core.GoroutineID(steps[i])}, Choices: 1,
			Accesses: []core.Access{a},
		})
	}
	e.Outcome = core.Deadlock
	e.Pending = []core.Pending{{Goroutine: 9, Needs: []core.Need{{Object: 1, Mask: core.ReadyExclusive}},
		Accesses: []core.Access{{Object: 1, Kind: core.Read}}}}
	return e
}

// TestReversalThroughCounter checks where the waiting goroutine may be scheduled:
// never in a state in which the counter is not zero.
func TestReversalThroughCounter(t *testing.T) {
	const s, a, b, wait = 1, 2, 3, 9
	for _, test := range []struct {
		name  string
		steps []int32
		want  []map[core.GoroutineID]bool // to do at each step
	}{
		{"one Add", []int32{s, +1}, []map[core.GoroutineID]bool{{wait: true}}},
		{"two Adds", []int32{s, +1, a, +1}, []map[core.GoroutineID]bool{{wait: true}, {}}},
		{"the Done of one between the Adds of others", []int32{s, +1, a, +1, b, +1, s, -1},
			[]map[core.GoroutineID]bool{{wait: true}, {s: true}, {}, {}}},
		{"the last Add after all is done", []int32{s, +1, s, -1, a, +1},
			[]map[core.GoroutineID]bool{{}, {}, {wait: true}}},
		{"only Dones after it", []int32{s, +2, s, -1}, []map[core.GoroutineID]bool{{wait: true}, {}}},
	} {
		d := New()
		d.Next()
		if err := d.Report(counterLog(test.steps...)); err != nil {
			t.Fatal(err)
		}
		for i, want := range test.want {
			got := map[core.GoroutineID]bool{}
			for _, s := range d.nodes[i].todo.Branches {
				got[s.First().Goroutine] = true
			}
			if len(got) != len(want) {
				t.Errorf("%s: to do at step %d: %v, want %v", test.name, i, got, want)
			}
			for g := range want {
				if !got[g] {
					t.Errorf("%s: goroutine %d is not to do at step %d: %v", test.name, g, i, got)
				}
			}
		}
	}
}

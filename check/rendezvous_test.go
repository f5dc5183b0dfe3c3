package check

import (
	"path/filepath"
	"testing"

	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/sut"
)

// TestRendezvous: handing a value over on a channel is one transition, so that only those orders
// count that make a difference.
func TestRendezvous(t *testing.T) {
	p, err := buildProgram("testdata/rendezvous", filepath.Join(tree, "rendezvous"))
	if err != nil {
		t.Fatal(err)
	}
	for scenario, want := range map[string]struct{ executions, outcomes int }{
		"ping-pong": {1, 1}, "two senders": {2, 2}, "three senders": {6, 6}, "pipeline": {1, 1},
		"done":    {1, 1},
		"default": {3, 2}, "time-out": {1, 1},
		// A send and a receive on a channel with a buffer depend on each other.
		"buffer": {4, 2}, "either way": {8, 2},
	} {
		t.Run(scenario, func(t *testing.T) {
			orders := map[uint64]int{}
			reduced := observer{dporSearch(), func(x explore.Execution) { orders[explore.Fingerprint(x)]++ }}
			seen, executions := outcomesWith(t, p, sut.Options{Args: []string{scenario}}, reduced)
			if executions != want.executions || len(orders) != want.executions || len(seen) != want.outcomes {
				t.Errorf("%d executions, %d partial orders, outcomes %v; want %+v", executions, len(orders),
					seen, want)
			}
			if scenario == "done" || scenario == "pipeline" {
				return // too many schedules to enumerate
			}
			all := observer{dfsSearch(), func(x explore.Execution) {
				if orders[explore.Fingerprint(x)] == 0 {
					t.Error("a partial order was missed")
				}
			}}
			if every, _ := outcomesWith(t, p, sut.Options{Args: []string{scenario}}, all); len(every) != len(
				seen) {
				t.Errorf("the enumeration of all schedules has the outcomes %v, the reduced search %v", every,
					seen)
			}
		})
	}
}

package twophase

import (
	"testing"

	"github.com/tandem-mc/tandem/protocol"
)

// TestModel: there are as many states as in the example of stateright (examples/2pc.rs), with any
// search.
func TestModel(t *testing.T) {
	for resources, states := range map[int]int{3: 288, 5: 8832} {
		for _, o := range []protocol.Options{{Workers: 1}, {Workers: 4}, {Search: protocol.DepthFirst}} {
			if r := protocol.Test(t, Model(resources), o); r.States != states {
				t.Errorf("%d resource managers: %d states, want %d", resources, r.States, states)
			}
		}
	}
}

// hasty commits when the first resource manager is prepared.
type hasty struct{ Transaction }

func (h *hasty) Actions() []any { return []any{Decide{h.Prepared[1]}} }

// TestHasty: the violation has a shortest run: A prepares and is heard, the transaction is
// committed, A is told, and B gives up.
func TestHasty(t *testing.T) {
	m := Model(2)
	m.Nodes[0] = &hasty{*m.Nodes[0].(*Transaction)}
	r, err := protocol.Check(m, protocol.Options{})
	if err != nil || r.Verdict != protocol.Violated || r.Violation.Steps != 5 {
		t.Errorf("%v, error %v; want a violation after 5 steps", r, err)
	}
}

package paxos

import (
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/protocol"
)

// TestOneProposal: three nodes, of which one proposes once. A run has 22 steps, as in the paper
// (LMC, section 5.1): 3 calls of Init, 1 of Propose, 3 Prepare, 3 responses, 3 Accept, 9 Learn. The
// paper's search takes 157,332 transitions.
func TestOneProposal(t *testing.T) {
	for _, o := range []protocol.Options{{Workers: 1}, {Workers: 3}, {DepthFirst: true}} {
		r := protocol.Test(t, Model(3, 1), o)
		if r.States != 28_276 || r.Transitions != 176_328 || r.Handlers != 279 || r.Depth != 22 {
			t.Errorf("%v; want 28276 states, 176328 transitions, 279 handlers, depth 22", r)
		}
	}
}

// TestOrdered: the order of messages between two nodes makes the space smaller.
func TestOrdered(t *testing.T) {
	m := Model(3, 1)
	m.Network = protocol.Ordered
	if r := protocol.Test(t, m, protocol.Options{}); r.States >= 28_276 {
		t.Errorf("%v", r)
	}
}

// careless is the model with the bug: the second proposer sees a value that may be chosen, and then
// a promise without one.
func careless() *protocol.Model {
	m := Model(3, 2)
	for _, n := range m.Nodes {
		n.(*Node).Started, n.(*Node).Careless = true, true
	}
	m.Network = protocol.Ordered // which makes the space smaller, and leaves the bug
	return m
}

// TestCareless: the bug is found, and the run can be repeated.
func TestCareless(t *testing.T) {
	r, err := protocol.Check(careless(), protocol.Options{Workers: 1})
	if err != nil || r.Violation == nil {
		t.Fatalf("%v, error %v; want a violation", r, err)
	}
	if r.Violation.What != "at most one value is chosen" || r.Violation.Steps != 19 {
		t.Errorf("%v; want two values after 19 steps\n%s", r, r.Violation.Chart)
	}
	if !strings.Contains(r.Violation.Chart, "Chosen: 0 -> 2") {
		t.Errorf("the chart has not what has changed:\n%s", r.Violation.Chart)
	}
	t.Log(r)
}

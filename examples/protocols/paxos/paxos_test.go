package paxos

import (
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/protocol"
)

// TestOneProposal: three nodes, of which one proposes once. The longest run has 22 steps, as in the
// paper (LMC, section 5.1): 3 starts, 1 call of Propose, 3 Prepare, 3 responses, 3 Accept, 9 Learn.
// That run has shorter ones to its end, in which a late Prepare has no response.
func TestOneProposal(t *testing.T) {
	for _, o := range []protocol.Options{{Workers: 1}, {Workers: 3}, {Search: protocol.DepthFirst}} {
		r := protocol.Test(t, Model(3, 1), o)
		if r.States != 5200 || r.Transitions != 26_749 || r.Handlers != 166 {
			t.Errorf("%v; want 5200 states, 26749 transitions, 166 handlers", r)
		}
	}
}

// TestLocal: the local search runs 906 handlers, where the paper's runs 1,186. No combination of
// chosen values violates agreement, so there is no global state to look at. There is a search for
// the state in which all have learned the value.
func TestLocal(t *testing.T) {
	m := Model(3, 1)
	r := protocol.Test(t, m, protocol.Options{Search: protocol.Local})
	if r.Handlers != 906 || r.Combinations != 16 || r.Searches != 1 {
		t.Errorf("%+v; want 906 handlers, 16 combinations and one search", r)
	}
	m.Properties = m.Properties[:1]
	if r := protocol.Test(t, m, protocol.Options{Search: protocol.Local}); r.States != 0 ||
		r.Combinations != 8 {
		t.Errorf("%+v; want no states, and 8 combinations", r)
	}
}

// TestOrdered: the order of messages between two nodes makes the space smaller.
func TestOrdered(t *testing.T) {
	m := Model(3, 1)
	m.Network = protocol.Ordered
	if r := protocol.Test(t, m, protocol.Options{}); r.States != 2072 || r.Depth != 22 {
		t.Errorf("%v; want 2072 states, and depth 22", r)
	}
}

// careless is the model with the bug: the second proposer sees a value that may be chosen, and then
// a promise without one.
func careless() *protocol.Model {
	m := Model(3, 2)
	for _, n := range m.Nodes {
		n.(*Node).Careless = true
	}
	m.LateStart = false
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

// TestReduced: reduction leaves out a part of the states, and changes no verdict.
func TestReduced(t *testing.T) {
	r := protocol.Test(t, Model(3, 1), protocol.Options{Reduce: true, Workers: 1})
	if r.States != 3355 {
		t.Errorf("%v; want 3355 states, of 5200", r)
	}
}

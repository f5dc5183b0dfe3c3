package onepaxos

import (
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/protocol"
)

// TestModel: one value is learned, even if nodes take over and replace the acceptor.
func TestModel(t *testing.T) {
	for _, c := range []struct {
		Config
		states, depth int
		transitions   int64
	}{
		{Config{3, 1, 0, false}, 151, 16, 330},
		{Config{3, 2, 0, false}, 3032, 23, 8864},
		{Config{3, 1, 1, false}, 16_142, 32, 73_841},
	} {
		r := protocol.Test(t, Model(c.Config), protocol.Options{})
		if r.States != c.states || r.Transitions != c.transitions || r.Depth != c.depth {
			t.Errorf("%+v: %v; want %d states, %d transitions, depth %d", c.Config, r, c.states,
				c.transitions, c.depth)
		}
	}
}

// TestWrongIncrement: the first leader asks itself to accept, while the utility has the second node
// as the acceptor. The third node takes over, and asks that one, which knows of no value.
func TestWrongIncrement(t *testing.T) {
	r, err := protocol.Check(Model(Config{Nodes: 3, Rivals: 1, WrongIncrement: true}), protocol.Options{})
	if err != nil || r.Violation == nil {
		t.Fatalf("%v, error %v; want a violation", r, err)
	}
	if r.Violation.What != "at most one value is learned" || r.Violation.Steps != 12 {
		t.Errorf("%v; want two values after 12 steps\n%s", r, r.Violation.Chart)
	}
	if !strings.Contains(r.Violation.Chart, "Entry.Acceptor: 0 -> 1") {
		t.Errorf("the chart does not show that the acceptor is another one:\n%s", r.Violation.Chart)
	}
}

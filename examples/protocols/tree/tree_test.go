package tree

import (
	"testing"

	"github.com/tandem-mc/tandem/protocol"
)

// TestModel: a run has one step for each node. There are 10 local states, two for each node, and a
// handler runs once for each node, whatever the tree is like. In the local search messages stay in
// the network, so each of the four that are sent also comes to a node that has it already.
func TestModel(t *testing.T) {
	for _, c := range []struct {
		parents []int
		states  int
	}{
		{[]int{0, 0, 0, 1, 1}, 11},
		{[]int{0, 0, 0, 1, 2}, 10},
		{[]int{0, 0, 1, 2, 3}, 6}, // a chain: one state more than there are nodes
	} {
		r := protocol.Test(t, Model(c.parents, -1), protocol.Options{})
		if r.States != c.states || r.Depth != 5 || r.Handlers != 5 || r.Locals != 10 {
			t.Errorf("%v: %+v; want %d states, depth 5, 5 handlers, 10 local states", c.parents, r, c.states)
		}
		r = protocol.Test(t, Model(c.parents, -1), protocol.Options{Search: protocol.Local})
		if want := 5 + 4; r.Handlers != want {
			t.Errorf("%v: the local search: %+v; want %d handlers", c.parents, r, want)
		}
	}
}

// TestHasty: a leaf that has received too early is found at the start, by each search.
func TestHasty(t *testing.T) {
	for _, search := range []protocol.Search{protocol.BreadthFirst, protocol.DepthFirst, protocol.Local} {
		r, err := protocol.Check(Model([]int{0, 0, 0, 1, 1}, 4), protocol.Options{Search: search})
		if err != nil || r.Violation == nil || r.Violation.Steps != 0 {
			t.Errorf("%v: %v, error %v; want a violation at the start", search, r, err)
		}
	}
}

package philosophers

import (
	"testing"

	"github.com/tandem-mc/tandem/protocol"
)

// TestDeadlock: all searches find the deadlock, and the shortest run has each philosopher take a
// fork, and each stretch ask and be asked.
func TestDeadlock(t *testing.T) {
	for _, search := range []protocol.Search{protocol.BreadthFirst, protocol.DepthFirst,
		protocol.BestFirst, protocol.AStar, protocol.IDAStar} {
		r, err := protocol.Check(Model(3, 2), protocol.Options{Search: search, Estimate: StillGoing()})
		if err != nil || r.Violation == nil {
			t.Fatalf("%v: %v, error %v", search, r, err)
		}
		const want = 6 + 2*3
		if got := r.Violation.Steps; got < want || got > want && search != protocol.DepthFirst {
			t.Errorf("%v: %d steps, want %d", search, got, want)
		}
	}
}

// TestForks: no fork is with two at a time, in any run of a small table.
func TestForks(t *testing.T) {
	m := Model(2, 2)
	m.Properties = []protocol.Property{protocol.Always("each fork is with one",
		protocol.Whole, func(nodes []protocol.Node) bool {
			for i, n := range nodes {
				s, next := n.(*Stretch), nodes[(i+1)%len(nodes)].(*Stretch)
				if s.Seats[0] == Eats && s.Seats[1] != Thinks || s.Seats[1] == Eats &&
					(next.Seats[0] != Thinks || !next.Lent) {
					return false
				}
			}
			return true
		}), protocol.Sometimes("two eat", protocol.Whole, func(nodes []protocol.Node) bool {
		return nodes[0].(*Stretch).Seats[1] == Eats && nodes[1].(*Stretch).Seats[1] == Eats
	})}
	protocol.Test(t, m, protocol.Options{})
}

// TestMany: with an estimate, many philosophers take no more steps than are needed.
func TestMany(t *testing.T) {
	const stretches, seats = 10, 10
	for _, search := range []protocol.Search{protocol.BestFirst, protocol.AStar, protocol.IDAStar} {
		r, err := protocol.Check(Model(stretches, seats),
			protocol.Options{Search: search, Estimate: StillGoing()})
		if err != nil || r.Violation == nil || r.Violation.Steps != (seats+2)*stretches {
			t.Errorf("%v: %v, error %v", search, r, err)
		}
	}
}

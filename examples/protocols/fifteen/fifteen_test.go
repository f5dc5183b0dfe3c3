package fifteen

import (
	"testing"

	"github.com/tandem-mc/tandem/protocol"
)

// moves are those of a shortest solution, found breadth first from the goal, in which nothing is
// clever; negative if there are more than most.
func moves(b Board, most int) int {
	level, seen := []Board{Goal()}, map[Board]bool{Goal(): true}
	for n := 0; n <= most; n++ {
		var next []Board
		for _, x := range level {
			if x == b {
				return n
			}
			empty := x.find(0)
			for _, cell := range neighbors(empty) {
				y := x
				y[empty], y[cell] = y[cell], 0
				if !seen[y] {
					seen[y] = true
					next = append(next, y)
				}
			}
		}
		level = next
	}
	return -1
}

// TestShortest: the searches find solutions, and all but best-first search shortest ones.
func TestShortest(t *testing.T) {
	for seed := range uint64(8) {
		b := Walk(seed, 11)
		want := 2 * moves(b, 11)
		for _, search := range []protocol.Search{protocol.BreadthFirst, protocol.BestFirst, protocol.AStar,
			protocol.IDAStar} {
			r, err := protocol.Check(Model(b), protocol.Options{Search: search, Estimate: Manhattan()})
			if err != nil || r.Violation == nil {
				t.Fatalf("seed %d, %v: %v, error %v", seed, search, r, err)
			}
			got := r.Violation.Steps
			if got < want || got > want && search != protocol.BestFirst {
				t.Errorf("seed %d, %v: %d steps, want %d", seed, search, got, want)
			}
		}
	}
}

// TestRandom: best-first search solves a board that is random. Half of all boards cannot be solved;
// none of those is drawn.
func TestRandom(t *testing.T) {
	b, again := Random(1), Random(1)
	if b == Random(2) || b != again {
		t.Error("boards do not depend on the seed alone")
	}
	r, err := protocol.Check(Model(b), protocol.Options{Search: protocol.BestFirst, Estimate: Manhattan()})
	if err != nil || r.Violation == nil {
		t.Fatalf("%v, error %v", r, err)
	}
	b[b.find(1)], b[b.find(2)] = 2, 1
	if b.isSolvable() {
		t.Error("a board with two tiles exchanged can be solved as well")
	}
	for seed := range uint64(100) {
		if w := Walk(seed, 50); !w.isSolvable() {
			t.Errorf("%v was reached, and cannot be solved", w)
		}
	}
}

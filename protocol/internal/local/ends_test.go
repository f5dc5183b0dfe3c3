package local

import (
	"testing"

	"github.com/tandem-mc/tandem/protocol/internal/table"
)

// TestEnds: runs end if what a node does again and again uses up messages.
func TestEnds(t *testing.T) {
	type list = []table.Message
	edges := func(byState ...[]Edge) [][]Edge { return byState }
	for name, c := range map[string]struct {
		nodes                [][][]Edge
		unbounded, isBounded bool // with crashes that have no bound, and that have one
	}{
		"forward":              {[][][]Edge{edges([]Edge{{Next: 1, Sent: list{0, 1}}}, nil)}, true, true},
		"an event that stays":  {[][][]Edge{edges([]Edge{{Next: 0}})}, false, false},
		"a message is ignored": {[][][]Edge{edges([]Edge{{Next: 0, Needs: list{0}}})}, true, true},
		"to and fro, without messages": {[][][]Edge{edges([]Edge{{Next: 1, Needs: list{0}}},
			[]Edge{{Next: 0}})}, false, false},
		"to and fro, for a message each": {[][][]Edge{edges([]Edge{{Next: 1, Needs: list{0}}},
			[]Edge{{Next: 0, Needs: list{0}, Sent: list{1}}})}, true, true},
		"an echo": {[][][]Edge{edges([]Edge{{Next: 0, Needs: list{0}, Sent: list{0}}})}, false, false},
		"ping and pong": {[][][]Edge{edges([]Edge{{Next: 0, Needs: list{0}, Sent: list{1}}}),
			edges([]Edge{{Next: 0, Needs: list{1}, Sent: list{0}}})}, false, false},
		"a question and an answer": {[][][]Edge{edges([]Edge{{Next: 0, Needs: list{0}, Sent: list{1}}}),
			edges([]Edge{{Next: 1, Needs: list{1}, Sent: list{0}}}, nil)}, true, true},
		"a set that has one of it sent": {[][][]Edge{edges([]Edge{{Next: 0, Needs: list{0, 1},
			Sent: list{1}}})}, false, false},
		"a failure": {[][][]Edge{edges([]Edge{{Next: 0, Fails: true}})}, true, true},
		"a crash and a restart": {[][][]Edge{edges([]Edge{{Next: 1, Crash: true}},
			[]Edge{{Next: 0}})}, false, true},
	} {
		f := &Fixpoint{Edges: c.nodes, Messages: 2}
		if got := f.Ends(false); got != c.unbounded {
			t.Errorf("%s: %v, want %v", name, got, c.unbounded)
		}
		if got := f.Ends(true); got != c.isBounded {
			t.Errorf("%s, bounded crashes: %v, want %v", name, got, c.isBounded)
		}
	}
}

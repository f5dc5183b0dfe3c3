package paxosregister

import (
	"testing"

	"github.com/tandem-mc/tandem/protocol"
)

// TestModel: there are as many states as in the example of stateright (examples/paxos.rs).
func TestModel(t *testing.T) {
	for _, search := range []protocol.Search{protocol.BreadthFirst, protocol.DepthFirst} {
		r := protocol.Test(t, Model(3, 2), protocol.Options{Search: search})
		if r.States != 16_668 || r.Transitions != 32_970 {
			t.Errorf("%v: %v; want 16668 states, 32970 transitions", search, r)
		}
	}
}

// hasty answers a read before it has a decision.
type hasty struct{ Server }

func (h *hasty) Quorums() []protocol.Quorum { return nil }

func (h *hasty) Receive(env *protocol.Env, from protocol.ID, message any) {
	if m, isGet := message.(Get); isGet {
		env.Send(from, GetOk{m.Client, h.Last.Proposal.Client})
		return
	}
	if h.takes(message) {
		h.Server.Receive(env, from, message)
	}
}

// TestHasty: such a read may miss the value that was written before. The shortest run: client 1
// writes at server 1, with the votes of servers 1 and 3, and reads at server 2.
func TestHasty(t *testing.T) {
	m := Model(3, 1)
	m.Nodes[1] = &hasty{*m.Nodes[1].(*Server)}
	r, err := protocol.Check(m, protocol.Options{})
	if err != nil || r.Violation == nil || r.Violation.What != "linearizable" || r.Violation.Steps != 8 {
		t.Fatalf("%v, error %v; want a history that is not linearizable after 8 steps", r, err)
	}
}

// TestLinearizable: some histories of two clients, each of which writes its number and then reads.
func TestLinearizable(t *testing.T) {
	for _, c := range []struct {
		about string
		all   []History
		want  bool
	}{
		{"nothing has returned", []History{{}, {}}, true},
		{"the own value", []History{{2, []int{1, 0}, 1}, {}}, true},
		{"a value whose write has not returned", []History{{2, []int{1, 0}, 2}, {}}, true},
		{"no value after a write", []History{{2, []int{1, 0}, 0}, {}}, false},
		{"two orders of the writes", []History{{2, []int{1, 1}, 1}, {2, []int{1, 1}, 2}}, false},
		{"one order of the writes", []History{{2, []int{1, 1}, 1}, {2, []int{1, 1}, 1}}, true},
		{"the second read is before the second write ends", []History{{2, []int{1, 0}, 1},
			{2, []int{2, 1}, 2}}, true},
		{"the later read has the older value", []History{{2, []int{1, 0}, 2}, {2, []int{2, 1}, 1}}, false},
	} {
		if got := linearizable(c.all, make([]int, 2), 0); got != c.want {
			t.Errorf("%s: %v, want %v", c.about, got, c.want)
		}
	}
}

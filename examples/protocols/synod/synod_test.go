package synod

import (
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/protocol"
)

// TestModel: one value is learned, in any order of events. The numbers are those of the search
// without a reduction. With two proposers, the paper's best search has 548,061 states.
func TestModel(t *testing.T) {
	for _, c := range []struct {
		Config
		states, depth int
		transitions   int64
	}{
		{Config{1, 3, 1, 1, true, false}, 106, 9, 205},
		{Config{1, 3, 1, 1, false, false}, 224, 12, 601},
		{Config{1, 3, 1, 2, true, false}, 25_233, 18, 88_411},
		{Config{2, 3, 1, 1, true, false}, 27_410, 18, 94_055},
		{Config{2, 3, 1, 1, false, false}, 111_670, 24, 552_244},
	} {
		r := protocol.Test(t, Model(c.Config), protocol.Options{})
		if r.States != c.states || r.Transitions != c.transitions || r.Depth != c.depth {
			t.Errorf("%+v: %v; want %d states, %d transitions, depth %d", c.Config, r, c.states,
				c.transitions, c.depth)
		}
	}
}

// TestFaulty: if learners do not compare, a learner learns two values. The shortest run: one
// proposal gets its promises, and then the other one. Each gets a vote of an acceptor; that is
// counted as a majority. Two more votes are another one.
func TestFaulty(t *testing.T) {
	for quorums, steps := range map[bool]int{true: 14, false: 18} {
		m := Model(Config{Proposers: 2, Acceptors: 3, Learners: 1, Rounds: 1, Quorums: quorums, Faulty: true})
		r, err := protocol.Check(m, protocol.Options{})
		if err != nil || r.Violation == nil {
			t.Fatalf("%v, error %v; want a violation", r, err)
		}
		if r.Violation.What != "one value is learned" || r.Violation.Steps != steps {
			t.Errorf("%v; want two values after %d steps\n%s", r, steps, r.Violation.Chart)
		}
		if !strings.Contains(r.Violation.Chart, "Learned: [1] -> [1 2]") &&
			!strings.Contains(r.Violation.Chart, "Learned: [2] -> [1 2]") {
			t.Errorf("the chart has not what is learned:\n%s", r.Violation.Chart)
		}
	}
}

// TestLate: promises that come too late, and votes that are left over, stay in the network. They
// are no step, so a run with one proposer ends without them.
func TestLate(t *testing.T) {
	r := protocol.Test(t, Model(Config{Proposers: 1, Acceptors: 3, Learners: 1, Rounds: 1, Quorums: true}),
		protocol.Options{})
	// One proposal, three Prepare, two promises at once, three Accept, two votes at once.
	if want := 1 + 3 + 1 + 3 + 1; r.Depth != want {
		t.Errorf("%v; want depth %d", r, want)
	}
}

// TestReduced: leaving out orders makes the space smaller, and so do the splits. The paper's
// numbers are 6,247,530 states (single messages), 2,822,764 (quorums) and 548,061 (quorums, both
// splits).
func TestReduced(t *testing.T) {
	const noSplit = protocol.ReplySplit | protocol.QuorumSplit
	for _, c := range []struct {
		quorums bool
		without protocol.Split
		states  int
	}{{false, noSplit, 2848}, {false, 0, 2756}, {true, noSplit, 3971}, {true, 0, 3945}} {
		m := Model(Config{Proposers: 2, Acceptors: 3, Learners: 1, Rounds: 1, Quorums: c.quorums})
		for _, search := range []protocol.Search{protocol.BreadthFirst, protocol.DepthFirst} {
			o := protocol.Options{Search: search, Reduce: true, Without: c.without, Workers: 1}
			if r := protocol.Test(t, m, o); r.States != c.states {
				t.Errorf("%+v, %v: %v", c, search, r)
			}
		}
	}
}

// TestFaultyReduced: the bug is found by all searches.
func TestFaultyReduced(t *testing.T) {
	for _, quorums := range []bool{false, true} {
		m := Model(Config{Proposers: 2, Acceptors: 3, Learners: 1, Rounds: 1, Quorums: quorums, Faulty: true})
		for _, o := range []protocol.Options{
			{Reduce: true}, {Search: protocol.DepthFirst, Reduce: true}, {Search: protocol.Local},
		} {
			if r, err := protocol.Check(m, o); err != nil || r.Verdict != protocol.Violated {
				t.Errorf("quorums %v, %+v: %v, error %v; want a violation", quorums, o, r, err)
			}
		}
	}
}

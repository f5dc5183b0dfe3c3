package nodes

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tandem-mc/tandem/check/internal/nodes/environment"
	"github.com/tandem-mc/tandem/check/internal/nodes/pasts"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut"
)

// TestTries: who looks whether something has arrived, and does not wait for it, comes before all
// that it needs, or between two of these, or after them.
func TestTries(t *testing.T) {
	program := build(t, "./testdata/tries")
	r, err := Run(t.Context(), Config{Violations: 10, Nodes: []Node{
		{Name: "server", Program: program, Args: []string{"server"}, Listen: "127.0.0.1:7100"},
		{Name: "client", Program: program, Args: []string{"client"}}}})
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, v := range r.Violations {
		found = append(found, v.Counterexample.Failure.Message)
		if v.Recording == nil {
			t.Errorf("%s: %s", found[len(found)-1], v.Unrecorded)
		}
	}
	for _, want := range []string{"found nothing", "found an answer"} {
		if !slices.ContainsFunc(found, func(m string) bool { return strings.Contains(m, want) }) {
			t.Errorf("no execution has %s: %q", want, found)
		}
	}
}

// TestHaltedExecutions: an execution ends for all who have left the skeleton, and the order in
// which a node does what an arrival waits for does not matter. So most executions are of use.
func TestHaltedExecutions(t *testing.T) {
	r, err := Run(t.Context(), Config{Crews: 2,
		Nodes: paxosNodes(build(t, "./paxos"), 3, 1, "-ballots", "1")})
	if err != nil {
		t.Fatal(err)
	}
	if r.Verdict != model.Holds || r.Counts.Skeletons != 46 || r.Counts.LocalTraces != 3936 ||
		r.Counts.GlobalTraces != 3920 || r.Runs > 2*r.Counts.LocalTraces {
		t.Errorf("%v (%s): %d executions, %+v", r.Verdict, r.Reason, r.Runs, r.Counts)
	}
}

// TestPastsWhileANodeRuns: what is found to be before an event while the node runs is what the
// whole log says.
func TestPastsWhileANodeRuns(t *testing.T) {
	delays := 1
	x, err := newExplorer(t.Context(), Config{Delays: &delays,
		Nodes: paxosNodes(build(t, "./paxos"), 2, 2, "-ballots", "1")})
	if err != nil {
		t.Fatal(err)
	}
	defer x.close()
	if err := x.exploreAll(); err != nil {
		t.Fatal(err)
	}
	x.config.Delays = nil
	compared, left := 0, 0
	for _, s := range x.system.Skeletons() {
		for c := range s.Global {
			runs := 0
			if _, err := x.search(c, func() *environment.Environment {
				return environment.New(x.net, c, s.Global[c].Events, s.Global.Arrivals(c))
			}, func(n *environment.Environment, log *sut.Log, _ model.Outcome) bool {
				want := slices.Clone(n.Made)
				for i := range want {
					want[i].Past = nil
				}
				pasts.All(want, n.Inputs, log.Events, len(n.Arrivals))
				if d := cmp.Diff(want, n.Made); d != "" {
					t.Fatalf("node %d (-whole log +while it ran)\n%s", c, d)
				}
				compared += len(want)
				if n.HasLeft() {
					left++
				}
				runs++
				return runs == 40
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if compared < 1000 || left < 20 {
		t.Errorf("%d events were compared, and %d executions left their skeleton", compared, left)
	}
}

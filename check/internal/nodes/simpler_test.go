package nodes

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tandem-mc/tandem/check/internal/nodes/given"
	"github.com/tandem-mc/tandem/check/internal/nodes/pick"
)

// TestSimplify: what is shown has fewer preemptions than what was found, or as many. It is the same
// violation, all nodes do the same to each other, and the file is replayed. Of a walk it is also
// the same each time.
func TestSimplify(t *testing.T) {
	systems := map[string]Config{
		"walks": {Nodes: paxosNodes(build(t, "./paxos"), 3, 2, "-file", "/tmp/paxos", "-fault", "sync"),
			Crash: given.Crash{Crashes: []int{0, 1, 2}, CrashLimit: 1}, Executions: 3000,
			Walks: &pick.Walks{Seed: 1, Picks: allPicks}},
		"an earlier life": {Nodes: exampleNodes(t, "crash", "server 127.0.0.1:7800", "client"),
			Crash: given.Crash{Crashes: []int{0}, CrashLimit: 1}, Executions: 400,
			Walks: &pick.Walks{Seed: 1, Picks: allPicks}},
	}
	for name, list := range violating(t) {
		systems[name] = Config{Nodes: list}
	}
	for name, c := range systems {
		run := func(shrink int) *Violation {
			c.Shrink = shrink
			r, err := Run(t.Context(), c)
			if err != nil || r.Violation() == nil || r.Violation().Recording == nil {
				t.Fatalf("%s: %v, %+v", name, err, r)
			}
			return r.Violation()
		}
		found, simpler := run(0), run(400)
		if found.Signature != simpler.Signature || found.Outcome != simpler.Outcome {
			t.Errorf("%s: %q became %q", name, found.Signature, simpler.Signature)
		}
		if d := cmp.Diff(found.Events, simpler.Events); d != "" {
			t.Errorf("%s: nodes do something else to each other (-found +simpler)\n%s", name, d)
		}
		before, after := found.Counterexample.Size(), simpler.Counterexample.Size()
		if after.Preemptions > before.Preemptions || name == "walks" && after.Preemptions > 2 {
			t.Errorf("%s: %v became %v", name, before, after)
		}
		said := simpler.Counterexample.Shrunk
		if said != nil && (said.Before != before || said.After != after) {
			t.Errorf("%s: %v became %v, and it is said that %v became %v", name, before, after, said.Before,
				said.After)
		}
		again, err := Replay(t.Context(), programsOf(c.Nodes), throughFile(t, simpler.Recording), 3)
		if err != nil || again.Violation == nil || again.Violation.Signature != found.Signature {
			t.Errorf("%s: %v, %+v", name, err, again)
		}
		if c.Walks == nil {
			continue // it is found in the same order each time
		}
		if d := cmp.Diff(simpler, run(400), cmpopts.EquateEmpty(),
			cmp.AllowUnexported(Violation{})); d != "" {
			t.Errorf("%s: (-once +again)\n%s", name, d)
		}
	}
}

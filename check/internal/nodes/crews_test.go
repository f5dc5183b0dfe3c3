package nodes

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tandem-mc/tandem/check/internal/nodes/given"
	"github.com/tandem-mc/tandem/internal/model"
)

// exploringCase is an exploration that ends, and how.
type exploringCase struct {
	name string
	Config
	verdict model.Verdict
}

// explorations are some of all kinds.
func explorations(t *testing.T) []exploringCase {
	delays := 1
	counter := exampleNodes(t, "counter", "server 127.0.0.1:7100", "client", "client")
	election := exampleNodes(t, "election", "voter 127.0.0.1:7900", "candidate", "candidate")
	election[1].Args, election[2].Args = []string{"one"}, []string{"two"}
	partition := exampleNodes(t, "partition", "store 127.0.0.1:7700", "copy 127.0.0.1:7701", "client")
	cases := []exploringCase{
		{"counter", Config{Nodes: counter}, model.Violated},
		{"all of the counter", Config{Violations: 9, Nodes: counter}, model.Violated},
		{"resets", Config{Nodes: exampleNodes(t, "retry", "server 127.0.0.1:7400", "client")},
			model.Violated},
		{"partition", Config{Nodes: partition, Partitions: [][][2]int{{{0, 1}}, {{0, 2}}}, Executions: 2000},
			model.Violated},
		{"crash", Config{Crash: given.Crash{Crashes: []int{0}, CrashLimit: 1},
			Nodes: exampleNodes(t, "crash", "server 127.0.0.1:7800", "client")}, model.Violated},
		{"slow groups", Config{Nodes: inGroups(pairs(t), []string{"a", "a", "b", "b"}), Slow: 1},
			model.Holds},
		{"agreement", Config{Nodes: election, Properties: agreeing("leader of *")}, model.Violated},
		{"paxos", Config{Nodes: paxosNodes(build(t, "./paxos"), 2, 2, "-ballots", "1"), Delays: &delays},
			model.Holds},
		{"a bound", Config{Nodes: paxosNodes(build(t, "./paxos"), 2, 2, "-ballots", "1"), Executions: 700},
			model.Unknown},
	}
	if *systems >= enough {
		cases = append(cases, exploringCase{"whole paxos",
			Config{Nodes: paxosNodes(build(t, "./paxos"), 2, 2, "-ballots", "1")}, model.Holds})
	}
	return cases
}

// TestExploresByCrews: what is found, how often nodes are run, and where a check ends, is the same
// with any number of crews. What one of them has saved, others go on with.
func TestExploresByCrews(t *testing.T) {
	for _, c := range explorations(t) {
		t.Run(c.name, func(t *testing.T) {
			var one *Result
			for _, crews := range []int{1, 2, 5} {
				c.Crews = crews
				r, err := Run(t.Context(), c.Config)
				if err != nil {
					t.Fatal(err)
				}
				if one == nil {
					one = r
				}
				if d := cmp.Diff(one, r, cmpopts.IgnoreUnexported(Violation{})); d != "" {
					t.Errorf("%d crews (-one +several)\n%s", crews, d)
				}
			}
			if one.Verdict != c.verdict {
				t.Errorf("%v (%s), want %v", one.Verdict, one.Reason, c.verdict)
			}
		})
	}
}

// TestCrewsGoOn: a check that a bound has ended goes on with another number of crews, and comes to
// what it would have come to.
func TestCrewsGoOn(t *testing.T) {
	c := Config{Nodes: paxosNodes(build(t, "./paxos"), 2, 2, "-ballots", "1"), Crews: 2}
	whole, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if r := resumed(t, c, 300, 2000); r.Verdict != model.Holds || r.Counts != whole.Counts {
		t.Errorf("%v: %+v, want %+v", r.Verdict, r.Counts, whole.Counts)
	}
}

package check

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tandem-mc/tandem/configs"
	"github.com/tandem-mc/tandem/report"
)

// checkNodes checks an example of nodes, and has so many workers help, 0: nobody. During is called
// when they have come.
func checkNodes(t *testing.T, file string, workers int, during func(w *team, parts func() int)) *NodesResult {
	t.Helper()
	file = filepath.Join("..", "examples", "nodes", file)
	config, err := configs.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	r := Request{Package: filepath.Dir(file), Config: config, Unsaved: true, Violations: 1}
	r.Search.Name = "dpor"
	listener := Listener{Say: func(string, ...any) {}}
	if workers > 0 {
		say, end := hire(t, &r.Distribution, workers, during)
		defer end()
		listener.Say = say
	}
	found, err := Nodes(t.Context(), r, NodesDirectory(file, r.Package), listener)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// sameNodes are two results of one check that took another time.
func sameNodes(want, got *NodesResult) string {
	return cmp.Diff(want, got, cmpopts.IgnoreFields(report.Counts{}, "Elapsed"))
}

// TestDistributedNodes: with workers in other processes a check of nodes says what it says without.
func TestDistributedNodes(t *testing.T) {
	// Paxos is also in TestKilledWorkersOfNodes.
	for _, file := range []string{"crash/tandem.yaml", "paxos/tandem.yaml"}[:cases(2, 1)] {
		t.Run(file, func(t *testing.T) {
			want := checkNodes(t, file, 0, nil)
			for _, workers := range []int{1, 3} {
				done := 0
				got := checkNodes(t, file, workers, func(_ *team, parts func() int) {
					look := time.NewTicker(roundInterval)
					defer look.Stop()
					for now := parts(); now >= 0; now = parts() {
						done = max(done, now)
						<-look.C
					}
				})
				if diff := sameNodes(want, got); diff != "" {
					t.Errorf("alone (-) and with %d workers (+):\n%s", workers, diff)
				}
				if done == 0 {
					t.Errorf("%d workers have explored nothing", workers)
				}
			}
		})
	}
}

// TestKilledWorkersOfNodes: workers that are killed cost repetition, and nothing else.
func TestKilledWorkersOfNodes(t *testing.T) {
	const file = "paxos/tandem.yaml"
	want, kills := checkNodes(t, file, 0, nil), 0
	got := checkNodes(t, file, 2, killing(cases(20, 2), &kills))
	if t.Logf("%d workers were killed", kills); kills == 0 {
		t.Error("the check ended before a worker was killed")
	}
	if diff := sameNodes(want, got); diff != "" {
		t.Errorf("alone (-) and with workers that were killed (+):\n%s", diff)
	}
}

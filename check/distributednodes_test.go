package check

import (
	"path/filepath"
	"strings"
	"sync"
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
	w := &team{t: t, program: "/proc/self/exe"}
	listener := Listener{Say: func(string, ...any) {}}
	var busy sync.WaitGroup
	defer busy.Wait()
	if workers > 0 {
		r.Distribution.Server, r.Distribution.Awaited = "embedded", workers
		listener.Say = func(format string, a ...any) {
			if !strings.HasPrefix(format, "workers join") {
				t.Logf(format, a...)
				return
			}
			w.url = a[0].(string)
			for range workers {
				w.join()
			}
		}
		defer func() {
			for len(w.members) > 0 {
				w.kill()
			}
		}()
		if during != nil {
			r.Distribution.Joined = func(parts func() int) { busy.Go(func() { during(w, parts) }) }
		}
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
	for _, file := range []string{"paxos/tandem.yaml", "crash/tandem.yaml"} {
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
	got := checkNodes(t, file, 2, func(w *team, parts func() int) {
		look := time.NewTicker(roundInterval)
		defer look.Stop()
		for last := 0; kills < cases(20, 2); <-look.C {
			switch now := parts(); {
			case now < 0:
				return
			case now > last:
				last = now
				w.kill()
				w.join()
				kills++
			}
		}
	})
	if t.Logf("%d workers were killed", kills); kills == 0 {
		t.Error("the check ended before a worker was killed")
	}
	if diff := sameNodes(want, got); diff != "" {
		t.Errorf("alone (-) and with workers that were killed (+):\n%s", diff)
	}
}

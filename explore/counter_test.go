package explore

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tandem-mc/tandem/explore/internal/testkit"
	"pgregory.net/rapid"
)

// TestDeficits has programs in which a counter becomes negative in some orders
// only, and never in the first one.
func TestDeficits(t *testing.T) {
	for name, test := range map[string]struct {
		program string
		want    []string
	}{
		"a Done overtakes its Add": {"main: go p; add w 1; store x 1\n" +
			"p: done w", []string{"completed", "panicked p: negative counter"}},
		"one Add for two": {"main: add w 1; go p; go q; add w 1\np: done w\n" +
			"q: done w", []string{"completed", "panicked p: negative counter", "panicked q: negative " +
			"counter"}},
		"readers": {"main: go p; rlock m\np: runlock " +
			"m", []string{"completed", "panicked p: negative counter"}},
		"only after another lock": {"main: go p; lock m; add w 1; unlock m\n" +
			"p: lock m; done w; unlock m", []string{"completed", "panicked p: negative counter"}},
		"enough from the start": {"main: add w 2; go p; go q; add w 1; done w\np: done w\n" +
			"q: done w", []string{"completed"}},
		"as many as taken": {"main: add w 3; go p; go q; go p; wait w\np: done w\n" +
			"q: done w", []string{"completed"}},
		"behind other operations": {"main: go p; go q; add w 1; add w 1\np: store x 1; done w\n" +
			"q: store x 2; done w", []string{"completed", "panicked p: negative counter", "panicked q: " +
			"negative counter"}},
	} {
		t.Run(name, func(t *testing.T) {
			some, all := testkit.MustSearch(t, dporSearch(), test.program),
				testkit.MustSearch(t, dfsSearch(), test.program)
			if diff := cmp.Diff(test.want, testkit.SortedKeys(all.Outcomes)); diff != "" {
				t.Errorf("all outcomes:\n%s", diff)
			}
			if diff := cmp.Diff(test.want, testkit.SortedKeys(some.Outcomes)); diff != "" {
				t.Errorf("outcomes of the reduced search:\n%s", diff)
			}
		})
	}
}

// TestDeficitsAgainstTwin looks for counters that become negative in random
// programs. Which of several goroutines it is that panics is not compared.
func TestDeficitsAgainstTwin(t *testing.T) {
	f := testkit.Profile{Blocks: []string{"add w 1", "add w 2", "done w", "done w", "add v 1; done v",
		"done v", "lock m; |; unlock m", "store x 1", "wait w"}}
	rapid.Check(t, func(t *rapid.T) {
		p := f.Generate(t)
		all, err := testkit.SearchAll(maxExecutions(dfsSearch(), testkit.DFSBudget), p, 0)
		if err != nil {
			t.Fatal(err)
		}
		if all.Verdict.Executions == testkit.DFSBudget {
			t.Skip("too many executions to enumerate")
		}
		some, err := testkit.SearchAll(dporSearch(), p, 0)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(kindsOfOutcome(all), kindsOfOutcome(some)); diff != "" {
			t.Fatalf("outcomes (-exist +found):\n%s\nprogram:\n%v", diff, p)
		}
	})
}

func kindsOfOutcome(f *testkit.Found) map[string]bool {
	kinds := map[string]bool{}
	for outcome := range f.Outcomes {
		kind, _, _ := strings.Cut(outcome, " ")
		kinds[kind] = true
	}
	return kinds
}

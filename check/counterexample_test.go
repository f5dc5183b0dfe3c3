package check

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/iocache"
	"github.com/tandem-mc/tandem/report"
)

// TestCacheOfCounterexample: a counterexample has the I/O cache around it, with its own way in it.
// What is counted in the search is in the tree, and is the same with two workers.
func TestCacheOfCounterexample(t *testing.T) {
	for _, scope := range []string{"group", "connection"} {
		t.Run(scope, func(t *testing.T) {
			var first *report.CacheTree
			for _, workers := range []int{1, 2} {
				o := example{"tickets", "tickets/tandem.yaml", nil}.options(t)
				if scope == "connection" {
					o = scpTo.options(t)
					o.Scope = iocache.Connection
				}
				o.Search, o.Workers, o.haste = maxExecutions(dporSearch(), 400), workers, true
				result := check(t, o)
				if result.Verdict.Kind != explore.Violated {
					t.Fatalf("%+v", result.Verdict)
				}
				shown := result.Violations[0].Counterexample
				tree := result.Violations[0].Recording.Cache
				checkCacheTree(t, shown, tree, result)
				if first == nil {
					first = withoutCheckpoints(tree)
				}
				if diff := cmp.Diff(first, withoutCheckpoints(tree)); diff != "" {
					t.Errorf("with %d workers (-1 worker):\n%s", workers, diff)
				}
			}
		})
	}
}

// withoutCheckpoints leaves out what depends on which answer was needed first.
func withoutCheckpoints(c *report.CacheTree) *report.CacheTree {
	list := &report.CacheTree{LeftOut: c.LeftOut}
	for _, p := range c.Places {
		p.Checkpoint, p.Restores, p.Starts = "", 0, 0
		list.Places = append(list.Places, p)
	}
	return list
}

// checkCacheTree checks what holds of any tree.
func checkCacheTree(t *testing.T, shown *report.Counterexample, c *report.CacheTree, r *Result) {
	t.Helper()
	if c == nil || shown.Cache != c {
		t.Fatal("the counterexample has no cache")
	}
	given, checkpoints, restores, starts := map[int]int{}, 0, 0, 0
	for i, p := range c.Places {
		restores, starts = restores+p.Restores, starts+p.Starts
		if p.Checkpoint != "" {
			checkpoints++
		}
		if p.Hits >= r.Verdict.Executions {
			t.Errorf("place %d has %d hits in %d executions", i, p.Hits, r.Verdict.Executions)
		}
		if p.Input == 0 {
			continue
		}
		given[p.Input]++
		step := shown.Steps[shown.Inputs[p.Input-1]]
		if len(step.IO) == 0 {
			t.Errorf("place %d is that of a step without a message", i)
		}
		if event := step.IO[0].Event; !strings.HasSuffix(strings.Join(p.Sent, "\n"), event) {
			t.Errorf("place %d says %q, its step %q", i, p.Sent, event)
		}
	}
	for i, in := range r.Violations[0].Recording.Exchanges {
		if given[i+1] == 0 {
			t.Errorf("no place is that of input %d, %v", i+1, in.Input)
		}
	}
	if starts == 0 || checkpoints == 0 || restores < r.Counts.Restores && r.Counts.InVain == 0 {
		t.Errorf("%d starts, %d checkpoints, %d restores, counted are %d", starts, checkpoints, restores,
			r.Counts.Restores)
	}
}

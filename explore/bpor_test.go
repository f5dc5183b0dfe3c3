package explore

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tandem-mc/tandem/explore/internal/testkit"
	"pgregory.net/rapid"
)

// compareBounded checks that BPOR finds what DFS finds within the same bound, in no more
// executions, and returns how many each has.
func compareBounded(t rapid.TB, p *testkit.Program, n int, found func(*testkit.Found) []string) (bpor,
	dfs int) {
	all, err := testkit.SearchAll(maxExecutions(within(DFS, n), testkit.DFSBudget), p, 0)
	if err != nil {
		t.Fatal(err)
	}
	if all.Verdict.Executions == testkit.DFSBudget {
		t.Skip("too many executions to enumerate")
	}
	some, err := testkit.SearchAll(within(DPOR, n), p, 0)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(found(all), found(some)); diff != "" {
		t.Errorf("with at most %d preemptions (-exist +found):\n%s", n, diff)
	}
	if some.Verdict.Kind != all.Verdict.Kind || some.Verdict.Within != all.Verdict.Within ||
		some.Verdict.Executions > all.Verdict.Executions {
		t.Errorf("verdict %+v, want that of %+v", some.Verdict, all.Verdict)
	}
	if t.Failed() {
		t.Fatalf("program:\n%v", p)
	}
	return some.Verdict.Executions, all.Verdict.Executions
}

func statesOf(f *testkit.Found) []string   { return testkit.SortedKeys(f.States) }
func outcomesOf(f *testkit.Found) []string { return testkit.SortedKeys(f.Outcomes) }

// TestBPORAgainstTwin compares final states of random programs whose executions all run to their
// end.
func TestBPORAgainstTwin(t *testing.T) {
	for _, f := range testkit.Profiles {
		t.Run(f.Name, func(t *testing.T) {
			bpor, dfs := 0, 0
			rapid.Check(t, func(t *rapid.T) {
				some, all := compareBounded(t, f.Generate(t), rapid.IntRange(0, 3).Draw(t, "preemptions"),
					statesOf)
				bpor, dfs = bpor+some, dfs+all
			})
			t.Logf("%d executions, %d by DFS", bpor, dfs)
			if bpor == dfs {
				t.Error("there was no reduction")
			}
		})
	}
}

// TestBPORWithEndings does so with the outcomes of programs that may end while goroutines could
// still go on.
func TestBPORWithEndings(t *testing.T) {
	for name, f := range map[string]testkit.Profile{
		"endings": {Blocks: testkit.Join(testkit.Endings, testkit.Endings, testkit.Variables,
			testkit.Mutexes, testkit.Channels[:3], testkit.Choices[:1], testkit.Times[:1]), Size: 5},
		"closings": {Blocks: testkit.Join(testkit.Closings, testkit.Channels)},
	} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				p, n := f.Generate(t), rapid.IntRange(0, 3).Draw(t, "preemptions")
				compareBounded(t, p, n, outcomesOf)
				compareBounded(t, p, n, undisturbed)
			})
		})
	}
}

// TestBPORHardPrograms does so with programs each of which needs a certain rule.
func TestBPORHardPrograms(t *testing.T) {
	for name, test := range map[string]struct {
		preemptions int
		text        string
	}{
		"instead of the whole stretch": {0, "main: go q; go p\np: store y " +
			"2\nq: load r0 x; load r1 y"},
		"a stretch that began elsewhere when the state was first seen": {1, "main: go q; go p; store y 2\n" +
			"p: load r1 y; load r0 x\nq: store x 1"},
		"not only before the last event that conflicts": {1, "main: go p; lock m; unlock " +
			"m\np: lock m; lock m; unlock m; unlock m"},
		"before an Unlock": {1, "main: go r; go q; go p\np: lock m; unlock m; lock n; lock m; unlock m; " +
			"unlock n\n" +
			"q: lock m; lock m; unlock m; unlock m\nr: lock n; lock m; unlock m; unlock n; lock m; unlock m"},
		"a stretch that is interrupted by a rest": {0, "main: go r; go q; go p\np: store x 1; store x 1; " +
			"send c 1; send c 1\n" +
			"q: recv r0 c\nr: recv r0 c; send c 1"},
		"what a partner would have done": {0, "main: go q; go p\np: either r2 c c 8\nq: either r2 c c 8"},
	} {
		t.Run(name, func(t *testing.T) {
			compareBounded(t, testkit.ParseProgram(test.text), test.preemptions, statesOf)
		})
	}
}

// TestBPORCounts: what is independent is executed once whatever the bound, and all orders of what
// conflicts as often as by DFS.
func TestBPORCounts(t *testing.T) {
	independent := "main: go p; go q; go r\np: load r0 x; load r0 x\nq: load r0 x; load r0 x\n" +
		"r: load r0 x; load r0 x"
	conflicting := "main: go p; go q\np: store x 1; store x 2\nq: store x 3; store x 4"
	for n, want := range []int{2, 4, 6, 6} {
		for text, want := range map[string]int{independent: 1, conflicting: want} {
			f := testkit.MustSearch(t, within(DPOR, n), text)
			if f.Verdict.Executions != want || f.Verdict.Reason != fmt.Sprintf("every execution with %s "+
				"is covered", atMost(n, "preemption")) {
				t.Errorf("%d executions (%s), want %d:\n"+
					"%s", f.Verdict.Executions, f.Verdict.Reason, want, text)
			}
		}
	}
}

package explore

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tandem-mc/tandem/explore/internal/testkit"
	"pgregory.net/rapid"
)

// both searches a program with DPOR and with its exhaustive twin.
func both(t rapid.TB, p *testkit.Program) (dpor, dfs *testkit.Found) {
	dfs, err := testkit.SearchAll(maxExecutions(dfsSearch(), testkit.DFSBudget), p, 0)
	if err != nil {
		t.Fatal(err)
	}
	if dfs.Verdict.Executions == testkit.DFSBudget {
		t.Skip("too many executions to enumerate")
	}
	if dpor, err = testkit.SearchAll(dporSearch(), p, 0); err != nil {
		t.Fatal(err)
	}
	for fingerprint, n := range dpor.Fingerprints {
		if n > 1 {
			t.Errorf("%d executions of the partial order %x", n, fingerprint)
		}
	}
	if dpor.Verdict.Kind != dfs.Verdict.Kind {
		t.Errorf("verdict %v, want %v", dpor.Verdict, dfs.Verdict)
	}
	return dpor, dfs
}

func TestKnownCounts(t *testing.T) {
	for _, test := range []struct {
		name, program string
		want          int
	}{
		{"one goroutine", "main: store x 1; load r0 x", 1},
		{"two writers", "main: go p; store x 1\np: store x 2", 2},
		{"independent", "main: go p; go q; store x 1\np: store y 1\nq: store z 1", 1},
		{"readers", "main: go p; go q; load r0 x\np: load r0 x\nq: load r0 x", 1},
		{"three writers", "main: go p; go q; store x 1\np: store x 2\nq: store x 3", 6},
		{"writer and two readers", "main: go p; go q; store x 1\np: load r0 x\nq: load r0 x", 4},
		{"mutex", "main: go p; lock m; unlock m\np: lock m; unlock m", 2},
		{"mutex, 3", "main: go p; go q; lock m; unlock m\np: lock m; unlock m\nq: lock m; unlock m", 6},
		{"wait group", "main: add w 3; go p; go p; go p; wait w\np: done w", 1},
		{"choose", "main: choose r0 3; choose r1 2", 6},
		{"rwmutex", "main: go p; go q; rlock m; runlock m\np: rlock m; runlock m\nq: lock m; unlock m", 4},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := testkit.MustSearch(t, dporSearch(), test.program)
			if f.Complete() != test.want || f.Verdict.Kind != Holds {
				t.Errorf("%d executions, %+v; want %d", f.Complete(), f.Verdict, test.want)
			}
			if dfs := testkit.MustSearch(t, dfsSearch(), test.program); len(dfs.Fingerprints) != test.want {
				t.Errorf("%d partial orders; want %d", len(dfs.Fingerprints), test.want)
			}
		})
	}
}

// compare checks that DPOR finds the final states that DFS finds, with exactly one
// execution per partial order.
func compare(t rapid.TB, p *testkit.Program) {
	dpor, dfs := both(t, p)
	if got, want := dpor.Complete(), len(dfs.Fingerprints); got != want {
		t.Errorf("%d complete executions (and %d redundant), but there are %d partial orders in %d "+
			"executions",
			got, dpor.Verdict.Redundant, want, dfs.Verdict.Executions)
	}
	if diff := cmp.Diff(testkit.SortedKeys(dfs.States), testkit.SortedKeys(dpor.States)); diff != "" {
		t.Errorf("final states (-exist +found):\n%s", diff)
	}
	if t.Failed() {
		t.Fatalf("program:\n%v", p)
	}
}

// TestAgainstTwin does so on random programs whose executions all run to their end.
func TestAgainstTwin(t *testing.T) {
	for _, f := range testkit.Profiles {
		t.Run(f.Name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { compare(t, f.Generate(t)) })
		})
	}
}

// TestHardPrograms does so on programs each of which needs a certain rule.
func TestHardPrograms(t *testing.T) {
	for name, text := range map[string]string{
		"two Adds close a counter": "main: go r; go q; go p\np: add w 1; wait w; done w\n" +
			"q: add w 1; done w; add w 1; wait w; done w\nr: wait w",
		"Wait between one Add and Done and another": "main: go r; go q; go p; wait w\np: add w 1; done w\n" +
			"q: wait w; add w 1; wait w; done w\nr: add w 1; done w",
		"a send that wakes a select uses its other channels": "main: go q; go p; send c 1\np: send b1 2\n" +
			"q: select r2 c b1",
		"the alternatives depend on what is reversed": "main: go q; go p; send c 1\np: send c 1; send b1 " +
			"2\n" +
			"q: recv r0 c; select r2 c b1",
		"the alternatives of a goroutine fall asleep together": "main: go q; go p; load r0 x\n" +
			"p: choose r1 3; load r0 x\n" +
			"q: choose r1 3; .store x 1",
		"a sealed transition that is cut short": "main: go r; go q; go p\np: select r2 c d\n" +
			"q: load r0 x; send b1 2\n" +
			"r: load r0 x; send b1 2; .recv r0 c",
		"what the reversed operation does next depends on what need not run before it": "main: go r; go " +
			"q; go p; send b1 2\n" +
			"p: send c 1\nq: recv r0 c\nr: send b1 2; recv r0 c",
		"what a partner could have done instead is not covered by what commutes with it": "main: go p; go " +
			"r; go q\n" +
			"p: send d 3; store x 1\nq: offer r1 c 6\nr: either r2 d b1 5; either r2 c c 8",
		"partners that have alternatives themselves": "main: go p; go r; go q; offer r1 c 6\n" +
			"p: either r2 c d 4; either r2 d b1 5\nq: send b1 2\nr: either r2 d b1 5",
		"alternatives that something asleep covers at first": "main: go p; go r; go q\np: store y 2\n" +
			"q: store x 1\n" +
			"r: choose r1 3; skip r1 1 2; load r0 x; store y 3",
		"a transition that would have been longer, and what is new that does not depend on its " +
			"event": "main: go q; go r; go s; go p\nq: send c 1\n" +
			"r: send b1 1\ns: load r0 y; .select r2 c b1\np: poll r1 c",
		"a rendezvous that depends on an arm of its partner": "main: go r; go q; go p; go s\n" +
			"r: select r2 c b1\n" +
			"q: either r2 d b1 5\np: send d 3; .offer r1 c 3\ns: offer r1 c 3",
		"a look at a channel that is cut short": "main: go p; go r; go q; go s\np: send c 1\n" +
			"r: send b1 1; send d 3\n" +
			"q: store y 2; .either r2 d b1 5; recv r1 c\ns: recv r1 c; .send c 1",
		"a look at two buffers, of which it changes one": "main: go s; go q; go r; go p\n" +
			"p: offer r1 a1 3; .select r2 a1 b1\n" +
			"q: send b1 1\nr: send a1 2\ns: offer r1 a1 3",
		"a default is taken, and then a sealed rendezvous": "main: go r; go p; go s; go q\nr: store x 1\n" +
			"p: select r2 c d; recv r1 c\n" +
			"s: either r2 d b1 5; lock m; select r2 c d; store y 2; unlock m\n" +
			"q: offer r1 c 3; .either r2 c d 4; .load r0 x",
		"a partner that would have taken another": "main: go p; go s; go r; go q\np: send c 1; send d 3\n" +
			"q: recv r0 c; .select r2 c b1\nr: either r2 d c 5\ns: send b1 2",
		"what is postponed is covered in part": "main: go s; go r; go p; go q\n" +
			"p: send a1 1; lock m; .unlock m; .send b1 1\n" +
			"q: store x 1\nr: load r0 x; .either r2 a1 b1 4\n" +
			"s: lock m; .either r2 a1 b1 4; .unlock m; .load r0 x",
		"alternatives that go on differently": "main: go r; go q\nq: choose r0 2; skip r0 1 1; .load r1 x\n" +
			"r: choose r0 2; skip r0 0 1; store x 2",
		"a reader that follows a writer in one transition": "main: go q; lock m; unlock m\n" +
			"q: lock m; unlock m; .rlock m; runlock m",
		"a mutex held while the clock advances": "main: go p; lock m; sleep 1; unlock m\n" +
			"p: lock m; .sleep 2; unlock m",
	} {
		t.Run(name, func(t *testing.T) {
			compare(t, testkit.ParseProgram(text))
		})
	}
}

// TestEndingsAgainstTwin does so on programs that may end while goroutines could
// still go on: every outcome must be found, though not every state to end in.
func TestEndingsAgainstTwin(t *testing.T) {
	for name, f := range map[string]testkit.Profile{
		"endings": {Blocks: testkit.Join(testkit.Endings, testkit.Endings, testkit.Variables,
			testkit.Mutexes, testkit.Channels[:3], testkit.Choices[:1], testkit.Times[:1]), Size: 5},
		"closings": {Blocks: testkit.Join(testkit.Closings, testkit.Channels)},
	} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { compareEndings(t, f.Generate(t)) })
		})
	}
}

// TestHardEndings does so on programs each of which needs a certain rule.
func TestHardEndings(t *testing.T) {
	for name, text := range map[string]string{
		"closing instead of a partner that is gone": "main: go r; go q; go p\np: close c\n" +
			"q: either r2 c d 4\nr: either r2 d b1 5",
	} {
		t.Run(name, func(t *testing.T) {
			compareEndings(t, testkit.ParseProgram(text))
		})
	}
}

func compareEndings(t rapid.TB, p *testkit.Program) {
	dpor, dfs := both(t, p)
	if diff := cmp.Diff(testkit.SortedKeys(dfs.Outcomes), testkit.SortedKeys(dpor.Outcomes)); diff != "" {
		t.Errorf("outcomes (-exist +found):\n%s", diff)
	}
	if diff := cmp.Diff(undisturbed(dfs), undisturbed(dpor)); diff != "" {
		t.Errorf("final states of executions that end by themselves (-exist +found):\n%s", diff)
	}
	if t.Failed() {
		t.Fatalf("program:\n%v", p)
	}
}

// undisturbed are the final states of executions in which nothing more could happen.
func undisturbed(f *testkit.Found) []string {
	return slices.DeleteFunc(testkit.SortedKeys(f.States), func(state string) bool {
		return !strings.HasPrefix(state, Completed.String()) &&
			!strings.HasPrefix(state, Deadlock.String()) || strings.Contains(state, "exit")
	})
}

package explore

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// found is what a search found out about a program.
type found struct {
	verdict      Verdict
	outcomes     map[string]int // outcome and message
	states       map[string]int // final state of the complete executions
	fingerprints map[uint64]int // of the complete executions
}

// complete counts the executions that were not cut off.
func (f *found) complete() int { return f.verdict.Executions - f.verdict.Redundant }

// searchAll lets a search run a program to the end.
func searchAll(s stepper, p *program, limit int) (*found, error) {
	f := &found{outcomes: map[string]int{}, states: map[string]int{}, fingerprints: map[uint64]int{}}
	for {
		schedule, more := s.Next()
		if !more {
			f.verdict = s.Verdict()
			return f, nil
		}
		w := run(p, schedule, limit)
		if err := s.Report(w.log); err != nil {
			return nil, fmt.Errorf("%w\n%v", err, p)
		}
		if w.log.Outcome != Redundant {
			f.outcomes[w.outcome()]++
			f.states[w.state()]++
			f.fingerprints[Fingerprint(w.log)]++
		}
	}
}

func mustSearch(t testing.TB, s *Search, text string) *found {
	t.Helper()
	f, err := searchAll(s, parseProgram(text), 0)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

const dfsBudget = 5000

// both searches a program with DPOR and with its exhaustive twin.
func both(t rapid.TB, p *program) (dpor, dfs *found) {
	dfs, err := searchAll(maxExecutions(dfsSearch(), dfsBudget), p, 0)
	if err != nil {
		t.Fatal(err)
	}
	if dfs.verdict.Executions == dfsBudget {
		t.Skip("too many executions to enumerate")
	}
	if dpor, err = searchAll(dporSearch(), p, 0); err != nil {
		t.Fatal(err)
	}
	for fingerprint, n := range dpor.fingerprints {
		if n > 1 {
			t.Errorf("%d executions of the partial order %x", n, fingerprint)
		}
	}
	if dpor.verdict.Kind != dfs.verdict.Kind {
		t.Errorf("verdict %v, want %v", dpor.verdict, dfs.verdict)
	}
	return dpor, dfs
}

func sortedKeys(m map[string]int) []string { return slices.Sorted(maps.Keys(m)) }

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
			f := mustSearch(t, dporSearch(), test.program)
			if f.complete() != test.want || f.verdict.Kind != Holds {
				t.Errorf("%d executions, %+v; want %d", f.complete(), f.verdict, test.want)
			}
			if dfs := mustSearch(t, dfsSearch(), test.program); len(dfs.fingerprints) != test.want {
				t.Errorf("%d partial orders; want %d", len(dfs.fingerprints), test.want)
			}
		})
	}
}

// compare checks that DPOR finds the final states that DFS finds, with exactly one
// execution per partial order.
func compare(t rapid.TB, p *program) {
	dpor, dfs := both(t, p)
	if got, want := dpor.complete(), len(dfs.fingerprints); got != want {
		t.Errorf("%d complete executions (and %d redundant), but there are %d partial orders in %d executions",
			got, dpor.verdict.Redundant, want, dfs.verdict.Executions)
	}
	if diff := cmp.Diff(sortedKeys(dfs.states), sortedKeys(dpor.states)); diff != "" {
		t.Errorf("final states (-exist +found):\n%s", diff)
	}
	if t.Failed() {
		t.Fatalf("program:\n%v", p)
	}
}

// TestAgainstTwin does so on random programs whose executions all run to their end.
func TestAgainstTwin(t *testing.T) {
	for _, f := range profiles {
		t.Run(f.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { compare(t, f.generate(t)) })
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
		"a send that wakes a select uses its other channels": "main: go q; go p; send c 1\np: send b1 2\nq: select r2 c b1",
		"the alternatives depend on what is reversed": "main: go q; go p; send c 1\np: send c 1; send b1 2\n" +
			"q: recv r0 c; select r2 c b1",
		"the alternatives of a goroutine fall asleep together": "main: go q; go p; load r0 x\np: choose r1 3; load r0 x\n" +
			"q: choose r1 3; .store x 1",
		"a sealed transition that is cut short": "main: go r; go q; go p\np: select r2 c d\nq: load r0 x; send b1 2\n" +
			"r: load r0 x; send b1 2; .recv r0 c",
		"what the reversed operation does next depends on what need not run before it": "main: go r; go q; go p; send b1 2\n" +
			"p: send c 1\nq: recv r0 c\nr: send b1 2; recv r0 c",
		"what a partner could have done instead is not covered by what commutes with it": "main: go p; go r; go q\n" +
			"p: send d 3; store x 1\nq: offer r1 c 6\nr: either r2 d b1 5; either r2 c c 8",
		"partners that have alternatives themselves": "main: go p; go r; go q; offer r1 c 6\n" +
			"p: either r2 c d 4; either r2 d b1 5\nq: send b1 2\nr: either r2 d b1 5",
		"alternatives that something asleep covers at first": "main: go p; go r; go q\np: store y 2\nq: store x 1\n" +
			"r: choose r1 3; skip r1 1 2; load r0 x; store y 3",
		"a transition that would have been longer, and what is new that does not depend on its event": "main: go q; go r; go s; go p\nq: send c 1\n" +
			"r: send b1 1\ns: load r0 y; .select r2 c b1\np: poll r1 c",
		"a rendezvous that depends on an arm of its partner": "main: go r; go q; go p; go s\nr: select r2 c b1\n" +
			"q: either r2 d b1 5\np: send d 3; .offer r1 c 3\ns: offer r1 c 3",
		"a look at a channel that is cut short": "main: go p; go r; go q; go s\np: send c 1\nr: send b1 1; send d 3\n" +
			"q: store y 2; .either r2 d b1 5; recv r1 c\ns: recv r1 c; .send c 1",
		"a look at two buffers, of which it changes one": "main: go s; go q; go r; go p\np: offer r1 a1 3; .select r2 a1 b1\n" +
			"q: send b1 1\nr: send a1 2\ns: offer r1 a1 3",
		"a default is taken, and then a sealed rendezvous": "main: go r; go p; go s; go q\nr: store x 1\np: select r2 c d; recv r1 c\n" +
			"s: either r2 d b1 5; lock m; select r2 c d; store y 2; unlock m\nq: offer r1 c 3; .either r2 c d 4; .load r0 x",
		"a partner that would have taken another": "main: go p; go s; go r; go q\np: send c 1; send d 3\n" +
			"q: recv r0 c; .select r2 c b1\nr: either r2 d c 5\ns: send b1 2",
		"what is postponed is covered in part": "main: go s; go r; go p; go q\np: send a1 1; lock m; .unlock m; .send b1 1\n" +
			"q: store x 1\nr: load r0 x; .either r2 a1 b1 4\ns: lock m; .either r2 a1 b1 4; .unlock m; .load r0 x",
		"alternatives that go on differently": "main: go r; go q\nq: choose r0 2; skip r0 1 1; .load r1 x\n" +
			"r: choose r0 2; skip r0 0 1; store x 2",
		"a reader that follows a writer in one transition": "main: go q; lock m; unlock m\nq: lock m; unlock m; .rlock m; runlock m",
		"a mutex held while the clock advances":            "main: go p; lock m; sleep 1; unlock m\np: lock m; .sleep 2; unlock m",
	} {
		t.Run(name, func(t *testing.T) {
			compare(t, parseProgram(text))
		})
	}
}

// TestEndingsAgainstTwin does so on programs that may end while goroutines could
// still go on: every outcome must be found, though not every state to end in.
func TestEndingsAgainstTwin(t *testing.T) {
	for name, f := range map[string]profile{
		"endings":  {blocks: join(endings, endings, variables, mutexes, channels[:3], choices[:1], times[:1]), size: 5},
		"closings": {blocks: join(closings, channels)},
	} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { compareEndings(t, f.generate(t)) })
		})
	}
}

// TestHardEndings does so on programs each of which needs a certain rule.
func TestHardEndings(t *testing.T) {
	for name, text := range map[string]string{
		"closing instead of a partner that is gone": "main: go r; go q; go p\np: close c\nq: either r2 c d 4\nr: either r2 d b1 5",
	} {
		t.Run(name, func(t *testing.T) {
			compareEndings(t, parseProgram(text))
		})
	}
}

func compareEndings(t rapid.TB, p *program) {
	dpor, dfs := both(t, p)
	if diff := cmp.Diff(sortedKeys(dfs.outcomes), sortedKeys(dpor.outcomes)); diff != "" {
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
func undisturbed(f *found) []string {
	return slices.DeleteFunc(sortedKeys(f.states), func(state string) bool {
		return !strings.HasPrefix(state, Completed.String()) && !strings.HasPrefix(state, Deadlock.String()) || strings.Contains(state, "exit")
	})
}

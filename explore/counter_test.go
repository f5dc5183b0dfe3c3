package explore

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestDeficits has programs in which a counter becomes negative in some orders
// only, and never in the first one.
func TestDeficits(t *testing.T) {
	for name, test := range map[string]struct {
		program string
		want    []string
	}{
		"a Done overtakes its Add": {"main: go p; add w 1; store x 1\np: done w", []string{"completed", "panicked p: negative counter"}},
		"one Add for two":          {"main: add w 1; go p; go q; add w 1\np: done w\nq: done w", []string{"completed", "panicked p: negative counter", "panicked q: negative counter"}},
		"readers":                  {"main: go p; rlock m\np: runlock m", []string{"completed", "panicked p: negative counter"}},
		"only after another lock":  {"main: go p; lock m; add w 1; unlock m\np: lock m; done w; unlock m", []string{"completed", "panicked p: negative counter"}},
		"enough from the start":    {"main: add w 2; go p; go q; add w 1; done w\np: done w\nq: done w", []string{"completed"}},
		"as many as taken":         {"main: add w 3; go p; go q; go p; wait w\np: done w\nq: done w", []string{"completed"}},
		"behind other operations":  {"main: go p; go q; add w 1; add w 1\np: store x 1; done w\nq: store x 2; done w", []string{"completed", "panicked p: negative counter", "panicked q: negative counter"}},
	} {
		t.Run(name, func(t *testing.T) {
			some, all := mustSearch(t, dporSearch(), test.program), mustSearch(t, dfsSearch(), test.program)
			if diff := cmp.Diff(test.want, sortedKeys(all.outcomes)); diff != "" {
				t.Errorf("all outcomes:\n%s", diff)
			}
			if diff := cmp.Diff(test.want, sortedKeys(some.outcomes)); diff != "" {
				t.Errorf("outcomes of the reduced search:\n%s", diff)
			}
		})
	}
}

// TestDeficitsAgainstTwin looks for counters that become negative in random
// programs. Which of several goroutines it is that panics is not compared.
func TestDeficitsAgainstTwin(t *testing.T) {
	f := profile{blocks: []string{"add w 1", "add w 2", "done w", "done w", "add v 1; done v", "done v", "lock m; |; unlock m", "store x 1", "wait w"}}
	rapid.Check(t, func(t *rapid.T) {
		p := f.generate(t)
		all, err := searchAll(maxExecutions(dfsSearch(), dfsBudget), p, 0)
		if err != nil {
			t.Fatal(err)
		}
		if all.verdict.Executions == dfsBudget {
			t.Skip("too many executions to enumerate")
		}
		some, err := searchAll(dporSearch(), p, 0)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(kindsOfOutcome(all), kindsOfOutcome(some)); diff != "" {
			t.Fatalf("outcomes (-exist +found):\n%s\nprogram:\n%v", diff, p)
		}
	})
}

func kindsOfOutcome(f *found) map[string]bool {
	kinds := map[string]bool{}
	for outcome := range f.outcomes {
		kind, _, _ := strings.Cut(outcome, " ")
		kinds[kind] = true
	}
	return kinds
}

// TestMayOverdraw: where no counter may get below zero, following any reversal finds none that does.
func TestMayOverdraw(t *testing.T) {
	may, below := 0, 0
	blocks := []string{"add w 1", "add w 2", "done w", "rlock m; runlock m", "lock m; |; unlock m", "add v 1; done v", "store x 1", "wait w", "wait w; add w 2"}
	for number := range 600 {
		p := rapid.Custom(profile{blocks: blocks, seal: number%2 == 0}.generate).Example(number)
		d := newDPOR(newTrace())
		d.Next()
		if err := d.Report(run(p, Schedule{}, 0).log); err != nil {
			t.Fatal(err)
		}
		found := false
		for e := range int32(len(d.trace.events)) {
			clear(d.counters)
			d.gather(e, -1, nil)
			found = found || slices.ContainsFunc(d.scratch, func(x int32) bool { return d.overdraws(e, x) })
		}
		if found && !d.mayOverdraw() {
			t.Fatalf("a counter gets below zero:\n%v", p)
		}
		if found {
			below++
		}
		if d.mayOverdraw() {
			may++
		}
	}
	if below < 20 || may > 400 {
		t.Errorf("in %d of 600 programs a counter may get below zero, in %d one does: the test says little", may, below)
	}
}

// TestCountBefore: a writer that announces itself while a reader is inside does not say so.
func TestCountBefore(t *testing.T) {
	d := newDPOR(newTrace())
	d.Next()
	transition := func(g GoroutineID, a Access) Transition {
		a.Object = 1
		return Transition{Action: Action{Goroutine: g}, Choices: 1, Accesses: []Access{a}}
	}
	err := d.Report(Execution{Outcome: Completed, Transitions: []Transition{
		transition(1, Access{Kind: Commute, Delta: 1}),
		transition(2, Access{Kind: Write}),
		transition(1, Access{Kind: Commute, Delta: -1, Count: 1}),
	}})
	if err != nil {
		t.Fatal(err)
	}
	for e, want := range []int32{0, 1, 1} {
		if got := d.trace.countBefore(&d.trace.objects[0], int32(e)); got != want {
			t.Errorf("before event %d the counter is %d, want %d", e, got, want)
		}
	}
}

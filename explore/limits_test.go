package explore

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tandem-mc/tandem/explore/internal/testkit"
	"pgregory.net/rapid"
)

// paths lists the executions of a search, with what each cost.
func paths(t rapid.TB, s *Search, p *testkit.Program) map[string]testkit.SimCost {
	list := map[string]testkit.SimCost{}
	for schedule, more := s.Next(); more; schedule, more = s.Next() {
		w := testkit.Run(p, schedule, 0)
		path := w.Path(0) + ": " + w.Outcome()
		if _, twice := list[path]; twice && schedule.Seed == 0 {
			t.Fatalf("executed twice: %s\n%v", path, p)
		}
		list[path] = departures(w.Log)
		if err := s.Report(w.Log); err != nil {
			t.Fatal(err)
		}
		if len(list) == testkit.DFSBudget {
			t.Skip("too many executions to enumerate")
		}
	}
	return list
}

// departures counts preemptions and delays from a log alone.
func departures(e Execution) (c testkit.SimCost) {
	created := []GoroutineID{1} // main
	for i, x := range e.Transitions {
		if i > 0 && x.Goroutine != 0 {
			c = c.Plus(departure(e.Transitions[i-1], x, created, ended(e, i-1)))
		}
		for _, g := range x.Starts {
			if !slices.Contains(created, g) {
				created = append(created, g)
			}
		}
	}
	return c
}

// ended reports whether transition i was the last of its goroutine, which neither waits nor
// sleeps.
func ended(e Execution, i int) bool {
	g := e.Transitions[i].Goroutine
	return !slices.ContainsFunc(e.Transitions[i].Accesses,
		func(a Access) bool { return a.Object == testkit.ClockObject }) &&
		!slices.ContainsFunc(e.Transitions[i+1:], func(x Transition) bool { return x.Goroutine == g }) &&
		!slices.ContainsFunc(e.Pending, func(p Pending) bool { return p.Goroutine == g })
}

func departure(before, x Transition, created []GoroutineID, ended bool) (c testkit.SimCost) {
	enabled := func(g GoroutineID) bool {
		return slices.ContainsFunc(x.Enabled, func(a Alternative) bool { return a.Goroutine == g })
	}
	running := before.Goroutine
	preempted := slices.ContainsFunc(x.Enabled,
		func(a Alternative) bool { return a.Goroutine == running && !a.Rests })
	if x.Goroutine != running && preempted && running != 0 {
		c.Preemptions = 1
	}
	from := max(0, slices.Index(created, running))
	if ended {
		from = 0
	}
	for i := from; created[i] != x.Goroutine; i = (i + 1) % len(created) {
		if enabled(created[i]) {
			c.Delays++
		}
	}
	return c
}

// TestLimitsAgainstTwin: within a limit, DFS runs exactly those executions, of all that
// there are, that keep to it. Alternatives (choose, select) cost nothing.
func TestLimitsAgainstTwin(t *testing.T) {
	for name, programs := range map[string]testkit.Profile{
		"times": {Blocks: testkit.Join(testkit.Variables, testkit.Mutexes, testkit.WaitGroups,
			testkit.Channels, testkit.Choices, testkit.Times)},
		"endings": {Blocks: testkit.Join(testkit.Variables, testkit.Mutexes, testkit.Rwmutexes,
			testkit.Channels, testkit.Choices, testkit.Endings)},
	} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				p := programs.Generate(t)
				all := paths(t, dfsSearch(), p)
				n := rapid.IntRange(0, 3).Draw(t, "limit")
				compareLimited(t, p, within(DFS, n), all,
					func(c testkit.SimCost) bool { return c.Preemptions <= n })
				compareLimited(t, p, mustNew(Config{Algorithm: DFS, Delays: new(n)}), all,
					func(c testkit.SimCost) bool { return c.Delays <= n })
				compareLimited(t, p, mustNew(Config{Algorithm: DFS, Preemptions: new(1), Delays: new(n)}),
					all, func(c testkit.SimCost) bool { return c.Preemptions <= 1 && c.Delays <= n })
			})
		})
	}
}

func compareLimited(t rapid.TB, p *testkit.Program, s *Search, all map[string]testkit.SimCost,
	within func(testkit.SimCost) bool) {
	want := map[string]int{}
	for path, cost := range all {
		if within(cost) {
			want[path] = 1
		}
	}
	got := map[string]int{}
	for path := range paths(t, s, p) {
		got[path] = 1
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("executions %s (-exist +run):\n%s\n%v", s.Verdict().Within, diff, p)
	}
}

// TestLimitedCounts: three goroutines that do two operations each have one execution for each of
// their 6 orders without preemptions, and one in all without delays. One preemption stops any
// of the three halfway: the first, whereupon one of two others runs, and it goes on before or after
// the last; or the second, and it goes on at the end.
func TestLimitedCounts(t *testing.T) {
	text := "main: go p; go q; go r\np: load r0 x; load r0 x\nq: load r0 x; load r0 x\n" +
		"r: load r0 x; load r0 x"
	for _, test := range []struct {
		search *Search
		want   int
		reason string
	}{
		{dfsSearch(), 90, "every execution is covered"},
		{within(DFS, 0), 6, "every execution with at most 0 preemptions is covered"},
		{within(DFS, 1), 6 + 3*(4+2), "every execution with at most 1 preemption is covered"},
		{mustNew(Config{Algorithm: DFS, Delays: new(0)}), 1, "every execution with at most 0 delays is " +
			"covered"},
		{maxExecutions(mustNew(Config{Algorithm: DFS, Preemptions: new(0), Delays: new(9)}), 9), 6,
			"every execution with at most 0 preemptions and at most 9 delays is covered"},
		{maxExecutions(mustNew(Config{Algorithm: DFS, Delays: new(5)}), 3), 3, "the limit of 3 executions " +
			"was reached"},
	} {
		f := testkit.MustSearch(t, test.search, text)
		if f.Verdict.Executions != test.want || f.Verdict.Reason != test.reason {
			t.Errorf("%d executions (%s), want %d "+
				"(%s)", f.Verdict.Executions, f.Verdict.Reason, test.want, test.reason)
		}
	}
}

// TestRandomKeepsToLimits: random searches pick only what the limits allow; without priorities
// all of it.
func TestRandomKeepsToLimits(t *testing.T) {
	text := "main: go p; go q; store x 1; choose r0 2\np: store x 2; load r0 x\nq: store x 3; load r0 x"
	p := testkit.ParseProgram(text)
	for n := range 3 {
		want := testkit.MustSearch(t, within(DFS, n), text)
		for name, s := range map[string]*Search{
			"random": mustNew(Config{Algorithm: Random, Executions: 4000, Seed: 1, Preemptions: &n}),
			"pct": mustNew(Config{Algorithm: PCT, Executions: 4000, Depth: n + 2, Seed: 1,
				Preemptions: &n}),
			"pos":  mustNew(Config{Algorithm: POS, Executions: 4000, Seed: 1, Preemptions: &n}),
			"surw": mustNew(Config{Algorithm: SURW, Executions: 4000, Seed: 1, Preemptions: &n}),
		} {
			f, err := testkit.SearchAll(s, p, 0)
			if err != nil {
				t.Fatal(err)
			}
			for state := range f.States {
				if want.States[state] == 0 {
					t.Errorf("%s, at most %d preemptions: %s is not within", name, n, state)
				}
			}
			if name == "random" && len(f.States) != len(want.States) {
				t.Errorf("at most %d preemptions: %d final states of %d", n, len(f.States), len(want.States))
			}
		}
	}
}

func ExampleVerdict_Covered() {
	s := within(DFS, 2)
	s.Next()
	s.Report(Execution{})
	s.Next()
	fmt.Println(s.Verdict().Kind, "since", s.Verdict().Covered())
	// Output: holds since every execution with at most 2 preemptions is covered
}

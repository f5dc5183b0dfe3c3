package explore

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/explore/internal/testkit"
)

// drawSchedule is a schedule with holds, and perhaps random picks, for goroutines of a program.
func drawSchedule(t *rapid.T, goroutines []GoroutineID) Schedule {
	s := Schedule{WantEnabled: true, EarlyTimers: rapid.IntRange(0, 2).Draw(t, "early timers"),
		Seed: rapid.Uint64Range(0, 50).Draw(t, "seed")}
	for range rapid.IntRange(0, 4).Draw(t, "holds") {
		s.Holds = append(s.Holds, Hold{Goroutine: rapid.SampledFrom(goroutines).Draw(t, "goroutine"),
			Nth: rapid.IntRange(1, 5).Draw(t, "nth")})
	}
	if s.Seed == 0 {
		return s
	}
	switch s.Order = Order(rapid.IntRange(0, int(Orders)-1).Draw(t, "order")); s.Order {
	case Uniform:
		if rapid.Bool().Draw(t, "by priority") {
			s.Priorities = &Priorities{Changes: []int{rapid.IntRange(1, 9).Draw(t, "change")}}
		}
	case Walk:
		s.Objects = []ObjectID{1, 2}
		for _, g := range goroutines {
			s.Weights = append(s.Weights, Weight{Goroutine: g,
				Events: rapid.IntRange(0, 3).Draw(t, "weight")})
		}
	}
	for at := range 4 {
		s.Rare = append(s.Rare, Rare{Kind: EarlyTimer, At: 1 + 2*at})
	}
	return s
}

// TestHolds: a goroutine that is held is picked only if nobody else can be, and no time can pass
// early; then it is the first in the list of which that is true.
func TestHolds(t *testing.T) {
	profile := testkit.Profile{Blocks: testkit.Join(testkit.Variables, testkit.Mutexes,
		testkit.Channels, testkit.Times)}
	var held, released int
	rapid.Check(t, func(t *rapid.T) {
		p := profile.Generate(t)
		var goroutines []GoroutineID
		for _, x := range testkit.Run(p, Schedule{}, 0).Log.Transitions {
			if x.Goroutine != 0 && !slices.Contains(goroutines, x.Goroutine) {
				goroutines = append(goroutines, x.Goroutine)
			}
		}
		if len(goroutines) == 0 {
			t.Skip("nothing happens")
		}
		s := drawSchedule(t, goroutines)
		kept, freed := checkHolds(t, s, testkit.Run(p, s, 200).Log)
		held, released = held+kept, released+freed
	})
	if held == 0 || released == 0 {
		t.Errorf("%d goroutines were held, and %d released", held, released)
	}
}

// checkHolds looks at each pick: how often goroutines were held, and released.
func checkHolds(t rapid.TB, s Schedule, e Execution) (held, released int) {
	done := map[GoroutineID]int{}
	next := func(g GoroutineID) Hold { return Hold{Goroutine: g, Nth: done[g] + 1} }
	isHeld := func(g GoroutineID) bool { return slices.Contains(s.Holds, next(g)) }
	free := map[Hold]bool{}
	for i, x := range e.Transitions {
		var first *Hold
		others := 0
		for _, a := range x.Enabled {
			switch {
			case a.Goroutine == 0:
			case isHeld(a.Goroutine) && !free[next(a.Goroutine)]:
				held++
			default:
				others++
			}
		}
		for _, h := range s.Holds {
			enabled := slices.ContainsFunc(x.Enabled,
				func(a Alternative) bool { return a.Goroutine == h.Goroutine })
			if first == nil && enabled && done[h.Goroutine]+1 == h.Nth && !free[h] {
				first = &h
			}
		}
		if others == 0 && first != nil {
			free[*first] = true
			released++
		}
		now := next(x.Goroutine)
		if x.Goroutine != 0 && isHeld(x.Goroutine) && !free[now] {
			t.Fatalf("transition %d: %v is picked of %v, and held by %v", i, now, x.Enabled, s.Holds)
		}
		done[x.Goroutine]++
	}
	return held, released
}

// early has each execution of a search allow early timers.
type early struct {
	*Search
	timers int
}

func (e early) Next() (Schedule, bool) {
	s, more := e.Search.Next()
	s.EarlyTimers = e.timers
	return s, more
}

// TestEarlyTimers: a program that fails only if a timer fires early fails in an execution that
// allows one, and in no other.
func TestEarlyTimers(t *testing.T) {
	p := testkit.ParseProgram("main: go p; sleep 5; load r0 x; assert r0 1\n" +
		"p: load r0 y; store x 1")
	for timers := range 3 {
		for name, s := range map[string]*Search{
			"dpor": dporSearch(), "dfs": dfsSearch(), "random": randomSearch(300, 1),
			"pct": pctSearch(300, 2, 1), "pos": posSearch(300, 1), "surw": surwSearch(300, 1),
		} {
			f, err := testkit.SearchAll(early{s, timers}, p, 0)
			if err != nil {
				t.Fatal(err)
			}
			if found := f.Verdict.Violations > 0; found != (timers > 0) {
				t.Errorf("%s: %d violations with %d early timers", name, f.Verdict.Violations, timers)
			}
		}
	}
	if log := testkit.Run(p, Schedule{EarlyTimers: 1}, 0).Log; log.Outcome != Completed {
		t.Errorf("without a seed, the first execution with early timers is %v", log.Outcome)
	}
}

// TestEarlyTimersAgainstTwin: where timers fire early, DPOR finds what its exhaustive twin finds.
func TestEarlyTimersAgainstTwin(t *testing.T) {
	profile := testkit.Profile{Blocks: testkit.Join(testkit.Variables, testkit.Mutexes, testkit.Times)}
	rapid.Check(t, func(t *rapid.T) {
		p := profile.Generate(t)
		dfs, err := testkit.SearchAll(early{maxExecutions(dfsSearch(), testkit.DFSBudget), 1}, p, 0)
		if err != nil {
			t.Fatal(err)
		}
		if dfs.Verdict.Executions == testkit.DFSBudget {
			t.Skip("too many executions to enumerate")
		}
		dpor, err := testkit.SearchAll(early{dporSearch(), 1}, p, 0)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(testkit.SortedKeys(dpor.States), testkit.SortedKeys(dfs.States)) {
			t.Fatalf("final states %v, want %v\n%v", testkit.SortedKeys(dpor.States),
				testkit.SortedKeys(dfs.States), p)
		}
	})
}

// TestTimePassesBeforeHolds: what is held goes on only when no time is left to pass early.
func TestTimePassesBeforeHolds(t *testing.T) {
	p := testkit.ParseProgram("main: go p; store x 1; load r0 y; assert r0 0\np: sleep 1; store y 1")
	for early, want := range []string{"completed", "assertion failed main: r0 is 1, not 0"} {
		w := testkit.Run(p, Schedule{Holds: []Hold{{Goroutine: 1, Nth: 2}}, EarlyTimers: early}, 0)
		if got := w.Outcome(); got != want {
			t.Errorf("with %d early timers: %s, want %s", early, got, want)
		}
	}
}

package explore

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/tandem-mc/tandem/explore/internal/random"
	"github.com/tandem-mc/tandem/explore/internal/testkit"
)

// TestPCTDetectionRates: bugs of known depth show as often as PCT promises, at least, and not
// at all in a search for a smaller depth.
func TestPCTDetectionRates(t *testing.T) {
	const executions = 10_000
	for _, bug := range []struct {
		name  string
		depth int
		text  string
	}{
		{"an order of two operations", 1, "main: go p; go q\np: store x 1\nq: load r0 x; assert r0 1"},
		{"the last of four", 1, "main: go p; go q; go r; go s\np: store x 1\nq: load r0 x\nr: load r0 x\n" +
			"s: store y 1; load r1 x; assert r1 1"},
		{"a lost update", 2, "main: add w 2; go p; go q; wait w; load r0 x; assert r0 2\n" +
			"p: load r0 x; inc x r0; done w\nq: load r0 x; inc x r0; done w"},
		{"a deadlock by two locks", 2, "main: go p; lock a; lock b; unlock b; unlock a\n" +
			"p: lock b; lock a; unlock a; unlock b"},
		{"a deadlock by three locks", 2, "main: go p; go q; lock a; lock b; unlock b; unlock a\n" +
			"p: lock b; lock c; unlock c; unlock b\nq: lock c; lock a; unlock a; unlock c"},
		{"seen between two writes", 2, "main: go p; store x 1; store y 1\n" +
			"p: load r0 x; load r1 y; skip r0 0 9; assert r1 1"},
		{"seen between, twice", 3, "main: go p; store x 1; store x 2; store x 3\n" +
			"p: load r0 x; load r1 x; skip r0 0 9; skip r0 2 9; skip r0 3 9; skip r1 1 9; assert r1 9"},
		{"there and back", 4, "main: go p; store x 1; store x 2; store x 3\n" +
			"p: load r0 x; load r1 x; skip r0 0 9; skip r0 2 9; skip r0 3 9; skip r1 1 9; skip r1 3 9; " +
			"assert r1 9"},
	} {
		p := testkit.ParseProgram(bug.text)
		if f := testkit.MustSearch(t, dporSearch(), bug.text); f.Verdict.Kind != Violated {
			t.Fatalf("%s does not show in any execution", bug.name)
		}
		f, err := testkit.SearchAll(pctSearch(executions, bug.depth, 1), p, 0)
		if err != nil {
			t.Fatal(err)
		}
		if less := bug.depth - 1; less > 0 {
			if f, err := testkit.SearchAll(pctSearch(executions, less, 1), p, 0); err != nil {
				t.Fatal(err)
			} else if f.Verdict.Violations > 0 {
				t.Errorf("%s: shows at depth %d already", bug.name, less)
			}
		}
		g, rate := f.Verdict.Guarantee, float64(f.Verdict.Violations)/executions
		t.Logf("%-26s depth %d, %d goroutines, %2d transitions: promised %.4f, measured "+
			"%.4f", bug.name, g.Depth, g.Goroutines, g.Transitions, g.Each, rate)
		if rate < g.Each {
			t.Errorf("%s: shows in %v of the executions, promised are %v", bug.name, rate, g.Each)
		}
	}
}

// TestPCTGuarantee: what is promised follows from the executions that were seen.
func TestPCTGuarantee(t *testing.T) {
	s := pctSearch(100, 3, 1)
	if v := s.Verdict(); v.Guarantee != (Guarantee{}) || v.Guarantee.String() != "" {
		t.Errorf("before the first execution %+v is promised", v.Guarantee)
	}
	report := func(transitions int) (changes []int) {
		schedule, more := s.Next()
		if !more {
			t.Fatal("the search has ended")
		}
		changes = slices.Clone(schedule.Priorities.Changes)
		e := Execution{Transitions: []Transition{{Action: Action{Goroutine: 1, Choice: 0}, Choices: 1,
			Starts: []GoroutineID{2, 3}}}}
		for range transitions - 1 {
			e.Transitions = append(e.Transitions, Transition{Action: Action{Goroutine: 2, Choice: 0},
				Choices: 1}, Transition{Choices: 1, Barrier: true})
		}
		if err := s.Report(e); err != nil {
			t.Fatal(err)
		}
		return changes
	}
	if first := report(5); len(first) != 0 {
		t.Errorf("changes at %v although nothing is known of the length", first)
	}
	for i := range 1 + random.FirstLeg + 2 { // the next leg knows of the longest
		changes, length := report([]int{5, 10, 4}[i%3]), 5
		if i >= random.FirstLeg {
			length = 10
		}
		if len(changes) != 2 || slices.Min(changes) < 1 || slices.Max(changes) > length {
			t.Errorf("changes at %v", changes)
		}
	}
	want := Guarantee{Depth: 3, Goroutines: 3, Transitions: 10, Drawn: 3, Each: 1. / 300}
	want.All = 1 - math.Pow(1-1./300, 3)
	got := s.Verdict().Guarantee
	if math.Abs(got.All-want.All) > 1e-12 {
		t.Errorf("all together promise %v, want %v", got.All, want.All)
	}
	if got.All = want.All; got != want {
		t.Errorf("%+v is promised, want %+v", got, want)
	}
	if text := got.String(); text != "a bug of depth 3 shows with probability 1/(3 x 10^2) at least in "+
		"each execution, 0.01 in 3 of them" {
		t.Error(text)
	}
}

// TestPCTIsRepeatable: the schedules depend on nothing but the seed and the program.
func TestPCTIsRepeatable(t *testing.T) {
	p := testkit.ParseProgram("main: go p; go q; choose r0 3; store x 1\np: store x 2; load r0 x\n" +
		"q: store x 3; load r0 x")
	list := func(seed uint64) (schedules []string) {
		s := pctSearch(50, 4, seed)
		for schedule, more := s.Next(); more; schedule, more = s.Next() {
			w := testkit.Run(p, schedule, 0)
			schedules = append(schedules, fmt.Sprint(schedule.Seed, schedule.Priorities.Changes, w.Path(0)))
			if err := s.Report(w.Log); err != nil {
				t.Fatal(err)
			}
		}
		if v := s.Verdict(); v.Kind != Unknown || v.Complete || !v.Guarantee.Choices {
			t.Errorf("%+v", v)
		}
		return schedules
	}
	if a := list(1); len(a) != 50 || !slices.Equal(a, list(1)) || slices.Equal(a, list(2)) {
		t.Error("the schedules are not those of the seed")
	}
}

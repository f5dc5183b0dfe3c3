package explore

import (
	"slices"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/explore/internal/core"
	"github.com/tandem-mc/tandem/explore/internal/testkit"
)

const threeWriters = "main: go p; go q; store x 1\np: store x 2\nq: store x 3" // 6 partial orders

func TestMaxExecutions(t *testing.T) {
	for n, want := range map[int]Verdict{
		0: {Kind: Unknown, Reason: "the limit of 0 executions was reached"},
		5: {Kind: Unknown, Reason: "the limit of 5 executions was " +
			"reached", Executions: 5, Transitions: 25, Last: 5, Deepest: 5},
		6: {Kind: Holds, Reason: "every execution is " +
			"covered", Executions: 6, Transitions: 30, Last: 5, Deepest: 5, Complete: true},
		7: {Kind: Holds, Reason: "every execution is " +
			"covered", Executions: 6, Transitions: 30, Last: 5, Deepest: 5, Complete: true},
	} {
		if got := certain(testkit.MustSearch(t, maxExecutions(dporSearch(), n),
			threeWriters).Verdict); got != want {
			t.Errorf("at most %d: %+v, want %+v", n, got, want)
		}
	}
}

func TestRoom(t *testing.T) {
	s := maxExecutions(maxExecutions(within(DFS, 1), 5), 3)
	for i, want := range [][]int{ // for 8, 4, 3, 2, 1, 0
		{2, 2, 1, 2, 1, 0},
		{1, 1, 1, 1, 1, 0},
		{0, 0, 0, 0, 0, 0},
	} {
		var got []int
		for _, most := range []int{8, 4, 3, 2, 1, 0} {
			got = append(got, s.Remaining(most))
		}
		if !slices.Equal(got, want) {
			t.Errorf("after %d executions there is room for %v, want %v", i, got, want)
		}
		testkit.ExecuteOne(t, s, testkit.ParseProgram(threeWriters))
	}
	if got := until(dporSearch(), AtViolation).Remaining(1000); got != 1000 {
		t.Errorf("without a bound there is room for %d of 1000", got)
	}
}

// certain is a verdict without its estimate.
func certain(v Verdict) Verdict {
	v.Estimate = Estimate{}
	return v
}

func TestUntil(t *testing.T) {
	late := false
	s := until(dporSearch(), func(v Verdict) string {
		if late {
			return "the time is over"
		}
		return ""
	})
	p := testkit.ParseProgram(threeWriters)
	for range 2 {
		schedule, more := s.Next()
		if !more || s.Verdict().Reason != "the search has not ended" {
			t.Fatalf("ended early: %+v", s.Verdict())
		}
		if err := s.Report(testkit.Run(p, schedule, 0).Log); err != nil {
			t.Fatal(err)
		}
	}
	late = true
	for range 2 { // the end stays the end
		if _, more := s.Next(); more || certain(s.Verdict()) != (Verdict{Kind: Unknown,
			Reason: "the time is over", Executions: 2, Transitions: 10, Last: 5, Deepest: 5}) {
			t.Fatalf("did not end: %+v", s.Verdict())
		}
	}
}

func TestStepLimitLeavesVerdictUnknown(t *testing.T) {
	f, err := testkit.SearchAll(dporSearch(), testkit.ParseProgram("main: go p; load r0 x; load r0 x\n"+
		"p: load r0 x; load r1 x"), 4)
	if err != nil {
		t.Fatal(err)
	}
	want := Verdict{Kind: Unknown, Reason: "1 of 1 executions were cut " +
		"off", Executions: 1, Limited: 1, Transitions: 4, Last: 4, Deepest: 4}
	if certain(f.Verdict) != want {
		t.Errorf("%+v, want %+v", f.Verdict, want)
	}
}

// TestStepLimitAgainstTwin: of what is within the limit, all states before it are
// found that DFS finds.
func TestStepLimitFindsWhatEndsWithin(t *testing.T) {
	text := "main: go p; lock a; lock b; unlock b; unlock a; load r0 x; load r0 x; load r0 x\n" +
		"p: lock b; lock a; unlock a; unlock b"
	for limit := 1; limit < 8; limit++ {
		dpor, err := testkit.SearchAll(dporSearch(), testkit.ParseProgram(text), limit)
		if err != nil {
			t.Fatal(err)
		}
		dfs, err := testkit.SearchAll(dfsSearch(), testkit.ParseProgram(text), limit)
		if err != nil {
			t.Fatal(err)
		}
		if dpor.Outcomes["deadlock"] == 0 && dfs.Outcomes["deadlock"] > 0 {
			t.Errorf("limit %d: the deadlock is not found: %v", limit, dpor.Outcomes)
		}
	}
}

func TestRandom(t *testing.T) {
	seeds := func(seed uint64) (list []uint64) {
		s := randomSearch(50, seed)
		for schedule, more := s.Next(); more; schedule, more = s.Next() {
			list = append(list, schedule.Seed)
			if err := s.Report(Execution{}); err != nil {
				t.Fatal(err)
			}
		}
		return list
	}
	a, b := seeds(0), seeds(1)
	if len(a) != 50 || slices.Contains(a, 0) || len(slices.Compact(slices.Sorted(slices.Values(a)))) != 50 {
		t.Errorf("seeds are not 50 different ones: %v", a)
	}
	if !slices.Equal(a, seeds(0)) || slices.Equal(a, b) {
		t.Error("seeds do not depend on the seed of the search alone")
	}
	f := testkit.MustSearch(t, randomSearch(200, 1), threeWriters)
	if len(f.Fingerprints) != 6 || f.Verdict.Kind != Unknown ||
		!strings.Contains(f.Verdict.Reason, "200 random schedules") {
		t.Errorf("%d partial orders, %+v", len(f.Fingerprints), f.Verdict)
	}
}

// TestReplay replays the executions of a search to the end.
func TestReplay(t *testing.T) {
	p := testkit.ParseProgram("main: go p; lock a; lock b; unlock b; unlock a\n" +
		"p: lock b; lock a; unlock a; unlock b")
	s := dporSearch()
	for schedule, more := s.Next(); more; schedule, more = s.Next() {
		w := testkit.Run(p, schedule, 0)
		if err := s.Report(w.Log); err != nil {
			t.Fatal(err)
		}
		var prefix []Action
		for _, x := range w.Log.Transitions {
			prefix = append(prefix, x.Action)
		}
		f, err := testkit.SearchAll(replaySearch(prefix), p, 0)
		if err != nil {
			t.Fatal(err)
		}
		if f.States[w.State()] != 1 || f.Verdict.Executions != 1 ||
			(f.Verdict.Kind == Violated) != w.Log.Outcome.Violation() {
			t.Errorf("replayed %v: %+v, want %s", prefix, f.Verdict, w.State())
		}
	}
}

func TestNames(t *testing.T) {
	var got []string
	for o := range core.Outcomes + 1 {
		got = append(got, o.String())
		if o.Violation() != slices.Contains([]Outcome{Deadlock, Panicked, Exited, AssertionFailed, Leaked,
			DataRace, Livelock}, o) {
			t.Errorf("%v: Violation() = %v", o, o.Violation())
		}
	}
	for k := range Violated + 2 {
		got = append(got, k.String())
	}
	want := "completed, deadlock, panicked, exited with a non-zero status, assertion failed, goroutine " +
		"leak, data race, redundant, step limit reached, livelock, outcome 10, " +
		"unknown, holds, violated, verdict 3"
	if names := strings.Join(got, ", "); names != want {
		t.Errorf("names: %s", names)
	}
}

// TestCompleteWithViolations: a search that went on to its end after violations
// knows that there are no others; one that was stopped does not.
func TestCompleteWithViolations(t *testing.T) {
	p := testkit.ParseProgram("main: go p; lock a; lock b; unlock b; unlock a\n" +
		"p: lock b; lock a; unlock a; unlock b")
	for _, test := range []struct {
		search *Search
		want   bool
	}{{dporSearch(), true}, {until(dporSearch(), AtViolation), false}, {randomSearch(100, 1), false}} {
		f, err := testkit.SearchAll(test.search, p, 0)
		if err != nil {
			t.Fatal(err)
		}
		if v := f.Verdict; v.Violations == 0 || v.Complete != test.want {
			t.Errorf("%+v, want violations and complete %v", v, test.want)
		}
	}
}

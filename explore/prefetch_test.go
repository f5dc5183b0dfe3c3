package explore

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tandem-mc/tandem/explore/internal/testkit"
	"pgregory.net/rapid"
)

// foreseeing is a search of which schedules are run ahead of it.
type foreseeing struct {
	*Search
	t      *rapid.T
	lists  *rapid.Generator[int] // how many are listed after each Next
	listed []Schedule
	used   int
	// What is listed may be asked for later, and in another order, but is not listed twice.
	anyOrder bool
}

func (f *foreseeing) Next() (Schedule, bool) {
	s, more := f.Search.Next()
	if !more {
		return s, false
	}
	at := slices.IndexFunc(f.listed, func(x Schedule) bool { return x.Equal(&s) && x.Hash() == s.Hash() })
	if !f.anyOrder && len(f.listed) > 0 && at != 0 {
		f.t.Fatalf("%v was listed as the next one, which is %v", f.listed[0], s)
	}
	if at >= 0 {
		f.listed, f.used = slices.Delete(f.listed, at, at+1), f.used+1
	}
	n := f.lists.Draw(f.t, "ahead")
	list := f.Search.Prefetch(n)
	if len(list) > n {
		f.t.Fatalf("%d schedules, wanted %d", len(list), n)
	}
	for _, x := range list {
		if f.anyOrder && slices.ContainsFunc(f.listed, func(y Schedule) bool { return x.Equal(&y) }) {
			f.t.Fatalf("%v is listed twice", x)
		}
		f.listed = append(f.listed, x)
	}
	return s, true
}

// TestAhead: a random search asks for all that it has listed, in that order, and otherwise for what
// it does alone.
func TestAhead(t *testing.T) {
	everything := testkit.Profile{Blocks: testkit.Join(testkit.Variables, testkit.Mutexes,
		testkit.WaitGroups, testkit.Channels, testkit.Choices, testkit.Times, testkit.Branches)}
	for _, name := range []string{"random", "pct", "pos", "surw", "limited random"} {
		newSearch := saveables[name]
		if newSearch == nil {
			newSearch = func() *Search {
				return maxExecutions(mustNew(Config{Algorithm: Random, Executions: 60, Seed: 7,
					Preemptions: new(2)}), 50)
			}
		}
		t.Run(name, func(t *testing.T) {
			used := 0
			rapid.Check(t, func(t *rapid.T) {
				p := everything.Generate(t)
				want, verdict := testkit.Record(t, newSearch(), p, testkit.Never)
				f := &foreseeing{Search: newSearch(), t: t, lists: rapid.IntRange(0, 3)}
				got, ahead := testkit.Record(t, f, p, testkit.Never)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("executions (-alone +run ahead):\n%s%v", diff, p)
				}
				if diff := cmp.Diff(verdict, ahead); diff != "" {
					t.Fatalf("verdict (-alone +run ahead):\n%s%v", diff, p)
				}
				used += f.used
			})
			if used == 0 {
				t.Error("nothing was run ahead")
			}
		})
	}
}

// TestAheadOfNothing: what has ended, or is divided instead, lists nothing.
func TestAheadOfNothing(t *testing.T) {
	for name, s := range map[string]*Search{
		"dfs": dfsSearch(), "dpor": dporSearch(), "random": randomSearch(1, 1),
		"replay": replaySearch(nil), "bounded": maxExecutions(replaySearch(nil), 3),
	} {
		s.Next()
		if list := s.Prefetch(10); len(list) > 0 {
			t.Errorf("%s: %v", name, list)
		}
	}
}

// TestScheduleEqual: whatever a worker looks at makes a difference.
func TestScheduleEqual(t *testing.T) {
	one, two := 1, 2
	list := []Schedule{
		{}, {Seed: 1}, {SleepFrom: 1}, {Tentative: true}, {WantEnabled: true},
		{Prefix: []Action{{Goroutine: 1}}}, {Prefix: []Action{{Goroutine: 2}}},
		{Prefix: []Action{{Goroutine: 1, Choice: 1}}},
		{Sleep: []*Sleeper{{Action: Action{Goroutine: 1}}}},
		{Sleep: []*Sleeper{{Accesses: []Access{{Object: 1}}}}},
		{Priorities: &Priorities{}}, {Priorities: &Priorities{Changes: []int{1}}},
		{Limits: Limits{Preemptions: &one}}, {Limits: Limits{Preemptions: &two}},
		{Limits: Limits{Delays: &one}},
		{Holds: []Hold{{Goroutine: 1, Nth: 1}}}, {Holds: []Hold{{Goroutine: 1, Nth: 2}}},
		{EarlyTimers: 1}, {Order: PartialOrder}, {Order: Walk},
		{Weights: []Weight{{Goroutine: 1, Events: 1}}}, {Objects: []ObjectID{1}},
	}
	for i := range list {
		for j := range list {
			if got := list[i].Equal(&list[j]); got != (i == j) {
				t.Errorf("%+v equals %+v: %v", list[i], list[j], got)
			}
		}
	}
	again := Schedule{Limits: Limits{Preemptions: new(int)}}
	if *again.Limits.Preemptions = 1; !again.Equal(&list[12]) || again.Hash() != list[12].Hash() {
		t.Error("equal schedules are not equal")
	}
}

package explore

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// foreseeing is a search of which schedules are run ahead of it.
type foreseeing struct {
	Search
	t       *rapid.T
	program *program
	lists   *rapid.Generator[int] // how many are listed after each Next
	early   map[uint64][]runAhead
	listed  int
	used    int
}

// runAhead is an execution that was run before it was asked for.
type runAhead struct {
	schedule Schedule
	log      Execution
	beyond   bool // Beyond has listed it
}

func (f *foreseeing) Next() (Schedule, bool) {
	s, more := f.Search.Next()
	if !more {
		return s, false
	}
	n := f.lists.Draw(f.t, "ahead")
	within := f.lists.Draw(f.t, "within") * 2
	list := Ahead(f.Search, n, within)
	if _, ok := f.Search.(*dpor); len(list) > n || ok && len(list) > within {
		f.t.Fatalf("%d schedules, wanted %d, within the next %d", len(list), n, within)
	}
	for _, early := range list {
		if early.Equal(&s) {
			f.t.Fatalf("%v is listed, and is being run\n%v", early, f.program)
		}
		f.run(early, n-1, false)
	}
	return s, true
}

// run runs a schedule early, and what it leads to, so many levels deep.
func (f *foreseeing) run(early Schedule, levels int, beyond bool) {
	h := early.Hash()
	if i := f.find(&early); i >= 0 {
		if beyond || !f.early[h][i].beyond {
			f.t.Fatalf("%v is listed, and was before\n%v", early, f.program)
		}
		return
	}
	log := run(f.program, early, 0).log
	f.early[h] = append(f.early[h], runAhead{early, log, beyond})
	f.listed++
	if levels > 0 {
		for _, next := range Beyond(f.Search, &early, &log) {
			f.run(next, levels-1, true)
		}
	}
}

func (f *foreseeing) find(s *Schedule) int {
	for i, early := range f.early[s.Hash()] {
		if early.schedule.Equal(s) {
			return i
		}
	}
	return -1
}

// execution is that of a schedule, which was run ahead or is run now.
func (f *foreseeing) execution(s Schedule) Execution {
	h := s.Hash()
	if i := f.find(&s); i >= 0 {
		f.used++
		log := f.early[h][i].log
		f.early[h] = append(f.early[h][:i:i], f.early[h][i+1:]...)
		return log
	}
	return run(f.program, s, 0).log
}

// TestAhead: a search of which executions are run ahead, as many and whenever, is the same
// search. Enumerating and random searches ask for everything that they have listed.
func TestAhead(t *testing.T) {
	for name, newSearch := range saveables {
		everything := profile{blocks: join(variables, mutexes, waitGroups, channels, choices, times, branches)}
		if name == "dpor" {
			everything.size = 6
		}
		t.Run(name, func(t *testing.T) {
			listed, used := 0, 0
			rapid.Check(t, func(t *rapid.T) {
				p := everything.generate(t)
				want, verdict := record(t, newSearch(), p, never)
				f := &foreseeing{Search: newSearch(), t: t, program: p, lists: rapid.IntRange(0, 3), early: map[uint64][]runAhead{}}
				var got []executed
				for s, more := f.Next(); more; s, more = f.Next() {
					log := f.execution(s)
					if err := f.Report(log); err != nil {
						t.Fatalf("execution %d: %v\n%v", len(got), err, p)
					}
					x := executed{Outcome: log.Outcome}
					for _, transition := range log.Transitions {
						x.Actions = append(x.Actions, transition.Action)
					}
					got = append(got, x)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("executions (-alone +run ahead):\n%s%v", diff, p)
				}
				if diff := cmp.Diff(verdict, f.Verdict()); diff != "" {
					t.Fatalf("verdict (-alone +run ahead):\n%s%v", diff, p)
				}
				listed, used = listed+f.listed, used+f.used
				if (name == "dfs" || name == "random" || name == "limited") && f.used < f.listed {
					t.Fatalf("of %d executions run ahead %d were asked for\n%v", f.listed, f.used, p)
				}
			})
			t.Logf("of %d executions run ahead %d were asked for", listed, used)
			if used < listed*3/4 && name != "bounded" {
				t.Errorf("only %d of %d executions were not run in vain", used, listed)
			}
			if used == 0 {
				t.Error("nothing was run ahead")
			}
		})
	}
}

// TestAheadOfNothing: what has ended, or knows nothing of what comes, lists nothing.
func TestAheadOfNothing(t *testing.T) {
	for name, s := range map[string]Search{
		"dfs": DFS(), "dpor": DPOR(), "random": Random(1, 1), "replay": Replay(nil), "bounded": MaxExecutions(Replay(nil), 3),
	} {
		s.Next()
		if list := Ahead(s, 10, 10); len(list) > 0 {
			t.Errorf("%s: %v", name, list)
		}
	}
}

// TestScheduleEqual: whatever a worker looks at makes a difference.
func TestScheduleEqual(t *testing.T) {
	one, two := 1, 2
	list := []Schedule{
		{}, {Seed: 1}, {SleepFrom: 1}, {Tentative: true}, {WantEnabled: true},
		{Prefix: []Action{{Goroutine: 1}}}, {Prefix: []Action{{Goroutine: 2}}}, {Prefix: []Action{{Goroutine: 1, Choice: 1}}},
		{Sleep: []Sleeper{{Action: Action{Goroutine: 1}}}}, {Sleep: []Sleeper{{Accesses: []Access{{Object: 1}}}}},
		{Priorities: &Priorities{}}, {Priorities: &Priorities{Changes: []int{1}}},
		{Limits: Limits{Preemptions: &one}}, {Limits: Limits{Preemptions: &two}}, {Limits: Limits{Delays: &one}},
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

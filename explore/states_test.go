package explore

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tandem-mc/tandem/explore/internal/core"
	"github.com/tandem-mc/tandem/explore/internal/testkit"
	"pgregory.net/rapid"
)

// namingSearches are those that end executions at known states.
var namingSearches = map[string]func() *Search{
	"dfs":  dfsSearch,
	"dpor": dporSearch,
	"auto": func() *Search { return mustNew(Config{Algorithm: Auto, Seed: 1}) },
}

// withStates has a search end executions at known states.
func withStates(s *Search) *Search {
	s.NameStates()
	return s
}

// endlessProgram has states, and no end.
const endlessProgram = "main: go p; state 0; choose r0 2; inc x r0; skip r3 0 -4\n" +
	"p: state 0; load r0 x; store y 1; store y 0; skip r3 0 -5"

// withFew is withStates with so few states that tables get full.
func withFew(s *Search) *Search {
	s.naming.begin(3)
	return s
}

// reachable is the simple twin: all that a program can end with. It goes from state to state, by
// every action that can be picked, and looks at the whole state to know whether it was there. It
// knows nothing of what the program names. The result is nil if there are too many states.
func reachable(p *testkit.Program, most int) map[string]bool {
	ends, seen := map[string]bool{}, map[string]bool{}
	open := [][]core.Action{nil}
	for len(open) > 0 {
		path := open[0]
		open = open[1:]
		w := testkit.Follow(p, path)
		if !w.Ended && len(w.Enabled()) == 0 {
			w.Log.Outcome = core.Deadlock
		}
		if w.Ended || w.Log.Outcome == core.Deadlock {
			ends[endOf(w.Log.Outcome, w.Outcome(), w.State())] = true
			continue
		}
		whole := w.Whole(0)
		if seen[whole] {
			continue
		}
		if seen[whole] = true; len(seen) > most {
			return nil
		}
		for _, a := range w.Enabled() {
			for choice := range a.Choices {
				open = append(open, append(slices.Clip(path), core.Action{Goroutine: a.Goroutine,
					Choice: choice}))
			}
		}
	}
	return ends
}

// generateLoops draws a program whose goroutines go round in loops for ever, or leave them by what
// they read, and name the whole state where a round begins.
func generateLoops(t *rapid.T) *testkit.Program {
	blocks := []string{"store x 1", "store x 0", "load r0 x", "inc x r0", "load r0 z; assert r0 0",
		"lock m; store y 1; unlock m", "lock m; load r1 y; unlock m", "choose r0 2", "choose r0 2; inc z r0",
		"send c 1", "recv r0 c", "send b1 1", "recv r1 b1", "poll r2 b1", "select r2 c b1", "sleep 1",
		"load r1 x; skip r1 1 1; store y 2", "skip r0 1 1; exit 1"}
	var text strings.Builder
	names := []string{"main", "p", "q"}[:rapid.IntRange(1, 3).Draw(t, "goroutines")]
	for i, name := range names {
		var body []string
		for _, other := range names[1:] {
			if i == 0 {
				body = append(body, "go "+other)
			}
		}
		before := len(body)
		if rapid.IntRange(0, 3).Draw(t, "names") > 0 {
			body = append(body, "state 0")
		}
		for range rapid.IntRange(1, 3).Draw(t, "blocks") {
			body = append(body, rapid.SampledFrom(blocks).Draw(t, "block"))
		}
		if seal := rapid.IntRange(0, 3).Draw(t, "seal"); seal == 0 { // what follows the first operation
			last := &body[len(body)-1]
			for _, op := range []string{"store", "unlock", "load", "lock"} {
				*last = strings.ReplaceAll(*last, "; "+op+" ", "; ."+op+" ")
			}
		}
		round := strings.Count(strings.Join(body[before:], ";"), ";") + 2
		switch rapid.IntRange(0, 3).Draw(t, "loops") {
		case 0: // it does not
		case 1:
			body = append(body, fmt.Sprintf("skip r0 1 -%d", round))
		default:
			body = append(body, fmt.Sprintf("skip r3 0 -%d", round))
		}
		fmt.Fprintf(&text, "%s: %s\n", name, strings.Join(body, ";"))
	}
	return testkit.ParseProgram(text.String())
}

// endOf says what a program has ended with. If an operation has ended it early, the state is left
// out: what others do first, which does not concern that operation, searches do not tell apart.
func endOf(o Outcome, outcome, state string) string {
	if o.Violation() && o != Deadlock {
		return outcome
	}
	return state
}

// searchEnds lets a search run a program.
func searchEnds(t *rapid.T, s *Search, p *testkit.Program, depth int) ([]string, Verdict) {
	found := map[string]bool{}
	for {
		schedule, more := s.Next()
		if !more {
			return slices.Sorted(maps.Keys(found)), s.Verdict()
		}
		w := testkit.Run(p, schedule, depth)
		if err := s.Report(w.Log); err != nil {
			t.Fatalf("%v\n%v", err, p)
		}
		known := w.Log.Outcome == Completed && strings.HasSuffix(w.Outcome(), "known")
		if !known && w.Log.Outcome != StepLimit && w.Log.Outcome != Redundant {
			found[endOf(w.Log.Outcome, w.Outcome(), w.State())] = true
		}
	}
}

// TestStatesAgainstTwin: a search that ends executions at known states, and is complete, has found
// all that a program can end with, and nothing else, and all states that a search without reduction
// finds. No promise is broken, since the states are
// those of the whole program.
func TestStatesAgainstTwin(t *testing.T) {
	const most, depth, budget = 400, 80, 1500
	for name, search := range namingSearches {
		compared, endless, ended := 0, 0, 0
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			p := generateLoops(t)
			ends := reachable(p, most)
			if ends == nil {
				t.Skip("too many states")
			}
			found, v := searchEnds(t, withStates(maxExecutions(search(), budget)), p, depth)
			if v.States.Broken != nil {
				t.Fatalf("%v: %v\n%v", v.Kind, v.States.Broken, p)
			}
			for _, end := range found {
				if !ends[end] {
					t.Fatalf("it cannot end with %s\n%v", end, p)
				}
			}
			if v.Executions >= budget || v.Kind == Unknown || v.Phases.CutOff+v.Limited > 0 {
				t.Skip("it is not complete")
			}
			compared++
			ended += v.States.Ended
			_, all := searchEnds(t, withStates(maxExecutions(dfsSearch(), budget)), p, depth)
			if v.Kind == Holds && all.Kind == Holds && all.States.Known != v.States.Known {
				t.Fatalf("%d states are known, and %d without reduction\n%v", v.States.Known,
					all.States.Known, p)
			}
			if len(ends) == 0 {
				endless++
			}
			if diff := cmp.Diff(slices.Sorted(maps.Keys(ends)), found); diff != "" {
				t.Fatalf("ends (-there are +found), %+v:\n%s%v", v, diff, p)
			}
		}))
		if compared < 20 || ended < 100 || endless == 0 {
			t.Errorf("%s: only %d programs were compared, %d of them without an end, and %d executions "+
				"ended at known states", name, compared, endless, ended)
		}
	}
}

// TestFewStates: where the table is full, states are taken for new ones, and no promise for broken.
// What is found is possible, and if the search is complete, it is all.
func TestFewStates(t *testing.T) {
	full := 0
	rapid.Check(t, func(t *rapid.T) {
		p := generateLoops(t)
		ends := reachable(p, 400)
		if ends == nil {
			t.Skip("too many states")
		}
		found, v := searchEnds(t, withFew(maxExecutions(dporSearch(), 500)), p, 80)
		if v.States.Broken != nil || v.States.Known > 3 {
			t.Fatalf("%+v\n%v", v, p)
		}
		if v.States.Full {
			full++
		}
		if v.Kind == Holds && len(found) != len(ends) {
			t.Fatalf("%d ends of %d\n%v", len(found), len(ends), p)
		}
	})
	if full == 0 {
		t.Error("no table was full")
	}
}

// TestStatesResume interrupts searches that end executions at known states: what is executed then,
// in which order, and the verdict are those of a search that was not.
func TestStatesResume(t *testing.T) {
	for name, search := range namingSearches {
		for kind, with := range map[string]func(*Search) *Search{"": withStates, "few ": withFew} {
			t.Run(kind+name, rapid.MakeCheck(func(t *rapid.T) {
				p := generateLoops(t)
				run := func(interrupt func(s *Search) *Search) (list []string) {
					s := with(maxExecutions(search(), 120))
					for {
						s = interrupt(s)
						schedule, more := s.Next()
						if !more {
							return append(list, fmt.Sprintf("%+v", s.Verdict()))
						}
						if next := interrupt(s); next != s {
							s = next
							continue
						}
						log := testkit.Run(p, schedule, 60).Log
						if err := s.Report(log); err != nil {
							t.Fatalf("%v\n%v", err, p)
						}
						list = append(list, fmt.Sprint(log.Outcome, len(log.Transitions), log.Transitions))
					}
				}
				want := run(func(s *Search) *Search { return s })
				got := run(func(s *Search) *Search {
					if rapid.IntRange(0, 3).Draw(t, "goes on") > 0 {
						return s
					}
					return maxExecutions(saved(t, s, with(search())), 120)
				})
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("(-uninterrupted +resumed):\n%s%v", diff, p)
				}
			}))
		}
	}
}

// TestBrokenPromise: a state that leaves out what the rest depends on is found out, by a violation
// if the rest has one.
func TestBrokenPromise(t *testing.T) {
	for _, c := range []struct{ name, program, kind, reason string }{
		{"another state follows",
			"main: choose r0 2; inc x r0; state 3; load r1 x; skip r1 1 1; store y 7; store x 0; state 2",
			"unknown", "execution 2, which ended in a known state and was run further, " +
				"named a state in transition 3 that execution 1 had named in transition 3, and went on " +
				"to a state that is not known, as no execution of the search did from there"},
		{"another end", "main: choose r0 2; inc x r0; state 3; load r1 x; skip r1 1 2; lock m; lock m",
			"violated", "1 of 3 executions are violations"},
		{"a violation", "main: choose r0 2; inc x r0; state 3; load r1 x; assert r1 1",
			"violated", "1 of 3 executions are violations"},
		{"a known state follows", "main: choose r0 2; inc x r0; state 3; load r1 x; skip r1 1 1; " +
			"skip r3 0 -4",
			"unknown", "execution 2, which ended in a known state and was run further, " +
				"named a state in transition 3 that execution 1 had named in transition 3, and went on " +
				"to a known state, as no execution of the search did from there"},
		{"it holds", "main: choose r0 2; inc x r0; state 0; load r1 x", "holds",
			"every execution is covered"},
	} {
		for name, search := range namingSearches {
			v := testkit.MustSearch(t, withStates(search()), c.program).Verdict
			if v.Kind.String() != c.kind || name == "dpor" && reasonOf(v) != c.reason {
				t.Errorf("%s, %s: %v, %s", c.name, name, v.Kind, reasonOf(v))
			}
		}
	}
}

// reasonOf is the reason of a verdict, or where the promise is broken.
func reasonOf(v Verdict) string {
	if b := v.States.Broken; b != nil && v.Reason == "the promise of tandem.State is broken" {
		return b.String()
	}
	return v.Reason
}

// TestNamable: within bounds, and where what is explored is drawn, no execution ends at a known
// state.
func TestNamable(t *testing.T) {
	for _, c := range []struct {
		config Config
		want   bool
	}{
		{Config{}, true}, {Config{Algorithm: DFS}, true}, {Config{Algorithm: Auto}, true},
		{Config{Preemptions: new(1)}, false}, {Config{Algorithm: DFS, Delays: new(1)}, false},
		{Config{Algorithm: Directed}, false}, {Config{Algorithm: Random, Executions: 1}, false},
	} {
		s := withStates(mustNew(c.config))
		schedule, _ := s.Next()
		if s.CanNameStates() != c.want || (schedule.States != nil) != c.want {
			t.Errorf("%+v: %v", c.config, s.CanNameStates())
		}
	}
}

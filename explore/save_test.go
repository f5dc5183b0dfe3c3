package explore

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tandem-mc/tandem/explore/internal/portfolio"
	"github.com/tandem-mc/tandem/explore/internal/testkit"
	"pgregory.net/rapid"
)

// saveables are the searches that can be saved, each made anew.
var saveables = map[string]func() *Search{
	"dfs":     dfsSearch,
	"dpor":    dporSearch,
	"random":  func() *Search { return randomSearch(60, 7) },
	"pct":     func() *Search { return pctSearch(60, 3, 7) },
	"pos":     func() *Search { return posSearch(60, 7) },
	"surw":    func() *Search { return surwSearch(60, 7) },
	"states":  func() *Search { return withStates(dporSearch()) },
	"bounded": func() *Search { return until(maxExecutions(dfsSearch(), 40), AtViolation) },
	"bpor":    func() *Search { return within(DPOR, 2) },
	"auto":    autoSearch,
	"auto-rests": func() *Search {
		s := mustNew(Config{Algorithm: Auto, Seed: 1, EarlyTimers: 2, Executions: 40})
		s.core.(*portfolio.Search).Opening, s.core.(*portfolio.Search).Rest = 0, 4
		return s
	},
	"auto-timed": func() *Search { // which sees little aside
		s := autoSearch()
		s.core.(*portfolio.Search).Opening = 0
		return s
	},
	"auto-bounded": func() *Search {
		return mustNew(Config{Algorithm: Auto, Preemptions: new(2), Seed: 3, EarlyTimers: 2})
	},
	"directed":         directedSearch,
	"directed-bounded": func() *Search { return within(Directed, 1) },
	"limited": func() *Search {
		return mustNew(Config{Algorithm: DFS, Preemptions: new(1), Delays: new(3)})
	},
}

// TestResume interrupts searches of random programs at random places, once and again:
// what is executed, in which order, and the verdict are those of a search that was not.
func TestResume(t *testing.T) {
	everything := testkit.Profile{Blocks: testkit.Join(testkit.Variables, testkit.Mutexes,
		testkit.WaitGroups, testkit.Channels, testkit.Choices, testkit.Times, testkit.Branches,
		testkit.Estimates)}
	for name, make := range saveables {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				p := everything.Generate(t)
				want, verdict := testkit.Record(t, make(), p, testkit.Never)
				often := rapid.SampledFrom([]int{1, 4, 30}).Draw(t, "often")
				moments := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "moments"), 0))
				got, resumed := testkit.Record(t, make(), p, func(s *Search, underWay bool) *Search {
					if moments.IntN(often) > 0 || underWay && moments.IntN(2) == 0 {
						return s
					}
					return saved(t, s, make())
				})
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("executions (-uninterrupted +resumed):\n%s%v", diff, p)
				}
				if verdict != resumed {
					t.Fatalf("verdict %+v, want %+v\n%v", resumed, verdict, p)
				}
			})
		})
	}
}

// saved is a search that goes on where another one was.
func saved(t rapid.TB, s, to *Search) *Search {
	state, err := s.Save()
	if err != nil {
		t.Fatal(err)
	}
	if state == nil {
		return s
	}
	if err := to.Resume(state); err != nil {
		t.Fatal(err)
	}
	again, err := to.Save()
	if err != nil || !slices.Equal(state, again) {
		t.Fatalf("a search that was resumed is saved differently (%v):\n%x\n%x", err, state, again)
	}
	if certain(to.Verdict()) != certain(s.Verdict()) && s.Verdict().Reason == "the search has not ended" {
		t.Fatalf("verdict %+v, want %+v", to.Verdict(), s.Verdict())
	}
	return to
}

// partly is a search of a program after so many executions.
func partly(t testing.TB, s *Search, text string, executions int) *Search {
	p := testkit.ParseProgram(text)
	for range executions {
		schedule, more := s.Next()
		if !more {
			break
		}
		if err := s.Report(testkit.Run(p, schedule, 0).Log); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// TestRaisedBound goes on with a search that has reached a bound.
func TestRaisedBound(t *testing.T) {
	for name, make := range map[string]func(n int) *Search{
		"dfs":    func(n int) *Search { return maxExecutions(dfsSearch(), n) },
		"dpor":   func(n int) *Search { return maxExecutions(dporSearch(), n) },
		"random": func(n int) *Search { return maxExecutions(randomSearch(n, 3), n) },
		"pct":    func(n int) *Search { return maxExecutions(pctSearch(n, 3, 3), n) },
		"pos":    func(n int) *Search { return maxExecutions(posSearch(n, 3), n) },
		"surw":   func(n int) *Search { return maxExecutions(surwSearch(n, 3), n) },

		"directed": func(n int) *Search { return maxExecutions(directedSearch(), n) },
	} {
		s := make(4)
		first := testkit.MustSearch(t, s, threeWriters)
		state, err := s.Save()
		if err != nil {
			t.Fatal(err)
		}
		s = make(9)
		if err := s.Resume(state); err != nil {
			t.Fatal(err)
		}
		second, whole := testkit.MustSearch(t, s, threeWriters), testkit.MustSearch(t, make(9), threeWriters)
		if first.Verdict.Executions != 4 || second.Verdict != whole.Verdict {
			t.Errorf("%s: %+v, then %+v; want %+v", name, first.Verdict, second.Verdict, whole.Verdict)
		}
	}
}

// TestResumeOtherProgram: the next execution shows that the program is another one.
func TestResumeOtherProgram(t *testing.T) {
	for name, make := range saveables {
		if slices.Contains([]string{"random", "pct", "pos", "surw"}, name) {
			continue // its schedules hold for every program
		}
		s := saved(t, partly(t, make(), threeWriters, 3), make())
		before := s.Verdict().Phases.Systematic
		other := testkit.Run(testkit.ParseProgram("main: go p; lock m; unlock m\n"+
			"p: lock m; unlock m"), Schedule{WantEnabled: true}, 0).Log
		var err error
		for err == nil && s.Verdict().Phases.Systematic == before { // others are of every program
			schedule, more := s.Next()
			if !more {
				t.Fatalf("%s: nothing left to do", name)
			}
			if err = s.Report(other); err == nil && s.Verdict().Phases.All() == 0 {
				t.Errorf("%s: no error after schedule %v", name, schedule.Prefix)
				break
			}
		}
		var diverged *DivergenceError
		if !errors.As(err, &diverged) {
			t.Errorf("%s: %v, want a DivergenceError", name, err)
		}
	}
}

// TestStateErrors damages states.
func TestStateErrors(t *testing.T) {
	for name, make := range saveables {
		state, err := partly(t, make(), threeWriters, 3).Save()
		if err != nil {
			t.Fatal(err)
		}
		for length := range state {
			if err := make().Resume(state[:length]); err == nil {
				t.Errorf("%s: the first %d of %d bytes are taken for a state", name, length, len(state))
			}
		}
		wrong := func(why string, s *Search, state []byte, says string) {
			if got := fmt.Sprint(s.Resume(state)); got != "the saved state of the search cannot be "+
				"used: "+says {
				t.Errorf("%s, %s: %s", name, why, got)
			}
		}
		wrong("a byte more", make(), append(slices.Clone(state), 0), "1 bytes follow its end")
		wrong("another version", make(), append([]byte{99}, state[1:]...), fmt.Sprintf("it is of version "+
			"99, and this program reads version %d", stateVersion))
	}
	state, _ := dfsSearch().Save()
	want := "the saved state of the search cannot be used: " +
		"it is that of a search \"dfs\", and this one is \"random\""
	if got := fmt.Sprint(randomSearch(1, 1).Resume(state)); got != want {
		t.Errorf("another search: %s", got)
	}
}

// TestNothingLeft: a search that has ended by itself has no state; one that a bound has ended does.
func TestNothingLeft(t *testing.T) {
	for name, test := range map[string]struct {
		s    *Search
		left bool
	}{
		"dfs": {dfsSearch(), false}, "dpor": {dporSearch(), false},
		"bounded":     {maxExecutions(dfsSearch(), 3), true},
		"not bounded": {maxExecutions(dfsSearch(), 1000), false},
		"random":      {randomSearch(3, 1), true},
	} {
		testkit.MustSearch(t, test.s, threeWriters)
		if state, err := test.s.Save(); err != nil || (state != nil) != test.left {
			t.Errorf("%s: state %x, %v", name, state, err)
		}
	}
}

func TestNotSaveable(t *testing.T) {
	for _, s := range []*Search{replaySearch(nil), maxExecutions(replaySearch(nil), 1)} {
		if _, err := s.Save(); !errors.Is(err, ErrNotSaveable) {
			t.Errorf("%T: %v", s, err)
		}
		if err := s.Resume([]byte{stateVersion}); !errors.Is(err, ErrNotSaveable) {
			t.Errorf("%T is resumed: %v", s, err)
		}
	}
}

// FuzzResume gives arbitrary states to searches, which then run a program: all that may
// come of it are errors.
func FuzzResume(f *testing.F) {
	for _, make := range saveables {
		for executions := range 5 {
			state, err := partly(f, make(), threeWriters, executions).Save()
			if err != nil {
				f.Fatal(err)
			}
			f.Add(state)
		}
	}
	for executions := range 5 {
		state, err := partly(f, withStates(dporSearch()), endlessProgram, executions).Save()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(state)
	}
	p := testkit.ParseProgram(threeWriters)
	f.Fuzz(func(t *testing.T, state []byte) {
		for _, make := range saveables {
			s := make()
			if s.Resume(state) != nil {
				continue
			}
			for range 20 {
				schedule, more := s.Next()
				if !more || s.Report(runAnyway(p, schedule)) != nil {
					break
				}
			}
		}
	})
}

// runAnyway runs an execution that need not be possible: then it is another one.
func runAnyway(p *testkit.Program, s Schedule) (x Execution) {
	defer func() {
		if recover() != nil {
			x = testkit.Run(p, Schedule{WantEnabled: s.WantEnabled}, 0).Log
		}
	}()
	return testkit.Run(p, s, 0).Log
}

// BenchmarkSave measures what it takes to save DPOR after one execution, in which every goroutine
// could have been first at a mutex again and again, and how large its state is.
func BenchmarkSave(b *testing.B) {
	for _, transitions := range []int{100, 1000, 10000} {
		b.Run(fmt.Sprintf("transitions=%d", transitions), func(b *testing.B) {
			s := dporSearch()
			s.Next()
			if err := s.Report(testkit.Turns(16, transitions, true)); err != nil {
				b.Fatal(err)
			}
			var state []byte
			for b.Loop() {
				var err error
				if state, err = s.Save(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(state))/float64(transitions), "B/transition")
		})
	}
}

// TestSleepSetInWords: an error that shows a sleep set shows what is in it.
func TestSleepSetInWords(t *testing.T) {
	list := []*Sleeper{{Action: Action{Goroutine: 7, Choice: 1},
		Accesses: []Access{{Object: 9, Kind: Write}}}}
	if got, want := fmt.Sprint(list), fmt.Sprintf("[%v with %v]", list[0].Action,
		list[0].Accesses); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestResumeGreatestNumbers: what a counter can be added can be saved.
func TestResumeGreatestNumbers(t *testing.T) {
	for _, delta := range []int32{math.MinInt32, math.MaxInt32} {
		search := dporSearch()
		search.Next()
		add := func(g GoroutineID) Transition {
			return Transition{Action: Action{Goroutine: g}, Choices: 1,
				Accesses: []Access{{Object: 1, Kind: Write, Delta: delta, Count: delta}}}
		}
		if err := search.Report(Execution{Transitions: []Transition{add(1), add(2)}}); err != nil {
			t.Fatal(err)
		}
		state, err := search.Save()
		if err == nil {
			err = dporSearch().Resume(state)
		}
		if err != nil {
			t.Errorf("%d: %v", delta, err)
		}
	}
}

// TestResumeFewer: a search for fewer random executions than before ends, and one for as many as at
// first has no more than that.
func TestResumeFewer(t *testing.T) {
	executions, state := 0, []byte(nil)
	for _, part := range []struct{ all, run int }{{100, 50}, {60, 5}, {30, 5}, {100, 1000}} {
		search := randomSearch(part.all, 1)
		if state != nil {
			if err := search.Resume(state); err != nil {
				t.Fatal(err)
			}
		}
		for range part.run {
			if _, more := search.Next(); !more {
				break
			}
			if err := search.Report(Execution{Transitions: []Transition{{Action: Action{Goroutine: 1},
				Choices: 1}}}); err != nil {
				t.Fatal(err)
			}
			executions++
		}
		var err error
		if state, err = search.Save(); err != nil {
			t.Fatal(err)
		}
	}
	if executions != 100 {
		t.Errorf("%d executions, want 100", executions)
	}
}

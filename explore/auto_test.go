package explore

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/explore/internal/portfolio"
	"github.com/tandem-mc/tandem/explore/internal/testkit"
)

func autoSearch() *Search { return mustNew(Config{Algorithm: Auto, Seed: 1, EarlyTimers: 2}) }

// autoInTime is the portfolio without early timers.
func autoInTime() *Search { return mustNew(Config{Algorithm: Auto, Seed: 1}) }

// buggy are programs of which many have violations.
var buggy = testkit.Profile{Blocks: testkit.Join(testkit.Endings, testkit.Variables, testkit.Mutexes,
	testkit.Channels, testkit.Choices[:1], testkit.Closings, testkit.WaitGroups, testkit.Times[:1]), Size: 4}

// firstViolation is how many executions a search needs until it finds a violation; 0 if there is
// none.
func firstViolation(t rapid.TB, s *Search, p *testkit.Program, most int) int {
	s = until(maxExecutions(s, most), AtViolation)
	f, err := testkit.SearchAll(s, p, 0)
	if err != nil {
		t.Fatal(err)
	}
	if f.Verdict.Violations == 0 {
		return 0
	}
	return f.Verdict.Executions
}

// mostAside is how many executions more than DPOR the portfolio may take where DPOR ends.
const mostAside = 300

// TestAutoAgainstTwin: the portfolio finds a violation in every program in which there is one, says
// that all others hold, and takes few executions more than DPOR. What it reports can be replayed.
func TestAutoAgainstTwin(t *testing.T) {
	many(t, 300)
	violated, missed, holds, dpor, auto, aside := 0, 0, 0, 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		p := buggy.Generate(t)
		all, err := testkit.SearchAll(maxExecutions(dfsSearch(), testkit.DFSBudget), p, 0)
		if err != nil {
			t.Fatal(err)
		}
		if all.Verdict.Executions == testkit.DFSBudget && all.Verdict.Violations == 0 {
			t.Skip("too many executions to enumerate")
		}
		reduced, err := testkit.SearchAll(dporSearch(), p, 0)
		if err != nil {
			t.Fatal(err)
		}
		checkAuto(t, autoSearch(), p)
		verdict := checkAuto(t, autoInTime(), p)
		switch {
		case all.Verdict.Violations > 0:
			violated++
			dpor += firstViolation(t, dporSearch(), p, testkit.DFSBudget)
			auto += firstViolation(t, autoInTime(), p, testkit.DFSBudget)
			if verdict.Violations == 0 {
				missed++
			}
		case verdict.Kind != Holds || verdict.Reason != all.Verdict.Reason:
			t.Errorf("verdict %+v, want %+v", verdict, all.Verdict)
		default:
			holds++
		}
		more := verdict.Executions - reduced.Verdict.Executions
		if aside = max(aside, more); more > mostAside || more != verdict.Phases.Aside() {
			t.Errorf("%d executions, %d by DPOR, %+v", verdict.Executions, reduced.Verdict.Executions,
				verdict.Phases)
		}
		if t.Failed() {
			t.Fatalf("program:\n%v", p)
		}
	})
	t.Logf("%d programs with violations, %d of them missed; %d executions to the first, %d by DPOR; "+
		"%d programs without, at most %d executions more than by DPOR",
		violated, missed, auto, dpor, holds, aside)
	if missed > 0 || violated == 0 || holds == 0 {
		t.Errorf("violations in %d of %d programs are missed, %d hold", missed, violated, holds)
	}
}

// checkAuto has the portfolio search a program, and replays what it finds.
func checkAuto(t *rapid.T, s *Search, p *testkit.Program) Verdict {
	violations := 0
	for {
		schedule, more := s.Next()
		if !more {
			break
		}
		w := testkit.Run(p, schedule, 0)
		if err := s.Report(w.Log); err != nil {
			t.Fatal(err)
		}
		if !w.Log.Outcome.Violation() {
			continue
		}
		violations++
		var actions []Action
		for _, x := range w.Log.Transitions {
			actions = append(actions, x.Action)
		}
		again := testkit.Run(p, Schedule{Prefix: actions, EarlyTimers: schedule.EarlyTimers}, 0)
		if again.State() != w.State() {
			t.Fatalf("%s is replayed as %s", w.State(), again.State())
		}
	}
	v := s.Verdict()
	if v.Violations != violations || (v.Phases.At > 0) != (violations > 0) || v.Phases.All() != v.Executions {
		t.Fatalf("verdict %+v after %d violations", v, violations)
	}
	return v
}

// TestAutoWithinBounds: within bounds, the portfolio covers what an exhaustive search covers.
func TestAutoWithinBounds(t *testing.T) {
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		p := buggy.Generate(t)
		c := Config{Algorithm: Auto, Seed: 1}
		if n := rapid.IntRange(0, 2).Draw(t, "bound"); rapid.Bool().Draw(t, "delays") {
			c.Delays = &n
		} else {
			c.Preemptions = &n
		}
		exhaustive := c
		exhaustive.Algorithm = DFS
		all, err := testkit.SearchAll(maxExecutions(mustNew(exhaustive), testkit.DFSBudget), p, 0)
		if err != nil {
			t.Fatal(err)
		}
		if all.Verdict.Executions == testkit.DFSBudget {
			t.Skip("too many executions to enumerate")
		}
		some, err := testkit.SearchAll(mustNew(c), p, 0)
		if err != nil {
			t.Fatal(err)
		}
		if all.Verdict.Kind != some.Verdict.Kind {
			t.Fatalf("verdict %v, want %v\n%v", some.Verdict, all.Verdict, p)
		}
		if diff := cmp.Diff(undisturbed(all), undisturbed(some)); diff != "" {
			t.Fatalf("final states (-exist +found):\n%s%v", diff, p)
		}
		if all.Verdict.Violations > 0 {
			found++
		}
	})
	if found == 0 {
		t.Error("no program has a violation")
	}
}

// TestAutoAhead: schedules that are listed ahead are asked for later, and whether any are listed
// makes no difference. None is listed twice.
func TestAutoAhead(t *testing.T) {
	used := 0
	timed := testkit.Profile{Blocks: testkit.Join(testkit.Variables, testkit.Mutexes, testkit.Times), Size: 4}
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SampledFrom([]testkit.Profile{buggy, timed}).Draw(t, "profile").Generate(t)
		want, verdict := testkit.Record(t, autoSearch(), p, testkit.Never)
		chance := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "chance"), 0))
		f := &listing{Search: autoSearch(), chance: chance}
		got, listed := testkit.Record(t, f, p, testkit.Never)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("executions (-alone +run ahead):\n%s%v", diff, p)
		}
		if verdict != listed {
			t.Fatalf("verdict %+v, want %+v", listed, verdict)
		}
		used += f.used
		// The portfolio ends only when it has asked for all aims with early timers.
		for _, s := range f.listed {
			if len(s.Holds) > 0 && s.EarlyTimers > 0 {
				t.Fatalf("%+v was listed more often than it was asked for\n%v", s, p)
			}
		}
	})
	if used == 0 {
		t.Error("nothing was run ahead")
	}
}

// listing lists schedules ahead, at random, and counts those that are asked for.
type listing struct {
	*Search
	chance *rand.Rand
	listed []Schedule // and not asked for yet
	used   int
}

func (l *listing) Next() (Schedule, bool) {
	s, more := l.Search.Next()
	if i := slices.IndexFunc(l.listed, func(x Schedule) bool { return x.Equal(&s) }); more && i >= 0 {
		l.listed = slices.Delete(l.listed, i, i+1)
		l.used++
	}
	if more {
		l.listed = append(l.listed, l.Search.Prefetch(l.chance.IntN(4))...)
	}
	return s, more
}

// TestAutoWithinItsBound: what DPOR finishes within the bound, after more than 1,000 executions,
// the portfolio does, too, and with few executions more.
func TestAutoWithinItsBound(t *testing.T) {
	p := testkit.ParseProgram(alike(4, "lock m; unlock m; lock m; unlock m", ""))
	reduced := testkit.MustSearch(t, dporSearch(), p.String()).Verdict
	if reduced.Kind != Holds || reduced.Executions < 1000 {
		t.Fatalf("DPOR: %+v", reduced)
	}
	most := reduced.Executions + mostAside
	s := maxExecutions(mustNew(Config{Algorithm: Auto, Seed: 1, Executions: most}), most)
	v := testkit.MustSearch(t, s, p.String()).Verdict
	if v.Kind != Holds || v.Phases.Systematic != reduced.Executions {
		t.Errorf("%+v, want as many systematic executions as %+v", v, reduced)
	}
}

// TestAutoEndsLate: a bound that is reached when nothing is left of DPOR, and timers are to fire
// early yet, takes nothing from what is covered.
func TestAutoEndsLate(t *testing.T) {
	const program = "main: go p; store x 1; sleep 1\np: store x 2"
	whole := testkit.MustSearch(t, autoSearch(), program).Verdict
	covered := whole.Phases.Systematic
	within := 0
	for n := range whole.Executions {
		v := testkit.MustSearch(t, maxExecutions(autoSearch(), n), program).Verdict
		switch {
		case v.Kind == Holds && v.Phases.Systematic == covered && v.Complete && v.Reason == whole.Reason:
			within++
		case v.Kind != Unknown || v.Complete || v.Phases.Systematic == covered && v.Executions > covered+
			mostAside:
			t.Errorf("at most %d: %+v", n, v)
		}
	}
	if whole.Kind != Holds || within < 20 {
		t.Errorf("%d bounds are enough; %+v", within, whole)
	}
}

// TestAutoShares: in a program that DPOR does not finish soon, half of the executions are samples.
func TestAutoShares(t *testing.T) {
	p := testkit.ParseProgram(alike(6, "store x 1; store x 2", ""))
	s := maxExecutions(autoSearch(), 400)
	s.core.(*portfolio.Search).Rest = 50
	v, err := testkit.SearchAll(s, p, 0)
	if err != nil {
		t.Fatal(err)
	}
	if phases := v.Verdict.Phases; phases.All() != 400 || phases.Aside() < 150 || phases.Systematic < 150 {
		t.Errorf("%+v", phases)
	}
}

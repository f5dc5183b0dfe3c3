package explore

import (
	"errors"
	"math"
	"testing"

	"github.com/tandem-mc/tandem/explore/internal/core"
	"github.com/tandem-mc/tandem/explore/internal/random"
	"github.com/tandem-mc/tandem/explore/internal/testkit"
	"pgregory.net/rapid"
)

// sized are programs whose search trees are of different shapes.
var sized = map[string]string{
	"alike": "main: go p; go q; store x 1; store x 2\np: store x 3; store x 4\nq: store x 5; store x 6",
	"mutexes": "main: go p; go q; lock m; lock n; unlock n; unlock m\n" +
		"p: lock m; unlock m; lock n; unlock n\nq: lock n; unlock n",
	"branches": "main: go p; choose r0 3; skip r0 0 3; store x 1; load r1 x; store y 1\n" +
		"p: load r0 x; store x 2; load r1 y",
	"choices": "main: choose r0 3; choose r1 3; choose r2 4",
	"readers": "main: go p; go p; go p; go p; go p; store x 1\np: load r0 x",
	"last zero": "main: go g1; go g2; go g3; load r0 a3; skip r0 0 9; load r0 a2; skip r0 0 5; load r0 " +
		"a1\ng1: load r1 a0; inc a1 r1\ng2: load r1 a1; inc a2 r1\ng3: load r1 a2; inc a3 r1",
	"deadlocks": "main: go p; lock a; lock b; unlock b; unlock a\np: lock b; lock a; unlock a; unlock b",
}

// TestRandomEstimateIsUnbiased: the estimates of many random searches have, on average,
// the number of executions that DFS counts.
func TestRandomEstimateIsUnbiased(t *testing.T) {
	const searches, probes = 100, 200
	for name, text := range sized {
		want := float64(testkit.MustSearch(t, maxExecutions(dfsSearch(), 200_000), text).Verdict.Executions)
		mean, within := 0.0, 0
		for seed := range uint64(searches) {
			e := testkit.MustSearch(t, randomSearch(probes, 1000*seed), text).Verdict.Estimate
			mean += e.Executions / searches
			if e.Low <= want && want <= e.High {
				within++
			}
		}
		t.Logf("%-10s %6.0f executions, estimated %8.1f on average; %d of %d searches have it in their "+
			"spread", name, want, mean, within, searches)
		if math.Abs(mean/want-1) > 0.1 {
			t.Errorf("%s: estimated %.1f executions on average, there are %.0f", name, mean, want)
		}
		if within < searches*3/4 {
			t.Errorf("%s: only %d of %d searches have %.0f in their spread", name, within, searches, want)
		}
	}
}

// TestEstimateOnTheWay: how near the estimates of depth-first searches are to what is then found.
func TestEstimateOnTheWay(t *testing.T) {
	for name, text := range sized {
		for kind, newSearch := range map[string]func() *Search{"dfs": dfsSearch, "dpor": dporSearch} {
			total := float64(testkit.MustSearch(t, newSearch(), text).Verdict.Executions)
			s, p := newSearch(), testkit.ParseProgram(text)
			var at []float64
			for schedule, more := s.Next(); more; schedule, more = s.Next() {
				if err := s.Report(testkit.Run(p, schedule, 0).Log); err != nil {
					t.Fatal(err)
				}
				v := s.Verdict()
				e := v.Estimate
				if !(e.Low <= e.Executions && e.Executions <= e.High) || e.Low < float64(v.Executions) {
					t.Fatalf("%s: after %d executions: %+v", name, v.Executions, e)
				}
				// Without a reduction nothing that is planned is left out later.
				if e.Planned < float64(v.Executions) || kind == "dfs" && e.Planned > total {
					t.Fatalf("%s, %s: after %d executions of %v: %+v", name, kind, v.Executions, total, e)
				}
				for _, part := range []float64{0.1, 0.25, 0.5, 0.75} {
					if v.Executions == int(math.Ceil(part*total)) {
						at = append(at, e.Executions/total)
					}
				}
			}
			t.Logf("%-10s %-4s %6.0f executions; estimates over that, after 10, 25, 50, 75 %%: "+
				"%.2f", name, kind, total, at)
			for _, ratio := range at[len(at)-2:] {
				if ratio < 0.25 || ratio > 4 {
					t.Errorf("%s, %s: from the middle on, an estimate is %.2f of what is "+
						"found", name, kind, ratio)
				}
			}
		}
	}
}

// TestEstimateIsExactAtTheEnd, and after the first execution there is one already.
func TestEstimateIsExactAtTheEnd(t *testing.T) {
	programs := testkit.Profile{Blocks: testkit.Join(testkit.Variables, testkit.Mutexes, testkit.Channels,
		testkit.Choices, testkit.Times)}
	rapid.Check(t, func(t *rapid.T) {
		p := programs.Generate(t)
		for _, s := range []*Search{maxExecutions(dfsSearch(), testkit.DFSBudget),
			maxExecutions(dporSearch(), testkit.DFSBudget)} {
			f, err := testkit.SearchAll(s, p, 0)
			if err != nil {
				t.Fatal(err)
			}
			v := f.Verdict
			n := float64(v.Executions)
			want := Estimate{Executions: n, Low: n, High: n, Planned: n}
			if v.Kind == Holds && v.Estimate != want {
				t.Errorf("%+v at the end, want %+v", v.Estimate, want)
			}
			if seen := v.Estimate.Seen(v.Executions); seen <= 0 || seen > 1 {
				t.Errorf("%v is seen of %+v after %d", seen, v.Estimate, v.Executions)
			}
		}
	})
}

// TestEstimateBetweenNextAndReport: what has been asked for and not run is not known.
func TestEstimateBetweenNextAndReport(t *testing.T) {
	text := "main: choose r0 2; choose r1 9"
	for _, n := range []int{1, 2, 5, 9} {
		e := testkit.MustSearch(t, maxExecutions(dfsSearch(), n), text).Verdict.Estimate
		if e.Executions != 18 || e.High <= 18 || e.Low < float64(n+1) {
			t.Errorf("after %d executions: %v", n, e)
		}
	}
}

// TestEstimateSurvivesResume: a search that goes on elsewhere estimates what it would have.
func TestEstimateSurvivesResume(t *testing.T) {
	for name, make := range saveables {
		text := sized["branches"]
		s, p := make(), testkit.ParseProgram(text)
		for range 20 {
			resumed := saved(t, s, make())
			schedule, more := s.Next()
			if _, also := resumed.Next(); !more || !also {
				break
			}
			log := testkit.Run(p, schedule, 0).Log
			if err := errors.Join(s.Report(log), resumed.Report(log)); err != nil {
				t.Fatal(err)
			}
			if s.Verdict() != resumed.Verdict() {
				t.Errorf("%s: %+v, and after a resume %+v", name, s.Verdict(), resumed.Verdict())
			}
		}
	}
}

// TestEstimateOfRegularTrees: where all branches are alike, the estimate is exact from the first
// execution on.
func TestEstimateOfRegularTrees(t *testing.T) {
	s := dfsSearch()
	p := testkit.ParseProgram("main: choose r0 3; choose r1 3; choose r2 4")
	for schedule, more := s.Next(); more; schedule, more = s.Next() {
		if err := s.Report(testkit.Run(p, schedule, 0).Log); err != nil {
			t.Fatal(err)
		}
		if e, n := s.Verdict().Estimate, s.Verdict().Executions; math.Abs(e.Executions-36) > 1e-9 ||
			n > 32 && e.High-e.Low > 10 {
			t.Errorf("after %d executions: %+v", n, e)
		}
	}
}

func TestEstimateWithoutBounds(t *testing.T) {
	var p random.Probes
	if p.Estimate() != (Estimate{}) || (Estimate{}).Seen(5) != 0 {
		t.Error("there is an estimate of nothing")
	}
	for range 3 {
		p.Add(math.Inf(1))
	}
	if e := p.Estimate(); !math.IsInf(e.Executions, 1) || e.Seen(10) != 0 ||
		e.String() != "more than 10^308 executions in all" {
		t.Errorf("%+v, want more than can be counted", e)
	}
	var s core.BranchSizes // a path of two branches each
	for _, length := range []int{10, 500, 1500, 100_000} {
		e := s.Estimate(length, 1, func(int) int { return 1 })
		if want := math.Pow(2, float64(length)); e.Executions != want && !math.IsInf(e.Executions, 1) ||
			math.IsNaN(e.Low+e.High) {
			t.Errorf("%d nodes: %+v, want %g", length, e, want)
		}
	}
}

func TestEstimateInWords(t *testing.T) {
	for want, e := range map[string]Estimate{
		"1 execution in all": {Executions: 1, Low: 1, High: 1},
		"about 12 executions in all, probably 9 to " +
			"100": {Executions: 12.3, Low: 9, High: 99.7},
		"about 41,000 executions in all, probably 990 to " +
			"1,200,000": {Executions: 41234, Low: 987, High: 1_234_567},
		"about 1.2 x 10^20 executions in all, probably 1 to 2.0 x " +
			"10^300": {Executions: 1.2e20, Low: 1, High: 2e300},
		"134,405 executions are run or planned so far, perhaps about 140,000 in all: a rough guess, and " +
			"mostly too low while little was seen": {Executions: 135_001, Low: 134_404, High: 136_000,
			Planned: 134_405},
		// A round number that is less than what is planned would be no guess.
		"131,005 executions are run or planned so far, perhaps about 140,000 in all: a rough guess, and " +
			"mostly too low while little was seen": {Executions: 131_006, Low: 131_005, High: 136_000,
			Planned: 131_005},
		"27 executions are run or planned so far, perhaps about 27 in all: a rough guess, and mostly too " +
			"low while little was seen": {Executions: 27, Low: 27, High: 30, Planned: 27},
		"more than 10^308 executions in " +
			"all": {Executions: math.Inf(1), Low: 5, High: math.Inf(1)},
	} {
		if got := e.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

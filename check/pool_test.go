package check

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/check/internal/execution"
	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/report/text"
)

// searches are all that know what they will ask for later, each made anew.
var searches = map[string]func() *explore.Search{
	"dfs":    dfsSearch,
	"dpor":   dporSearch,
	"random": func() *explore.Search { return randomSearch(700, 3) },
	"pct":    func() *explore.Search { return pctSearch(700, 2, 3) },
	"directed": func() *explore.Search {
		return mustSearch(explore.Config{Algorithm: explore.Directed})
	},
	"bounded": func() *explore.Search { return maxExecutions(dfsSearch(), 150) },
}

// TestWorkers: whatever is said about a program is the same with 1, 2 and 8 workers.
func TestWorkers(t *testing.T) {
	programs := map[string]Options{
		"violated": endings(t, "lock"), "holds": endings(t, "abandoned"),
		"large": random(t, "everything", 3),
	}
	if *deep {
		programs["larger"] = random(t, "mutexes", 5)
	}
	for name, o := range programs {
		for search, make := range searches {
			t.Run(name+" "+search, func(t *testing.T) { sameWithWorkers(t, o, make) })
		}
	}
}

// TestWorkersOnClassics does so with searches that have work for several workers.
func TestWorkersOnClassics(t *testing.T) {
	p := buildExample(t, "classics")
	ahead := 0 // of one alone it may be nothing, where the machine has much else to do
	for _, test := range [][]string{{"lastzero", "7"}, {"filesystem", "21"}, {"indexer", "13"}} {
		t.Run(test[0], func(t *testing.T) {
			ahead += sameWithWorkers(t, Options{Program: p, Package: "classics", Args: test}, dporSearch)
		})
	}
	if ahead == 0 {
		t.Error("nothing was run ahead")
	}
}

// TestWorkersWithPeers does so with peers, which all workers share.
func TestWorkersWithPeers(t *testing.T) {
	examples := []example{httpGet, scpTo}
	if *deep {
		examples = append(examples, randomAlphabet, keepAlive)
	}
	for _, e := range examples {
		t.Run(e.pkg, func(t *testing.T) {
			sameWithWorkers(t, e.options(t), func() *explore.Search {
				return maxExecutions(dfsSearch(), cases(60, 30))
			})
		})
	}
}

// sameWithWorkers returns how many executions were run before they were asked for.
func sameWithWorkers(t *testing.T, o Options, newSearch func() *explore.Search) (ahead int) {
	t.Helper()
	o.Leaks, o.SelfCheck, o.haste = true, 10, true
	if o.Depth == 0 {
		o.Depth = 1000
	}
	said := map[int]string{}
	for _, o.Workers = range []int{1, 2, 8} {
		o.Search = maxExecutions(newSearch(), cases(2000, 700))
		result := check(t, o)
		said[o.Workers] = says(t, result)
		ahead += result.Counts.Ahead
		if diff := cmp.Diff(said[1], said[o.Workers]); diff != "" {
			t.Errorf("with 1 worker (-) and with %d (+):\n%s", o.Workers, diff)
		}
	}
	return ahead
}

// says is what a result says, without what depends on time.
func says(t *testing.T, r *Result) string {
	t.Helper()
	out := fmt.Sprintf("%+v\ncut off %s\nself-checked %d\n", r.Verdict, r.CutOff, r.Counts.SelfChecked)
	for _, v := range r.Violations {
		v.Counterexample.Run = report.Run{}
		var b bytes.Buffer
		if err := text.Write(&b, v.Counterexample, report.Options{}); err != nil {
			t.Fatal(err)
		}
		out += fmt.Sprintf("%v\n%s%v\n", v.Tests, &b, v.Recording.Schedule)
		// Which answers come first, and so what is taken back for them, depends on the workers.
		if v.Recording.Cache != nil {
			tree := *v.Recording.Cache
			for _, p := range tree.Places {
				p.Checkpoint, p.Restores, p.Starts = "", 0, 0
				out += fmt.Sprintf("%+v\n", p)
			}
			out += fmt.Sprintf("%d left out\n", tree.LeftOut)
		}
	}
	return out
}

// random is a random program.
func random(t *testing.T, flavour string, number uint64) Options {
	t.Helper()
	p := built["programs"]
	if p == nil {
		var err error
		if p, err = buildProgram("testdata/programs", tree+"/programs"); err != nil {
			t.Fatal(err)
		}
		built["programs"] = p
	}
	return Options{Program: p, Package: "programs", Args: []string{drawProgram(flavour, number).String()}}
}

// TestRunAheadOfTheEnd: of violations that were run ahead when a check was interrupted there are as
// many as were looked for, each once.
func TestRunAheadOfTheEnd(t *testing.T) {
	a, b, c := &execution.Kept{}, &execution.Kept{}, &execution.Kept{}
	ahead := []*execution.Result{{Kind: "a", Kept: a}, {Kind: "b", Kept: b},
		{Kind: "a", Kept: &execution.Kept{}}, {Kind: "c", Kept: c}}
	for name, test := range map[string]struct {
		most  int
		found []*execution.Kept
		want  []*execution.Kept
	}{
		"one":            {1, nil, []*execution.Kept{a}},
		"one, found":     {1, []*execution.Kept{c}, []*execution.Kept{c}},
		"all":            {10, nil, []*execution.Kept{a, b, c}},
		"all, one known": {10, []*execution.Kept{b}, []*execution.Kept{b, a, c}},
		"two":            {2, []*execution.Kept{b}, []*execution.Kept{b, a}},
	} {
		f := collector{most: test.most}
		for _, kept := range test.found {
			f.collect(map[*execution.Kept]string{b: "b", c: "c"}[kept], kept, 1)
		}
		for _, r := range ahead {
			r.Violation = true
		}
		f.keepUnclaimed(ahead)
		var got []*execution.Kept
		for _, v := range f.withUnclaimed() {
			got = append(got, v.Kept)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %d violations, want %d", name, len(got), len(test.want))
		}
	}
}

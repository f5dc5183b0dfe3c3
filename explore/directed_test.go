package explore

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/explore/internal/directed"
	"github.com/tandem-mc/tandem/explore/internal/testkit"
)

func directedSearch() *Search { return newSearch(Directed) }

// guided has the programs of a profile say now and then how near they are to a violation.
func guided(f testkit.Profile) testkit.Profile {
	f.Blocks = testkit.Join(f.Blocks, testkit.Estimates)
	return f
}

// most is how many executions of a program are enumerated at most.
const most = 1500

// exhaust lists what DFS finds, unless that is too much.
func exhaust(t rapid.TB, s testkit.Stepper, p *testkit.Program) *testkit.Found {
	all, err := testkit.SearchAll(s, p, 0)
	if err != nil {
		t.Fatal(err)
	}
	if all.Verdict.Executions == most {
		t.Skip("too many executions to enumerate")
	}
	return all
}

// covers compares a directed search with DFS: each partial order has one execution that runs to its
// end, those that end early included.
func covers(t rapid.TB, s testkit.Stepper, all *testkit.Found, p *testkit.Program) {
	found, err := testkit.SearchAll(s, p, 0)
	if err != nil {
		t.Fatal(err)
	}
	want, got := slices.Sorted(maps.Keys(all.Fingerprints)), slices.Sorted(maps.Keys(found.Fingerprints))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("partial orders (-exist +found):\n%s", diff)
	}
	for fingerprint, n := range found.Fingerprints {
		if n > 1 {
			t.Errorf("%d executions of the partial order %x", n, fingerprint)
		}
	}
	if diff := cmp.Diff(testkit.SortedKeys(all.Outcomes), testkit.SortedKeys(found.Outcomes)); diff != "" {
		t.Errorf("outcomes (-exist +found):\n%s", diff)
	}
	if found.Verdict.Kind != all.Verdict.Kind {
		t.Errorf("verdict %+v, want %+v", found.Verdict, all.Verdict)
	}
	if t.Failed() {
		t.Fatalf("program:\n%v", p)
	}
}

// TestDirectedAgainstTwin: a directed search that ends covers what DFS covers, whatever the program
// says of how near it is to a violation.
func TestDirectedAgainstTwin(t *testing.T) {
	profiles := map[string]testkit.Profile{
		"endings": {Blocks: testkit.Join(testkit.Endings, testkit.Variables, testkit.Mutexes,
			testkit.Channels[:3], testkit.Choices[:1], testkit.Times[:1]), Size: 4},
		"closings": {Blocks: testkit.Join(testkit.Closings, testkit.Channels)},
	}
	for _, f := range testkit.Profiles {
		profiles[f.Name] = f.Profile
	}
	for name, f := range profiles {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				p := guided(f).Generate(t)
				dfs := maxExecutions(dfsSearch(), most)
				covers(t, directedSearch(), exhaust(t, dfs, p), p)
			})
		})
	}
}

// TestDirectedEarlyTimers does so where timers may fire early.
func TestDirectedEarlyTimers(t *testing.T) {
	profile := guided(testkit.Profile{Blocks: testkit.Join(testkit.Variables, testkit.Mutexes,
		testkit.Times)})
	rapid.Check(t, func(t *rapid.T) {
		p := profile.Generate(t)
		dfs := maxExecutions(dfsSearch(), most)
		covers(t, early{directedSearch(), 1}, exhaust(t, early{dfs, 1}, p), p)
	})
}

// TestDirectedLimits: within bounds it runs the executions that DFS runs, each once.
func TestDirectedLimits(t *testing.T) {
	profile := guided(testkit.Profile{Blocks: testkit.Join(testkit.Variables, testkit.Mutexes,
		testkit.Channels, testkit.Choices, testkit.Times)})
	rapid.Check(t, func(t *rapid.T) {
		p := profile.Generate(t)
		n := rapid.IntRange(0, 2).Draw(t, "limit")
		for _, c := range []Config{{Preemptions: &n}, {Delays: &n}, {Preemptions: new(1), Delays: &n}} {
			c.Algorithm = DFS
			want := paths(t, mustNew(c), p)
			c.Algorithm = Directed
			if diff := cmp.Diff(want, paths(t, mustNew(c), p)); diff != "" {
				t.Fatalf("executions of %+v (-exist +run):\n%s\n%v", c, diff, p)
			}
		}
	})
}

// TestDirectedAhead: whatever is run ahead of a directed search, it executes the same. All that it
// has listed it asks for some time, unless it gives branches up.
func TestDirectedAhead(t *testing.T) {
	profile := guided(testkit.Profile{Blocks: testkit.Join(testkit.Variables, testkit.Mutexes,
		testkit.Channels, testkit.Choices)})
	used := 0
	rapid.Check(t, func(t *rapid.T) {
		p := profile.Generate(t)
		want, verdict := testkit.Record(t, directedSearch(), p, testkit.Never)
		s := &foreseeing{Search: directedSearch(), t: t, lists: rapid.IntRange(0, 4), anyOrder: true}
		got, ahead := testkit.Record(t, s, p, testkit.Never)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("executions (-alone +run ahead):\n%s%v", diff, p)
		}
		if verdict != ahead || len(s.listed) > 0 {
			t.Fatalf("verdict %+v, want %+v; %d schedules were listed, and not run:\n%v", ahead, verdict,
				len(s.listed), p)
		}
		used += s.used
	})
	if used == 0 {
		t.Error("nothing was run ahead")
	}
}

// TestDirectedRoom: a search with little room gives the worst branches up, says so, and never says
// that the program holds. It does the same after it has been resumed.
func TestDirectedRoom(t *testing.T) {
	small := func() *Search {
		s := directedSearch()
		s.core.(*directed.Search).Room = 120
		return s
	}
	profile := guided(testkit.Profile{Blocks: testkit.Join(testkit.Variables, testkit.Mutexes), Size: 4})
	var short int
	rapid.Check(t, func(t *rapid.T) {
		p := profile.Generate(t)
		want, verdict := testkit.Record(t, small(), p, testkit.Never)
		all, _ := testkit.Record(t, directedSearch(), p, testkit.Never)
		if len(want) < len(all) {
			short++
			if verdict.Complete || verdict.Kind == Holds ||
				verdict.Kind == Unknown && !strings.Contains(verdict.Reason, "open branches were given up") {
				t.Fatalf("%d of %d executions, and %+v\n%v", len(want), len(all), verdict, p)
			}
		} else if !verdict.Complete {
			t.Fatalf("%d executions, and %+v\n%v", len(want), verdict, p)
		}
		got, resumed := testkit.Record(t, small(), p, func(s *Search, underWay bool) *Search {
			if underWay {
				return s
			}
			return saved(t, s, small())
		})
		if diff := cmp.Diff(want, got); diff != "" || verdict != resumed {
			t.Fatalf("%+v, want %+v, executions (-uninterrupted +resumed):\n%s%v", resumed, verdict, diff, p)
		}
	})
	if short == 0 {
		t.Error("there was always room")
	}
}

// ladder is a program with a bug that only shows when p and q take turns at each of n rungs. The
// third goroutine, r, conflicts with both. With an estimate it says how many rungs are left.
func ladder(n int, estimate bool) string {
	rung := func(at int) string {
		skip, said := 1, ""
		if estimate {
			skip, said = 2, fmt.Sprintf("estimate %d; ", n-at-1)
		}
		return fmt.Sprintf("inc y r2; load r0 x; skip r0 %d 1; skip r3 0 %d; store x %d; %s", at, skip, at+1,
			said)
	}
	var p, q strings.Builder
	for at := 0; at < n; at += 2 {
		p.WriteString(rung(at))
		q.WriteString(rung(at + 1))
	}
	return fmt.Sprintf("main: go r; go p; go q\nr: %s\np: %s\nq: %s load r0 x; skip r0 %d 1; skip r3 0 1; "+
		"assert r1 1", strings.Repeat("store y 1; ", n/2), &p, &q, n)
}

// TestDirectedFinds: what the program says of itself leads to a violation that other searches do
// not come to.
func TestDirectedFinds(t *testing.T) {
	deep, mute := ladder(16, true), ladder(16, false)
	for _, c := range []struct {
		name, text string
		search     *Search
		within     int // 0: it is not found
	}{
		{"dpor", deep, dporSearch(), 0},
		{"random", deep, randomSearch(most, 1), 0},
		{"pct", deep, pctSearch(most, 3, 1), 0},
		{"pos", deep, posSearch(most, 1), 0},
		{"surw", deep, surwSearch(most, 1), 0},
		{"directed", deep, directedSearch(), 50},
		{"directed, no estimate", mute, directedSearch(), 0},
	} {
		f := testkit.MustSearch(t, until(maxExecutions(c.search, most), AtViolation), c.text)
		found := f.Verdict.Kind == Violated
		t.Logf("%s: %v after %d executions", c.name, f.Verdict.Kind, f.Verdict.Executions)
		if found != (c.within > 0) || found && f.Verdict.Executions > c.within {
			t.Errorf("%s: %+v, want at most %d executions", c.name, f.Verdict, c.within)
		}
	}
}

package protocol

import (
	"fmt"
	"hash/fnv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// directedSearches are the searches that follow an estimate.
var directedSearches = []Search{BestFirst, AStar, IDAStar}

// estimate is one for a property of a random protocol: how many of the first nodes are not where
// they violate it, times a factor. A step changes one node, so with a factor of one it is
// admissible. An estimate that is weak sometimes says zero; then it may fall by more than a step
// takes, and A* has to reopen states.
func (s *spec) estimate(property, factor int, isWeak bool) Estimate {
	view := func(_ ID, n Node) int { return n.(*automaton).State }
	return NewEstimate(view, func(states []int, messages []Message) int {
		h := fnv.New32a()
		fmt.Fprint(h, states, messages)
		if isWeak && h.Sum32()%2 == 0 {
			return 0
		}
		want := s.bad[:]
		if property > 0 {
			want = []int{s.end}
		}
		steps := 0
		for i, w := range want {
			if i < len(states) && states[i] != w {
				steps++
			}
		}
		return factor * steps
	})
}

// TestDirectedTwin: the directed searches have the verdicts of a twin in which nothing is clever,
// and its states when they go through all of them. With an admissible estimate, runs of A* and IDA*
// are as short as those of the twin; with any, a run can be repeated.
func TestDirectedTwin(t *testing.T) {
	checkSpecs(t, mostSparse/4, drawSpec, func(t *rapid.T, s *spec, twin *twin) {
		m := s.model()
		properties := m.Properties
		factor := rapid.SampledFrom([]int{0, 1, 7}).Draw(t, "factor")
		isWeak := rapid.Bool().Draw(t, "weak")
		for _, search := range directedSearches {
			o := Options{Search: search, Estimate: s.estimate(0, factor, isWeak)}
			m.Properties = properties[1:2]
			r, err := Check(m, o)
			if err != nil {
				t.Fatal(err)
			}
			if want := map[bool]Verdict{true: Holds, false: Violated}[twin.good]; r.Verdict != want ||
				r.States != len(twin.steps) || r.Frontier != 0 {
				t.Fatalf("%v: %v; the twin has %d states", search, r, len(twin.steps))
			}
			if search == BestFirst && r.Transitions != int64(twin.transitions) {
				t.Fatalf("%d transitions, the twin has %d", r.Transitions, twin.transitions)
			}
			for i, want := range map[int]int{0: twin.bad, 2: twin.ended} {
				m.Properties, o.Estimate = properties[i:i+1], s.estimate(i, factor, isWeak)
				if search == BestFirst || factor > 1 {
					checkAnyRun(t, m, want, o)
				} else {
					checkProperty(t, m, want, o)
				}
			}
			// Of two that are violated, the run is that to the nearer one.
			if o.Estimate = nothing; search != BestFirst {
				m.Properties = []Property{properties[0], properties[2]}
				checkProperty(t, m, nearer(twin.bad, twin.ended), o)
			}
		}
	})
}

// checkAnyRun wants a violation, or none if the steps are negative. Its run need not be shortest.
func checkAnyRun(t *rapid.T, m *Model, want int, o Options) {
	r, err := Check(m, o)
	if err != nil {
		t.Fatal(err)
	}
	if (r.Violation != nil) != (want >= 0) || r.Violation != nil && r.Violation.Steps < want {
		t.Fatalf("%v: %v; want a violation after %d steps or more", o.Search, r, want)
	}
	if r.Violation == nil {
		return
	}
	again, err := replay(m, r.Violation.Run)
	if err != nil || again.What != r.Violation.What || again.Chart != r.Violation.Chart {
		t.Fatalf("replay: %+v, error %v; the violation was %+v", again, err, r.Violation)
	}
}

// TestDirectedDepthTwin: within a bound on the depth the directed searches have the states of the
// search breadth first, its verdict and its reason.
func TestDirectedDepthTwin(t *testing.T) {
	checkSpecs(t, mostSparse, drawSpec, func(t *rapid.T, s *spec, _ *twin) {
		m := s.model()
		m.Properties = m.Properties[1:2]
		depth := rapid.IntRange(1, 6).Draw(t, "depth")
		want, err := Check(m, Options{Depth: depth, Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		for _, search := range directedSearches {
			o := Options{Search: search, Depth: depth, Estimate: s.estimate(0, 1, true)}
			r, err := Check(m, o)
			if err != nil {
				t.Fatal(err)
			}
			// Breadth first nothing tells whether a last level would lead on.
			if r.States != want.States || r.Reason != want.Reason || r.Verdict != want.Verdict {
				t.Fatalf("%v, depth %d: %v; breadth first: %v", search, depth, r, want)
			}
		}
	})
}

// nothing is an estimate that knows nothing.
var nothing = NewEstimate(func(ID, Node) int { return 0 }, func([]int, []Message) int { return 0 })

// TestDirectedFailures: a step that fails ends a run, as a state does in which an assertion fails,
// and a start. Runs are shortest.
func TestDirectedFailures(t *testing.T) {
	panics := func(c *counter, _ *Env, _ any) {
		if c.N++; c.N == 4 {
			panic("four")
		}
	}
	plus := func(c *counter, _ *Env, _ any) { c.N++ }
	below := Assertion("below three", func(_ ID, n Node) bool { return n.(*counter).N < 3 })
	starts := Assertion("not zero", func(_ ID, n Node) bool { return n.(*counter).N != 0 })
	for _, search := range directedSearches {
		for want, m := range map[string]*Model{"4 panic: four": one(9, panics),
			"3 below three": one(9, plus, below), "0 not zero": one(9, plus, starts)} {
			r, err := Check(m, Options{Search: search, Estimate: nothing})
			if err != nil || r.Violation == nil {
				t.Errorf("%v, %s: %v, error %v", search, want, r, err)
				continue
			}
			got := fmt.Sprintf("%d %s", r.Violation.Steps, r.Violation.What)
			again, err := replay(m, r.Violation.Run)
			if !strings.HasPrefix(got, want) || err != nil || again.What != r.Violation.What {
				t.Errorf("%v: %s, want %s; repeated: %+v, error %v", search, got, want, again, err)
			}
		}
	}
}

// TestDirectedBounds: a directed search ends at each of the bounds, and tells how far it is.
func TestDirectedBounds(t *testing.T) {
	grow := func(c *counter, e *Env, _ any) { c.N = 2*c.N + 1 + e.Choose(2) }
	for _, search := range directedSearches {
		for want, o := range map[string]Options{"bound of 5000 states": {States: 5000},
			"time of 50ms is over": {Time: 50 * time.Millisecond}, "memory": {Memory: 1}} {
			told := false
			o.Search, o.Estimate = search, nothing
			if o.Time > 0 {
				o.Time, want = 1100*time.Millisecond, "time of 1.1s is over"
				o.Progress = func(p Progress) { told = told || p.Frontier > 0 && p.Bytes > 0 }
			}
			r, err := Check(one(1<<40, grow), o)
			if err != nil || r.Verdict != Unknown || !strings.Contains(r.Reason, want) {
				t.Errorf("%v: %v, error %v; want %q", search, r, err, want)
			}
			if o.Time > 0 && !told {
				t.Errorf("%v has not told how far it is", search)
			}
		}
	}
}

// TestDirectedRefused: what a directed search does not know is an error.
func TestDirectedRefused(t *testing.T) {
	plus := func(c *counter, _ *Env, _ any) { c.N++ }
	negative := NewEstimate(func(ID, Node) int { return -1 }, func(v []int, _ []Message) int { return v[0] })
	for _, search := range directedSearches {
		for want, o := range map[string]Options{"needs Options.Estimate": {},
			"neither Reduce nor": {Estimate: nothing, Reduce: true},
			"leave out Resume":   {Estimate: nothing, Resume: t.TempDir() + "/file"},
			"leave out External": {Estimate: nothing, External: t.TempDir()},
			"is -1 steps":        {Estimate: negative}} {
			o.Search = search
			if _, err := Check(one(3, plus), o); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v: error %v; want %q", search, err, want)
			}
		}
	}
}

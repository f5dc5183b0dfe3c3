package protocol

import (
	"flag"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// protocols is how many random ones are compared in each test; make protocols takes 10,000.
var protocols = flag.Int("protocols", 300, "how many random protocols are compared with the twin")

// mostStates is how many states a random protocol may have to be compared.
const mostStates = 20_000

// checkSpecs calls check with random protocols that are small enough, and with their twins.
func checkSpecs(t *testing.T, check func(t *rapid.T, s *spec, twin *twin)) {
	t.Helper()
	if err := flag.Set("rapid.checks", strconv.Itoa(*protocols)); err != nil {
		t.Fatal(err)
	}
	compared := 0
	rapid.Check(t, func(t *rapid.T) {
		s := drawSpec(t)
		if twin, ok := s.explore(mostStates); ok {
			compared++
			check(t, s, twin)
		}
	})
	t.Logf("%d protocols compared", compared)
	if compared < *protocols/2 {
		t.Errorf("only %d of %d protocols were small enough", compared, *protocols)
	}
}

// TestTwin: the search has the same states and transitions as a twin in which nothing is clever,
// and violations after as few steps.
func TestTwin(t *testing.T) {
	checkSpecs(t, func(t *rapid.T, s *spec, twin *twin) {
		workers := rapid.IntRange(1, 3).Draw(t, "workers")
		// Without properties all states are visited.
		m := s.model()
		properties := m.Properties
		m.Properties = nil
		for _, o := range []Options{{Workers: workers}, {DepthFirst: true}} {
			r, err := Check(m, o)
			if err != nil {
				t.Fatal(err)
			}
			if r.Verdict != Holds || r.States != len(twin.steps) || r.Transitions != int64(twin.transitions) {
				t.Fatalf("%+v: %v; the twin has %d states, %d transitions", o, r, len(twin.steps),
					twin.transitions)
			}
		}
		for i, want := range []int{twin.bad, map[bool]int{true: -1, false: 0}[twin.good], twin.ended} {
			m.Properties = properties[i : i+1]
			checkProperty(t, m, want, Options{Workers: workers})
		}
	})
}

// checkProperty wants a violation after some steps, or none if they are negative. A run is
// replayed.
func checkProperty(t *rapid.T, m *Model, want int, o Options) {
	r, err := Check(m, o)
	if err != nil {
		t.Fatal(err)
	}
	if (r.Verdict == Violated) != (want >= 0) {
		t.Fatalf("%v; want a violation after %d steps", r, want)
	}
	if r.Violation == nil {
		return
	}
	if r.Violation.Steps != want {
		t.Fatalf("%v after %d steps; want %d", r, r.Violation.Steps, want)
	}
	again, err := replay(m, r.Violation.Run)
	if err != nil || again.What != r.Violation.What || again.Chart != r.Violation.Chart {
		t.Fatalf("replay: %+v, error %v; the violation was %+v", again, err, r.Violation)
	}
}

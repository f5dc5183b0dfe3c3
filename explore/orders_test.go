package explore

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/explore/internal/testkit"
)

// TestPOSProbabilities: where events are independent but for one race, POS shows the seldom order
// with the probability that one event has the lowest priority of all (Yuan, Yang, Gu, section 3);
// a uniform choice of goroutines makes it exponentially seldom.
func TestPOSProbabilities(t *testing.T) {
	const executions, steps = 20_000, 8
	// p's last store comes before q's if q's priority is the lowest of all of them.
	text := "main: go q; go p\nq: store x 2; load r0 x; assert r0 2\np:" +
		strings.Repeat(" store y 1;", steps) + " store x 1"
	for name, s := range map[string]*Search{
		"pos": posSearch(executions, 1), "random": randomSearch(executions, 1),
	} {
		first := 0
		testEach(t, s, testkit.ParseProgram(text), func(w *testkit.Worker) {
			if order := orderOn(w, 1); strings.HasPrefix(order, "p") {
				first++
			}
		})
		want := 1. / (steps + 2)
		if name == "random" {
			want = math.Pow(2, -(steps + 1))
		}
		got, deviation := float64(first)/executions, math.Sqrt(want*(1-want)/executions)
		if t.Logf("%s: %.4f, expected %.4f", name, got, want); math.Abs(got-want) > 4*deviation {
			t.Errorf("%s: p is first in %.4f of the executions, expected are %.4f", name, got, want)
		}
	}
}

// TestPOSReachesAll: each partial order is sampled with a probability of at least 1/n!, if
// executions have n transitions: so often the priorities are in its order (theorem 1).
func TestPOSReachesAll(t *testing.T) {
	const executions = 4000
	profile := testkit.Profile{Blocks: testkit.Join(testkit.Variables, testkit.Mutexes), Size: 2}
	compared := 0
	rapid.Check(t, func(t *rapid.T) {
		p := profile.Generate(t)
		all, err := testkit.SearchAll(maxExecutions(dporSearch(), testkit.DFSBudget), p, 0)
		if err != nil {
			t.Fatal(err)
		}
		factorial := 1.
		for i := range all.Verdict.Deepest {
			factorial *= float64(i + 1)
		}
		if all.Verdict.Deepest > 6 {
			t.Skip("too many transitions to see each order")
		}
		sampled, err := testkit.SearchAll(posSearch(executions, 3), p, 0)
		if err != nil {
			t.Fatal(err)
		}
		least := executions / factorial
		for fingerprint := range all.Fingerprints {
			compared++
			if got := float64(sampled.Fingerprints[fingerprint]); got < least-4*math.Sqrt(least) {
				t.Errorf("a partial order is sampled %v times, promised are %.1f\n%v", got, least, p)
			}
		}
	})
	if compared < 50 {
		t.Errorf("only %d partial orders were compared", compared)
	}
}

// TestSURWIsUniform: with exact counts, all orders of the accesses to the object that goroutines
// conflict about are as likely as each other, whatever else they do and whenever they begin.
func TestSURWIsUniform(t *testing.T) {
	const executions = 6000
	for _, c := range []struct {
		name, text string
		orders     int
	}{
		{"two", "main: go p; go q\np: store x 1; store x 1; store x 1; store x 1\n" +
			"q: load r0 y; store x 1; load r0 y; load r0 y; load r0 y; store x 1", 15},
		{"with main", "main: go p; go q; store x 1; store x 1\np: store x 1\nq: store x 1; store x 1", 30},
		{"a child", "main: go p; go q\np: store x 1; store x 1; go r; load r0 y; store x 1\n" +
			"q: load r0 y; load r1 y; store x 1\nr: load r0 y; store x 1", 10},
	} {
		p, orders, n := testkit.ParseProgram(c.text), map[string]int{}, 0
		testEach(t, surwSearch(executions+1, 1), p, func(w *testkit.Worker) {
			if n++; n > 1 { // the first one counts
				orders[orderOn(w, 1)]++
			}
		})
		if len(orders) != c.orders {
			t.Fatalf("%s: %d orders, want %d: %v", c.name, len(orders), c.orders, orders)
		}
		chi, expected := 0., float64(executions)/float64(c.orders)
		for _, n := range orders {
			chi += math.Pow(float64(n)-expected, 2) / expected
		}
		// By the approximation of Wilson and Hilferty, about one of a thousand is above.
		k := float64(c.orders - 1)
		limit := k * math.Pow(1-2/(9*k)+3.09*math.Sqrt(2/(9*k)), 3)
		if t.Logf("%s: chi-square %.1f of at most %.1f", c.name, chi, limit); chi > limit {
			t.Errorf("%s: the orders are not as likely as each other: %v", c.name, orders)
		}
	}
}

// testEach runs a search to the end, and shows each execution.
func testEach(t *testing.T, s *Search, p *testkit.Program, look func(*testkit.Worker)) {
	t.Helper()
	for schedule, more := s.Next(); more; schedule, more = s.Next() {
		w := testkit.Run(p, schedule, 0)
		look(w)
		if err := s.Report(w.Log); err != nil {
			t.Fatal(err)
		}
	}
}

// orderOn names the goroutines that access an object, in order. The first one of a text is 1.
func orderOn(w *testkit.Worker, x ObjectID) (order string) {
	for _, transition := range w.Log.Transitions {
		if slices.ContainsFunc(transition.Accesses, func(a Access) bool { return a.Object == x }) {
			order += w.NameOf(transition.Action)
		}
	}
	return order
}

// TestOrdersAreRepeatable: the schedules depend on nothing but the seed and the program.
func TestOrdersAreRepeatable(t *testing.T) {
	p := testkit.ParseProgram("main: go p; go q; choose r0 3; store x 1\np: store x 2; load r0 y\n" +
		"q: store y 3; load r0 x")
	for name, newSearch := range map[string]func(n int, seed uint64) *Search{
		"pos": posSearch, "surw": surwSearch,
	} {
		list := func(seed uint64) (executions []string) {
			s := newSearch(50, seed)
			testEach(t, s, p, func(w *testkit.Worker) { executions = append(executions, w.Path(0)) })
			if v := s.Verdict(); v.Kind != Unknown || v.Complete || v.Estimate.Executions > 0 ||
				v.Reason != "50 schedules of "+strings.ToUpper(name)+" show nothing about the others" {
				t.Errorf("%s: %+v", name, v)
			}
			return executions
		}
		if a := list(1); len(a) != 50 || !slices.Equal(a, list(1)) || slices.Equal(a, list(2)) {
			t.Errorf("%s: the schedules are not those of the seed", name)
		}
	}
}

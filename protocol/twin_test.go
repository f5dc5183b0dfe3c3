package protocol

import (
	"flag"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// protocols is how many random ones are compared in each test; make deep takes 10,000.
var protocols = flag.Int("protocols", 80, "how many random protocols are compared with the twin")

// mostStates is how many states a random protocol may have to be compared, mostSparse how many one
// has that is sparse.
const mostStates, mostSparse = 20_000, 2000

// checkSpecs calls check with random protocols that are small enough, and with their twins.
func checkSpecs(t *testing.T, most int, draw func(*rapid.T) *spec,
	check func(t *rapid.T, s *spec, twin *twin)) {
	t.Helper()
	if err := flag.Set("rapid.checks", strconv.Itoa(*protocols)); err != nil {
		t.Fatal(err)
	}
	compared := 0
	rapid.Check(t, func(t *rapid.T) {
		s := draw(t)
		if twin, ok := s.explore(most); ok {
			compared++
			check(t, s, twin)
		}
	})
	t.Logf("%d protocols compared", compared)
	if compared < *protocols/2 {
		t.Errorf("only %d of %d protocols were small enough", compared, *protocols)
	}
}

// mostBatches is how many batches of random cases are drawn at most until all kinds came up that a
// test is about. With few cases, as by default, a batch lacks one of them with a chance of some
// percent.
const mostBatches = 10

// untilSeen draws batches of random cases, at least one, until all kinds were seen.
func untilSeen(draw func(), seen func() bool) {
	for batch := 0; batch == 0 || batch < mostBatches && !seen(); batch++ {
		draw()
	}
}

// TestTwin: the search has the same states and transitions as a twin in which nothing is clever,
// and violations after as few steps.
func TestTwin(t *testing.T) {
	checkSpecs(t, mostStates, drawSpec, func(t *rapid.T, s *spec, twin *twin) {
		workers := rapid.IntRange(1, 3).Draw(t, "workers")
		// Without properties all states are visited.
		m := s.model()
		properties := m.Properties
		m.Properties = nil
		for _, o := range []Options{{Workers: workers}, {Search: DepthFirst}} {
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
		// Of two that are violated, the run is that to the nearer one.
		m.Properties = []Property{properties[0], properties[2]}
		checkProperty(t, m, nearer(twin.bad, twin.ended), Options{Workers: workers})
	})
}

// nearer is the smaller one of two numbers of steps, of which those that are negative do not count.
func nearer(a, b int) int {
	if a < 0 || b < 0 {
		return max(a, b)
	}
	return min(a, b)
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

// TestLocalTwin: the local search has the verdicts of the twin, and runs that can be repeated. So
// candidates that no run leads to are told from those that one does, in all networks.
func TestLocalTwin(t *testing.T) {
	candidates := 0
	check := func(t *rapid.T, s *spec, twin *twin) {
		m := s.model()
		properties := m.Properties
		for i, isViolated := range []bool{twin.bad >= 0, !twin.good} {
			m.Properties = properties[i : i+1]
			r, err := Check(m, Options{Search: Local})
			if err != nil {
				t.Fatal(err)
			}
			if want := map[bool]Verdict{true: Violated, false: Holds}[isViolated]; r.Verdict != want {
				t.Fatalf("%v; want %v", r, want)
			}
			if r.Verdict == Holds && i == 0 {
				candidates += r.Searches
			}
			if r.Violation == nil {
				continue
			}
			if again, err := replay(m, r.Violation.Run); err != nil || again.What != r.Violation.What {
				t.Fatalf("replay: %+v, error %v; the violation was %+v", again, err, r.Violation)
			}
		}
	}
	untilSeen(func() { checkSpecs(t, mostStates, drawSpec, check) }, func() bool { return candidates > 0 })
	if candidates == 0 {
		t.Error("no candidate was refuted")
	}
	t.Logf("%d candidates refuted", candidates)
}

// TestLocalDepthTwin: within a bound on the depth, the local search finds each violation that a run
// of so many steps has. What it finds the twin has, too. It says that a property holds only if
// nothing was left out.
func TestLocalDepthTwin(t *testing.T) {
	cut := 0
	checkSpecs(t, mostStates, drawSpec, func(t *rapid.T, s *spec, twin *twin) {
		m := s.model()
		m.Properties = m.Properties[:1]
		for depth := 1; depth < 9; depth += 2 {
			r, err := Check(m, Options{Search: Local, Depth: depth})
			if err != nil {
				t.Fatal(err)
			}
			if isNear := twin.bad >= 0 && twin.bad <= depth; isNear && r.Verdict != Violated ||
				twin.bad < 0 && r.Verdict == Violated || twin.bad >= 0 && r.Verdict == Holds {
				t.Fatalf("depth %d: %v; the twin has a violation after %d steps", depth, r, twin.bad)
			}
			if r.Verdict == Unknown {
				cut++
			}
		}
	})
	if cut == 0 {
		t.Error("no search was cut off")
	}
}

// TestReducedTwin: a reduced search has the verdicts of the twin, and mostly fewer states, with
// each of the splits and without. At the ends of runs nothing is left out at all.
func TestReducedTwin(t *testing.T) {
	whole, reduced := 0, 0
	checkSpecs(t, mostStates, drawSpec, func(t *rapid.T, s *spec, twin *twin) {
		m := s.model()
		if s.faults.Partitions != 0 {
			return
		}
		properties := m.Properties
		o := Options{Reduce: true, Workers: rapid.IntRange(1, 3).Draw(t, "workers")}
		if rapid.Bool().Draw(t, "depth-first") {
			o.Search = DepthFirst
		}
		splits := Split(rapid.IntRange(0, 3).Draw(t, "splits"))
		for i, isViolated := range []bool{twin.bad >= 0, !twin.good, twin.ended >= 0} {
			m.Properties = properties[i : i+1]
			// Each property has another setting.
			o.Without = (splits + Split(i)) % (ReplySplit + QuorumSplit + 1)
			r, err := Check(m, o)
			if err != nil {
				t.Fatal(err)
			}
			if want := map[bool]Verdict{true: Violated, false: Holds}[isViolated]; r.Verdict != want {
				t.Fatalf("%s: %v; want %v", properties[i].Name(), r, want)
			}
			if r.Violation == nil {
				reduced += r.States
				whole += len(twin.steps)
				continue
			}
			if again, err := replay(m, r.Violation.Run); err != nil || again.What != r.Violation.What {
				t.Fatalf("replay: %+v, error %v; the violation was %+v", again, err, r.Violation)
			}
		}
	})
	t.Logf("%d states of %d", reduced, whole)
	if reduced >= whole {
		t.Errorf("%d states of %d: nothing was reduced", reduced, whole)
	}
}

// TestSplitsTwin: with each of the splits and without, a reduced search has the verdicts of the
// twin where transitions wait for messages that wait for others.
func TestSplitsTwin(t *testing.T) {
	states := map[Split]int{}
	checkSpecs(t, mostSparse, drawSparse, func(t *rapid.T, s *spec, twin *twin) {
		m := s.model()
		properties := m.Properties
		o := Options{Reduce: true, Workers: 1, Search: Search(rapid.IntRange(0, 1).Draw(t, "search"))}
		for i, isViolated := range []bool{twin.bad >= 0, !twin.good, twin.ended >= 0} {
			m.Properties = properties[i : i+1]
			for o.Without = range ReplySplit + QuorumSplit + 1 {
				r, err := Check(m, o)
				if err != nil {
					t.Fatal(err)
				}
				if want := map[bool]Verdict{true: Violated, false: Holds}[isViolated]; r.Verdict != want {
					t.Fatalf("%s, without %b: %v; want %v", properties[i].Name(), o.Without, r, want)
				}
				if r.Violation == nil {
					states[o.Without] += r.States
				}
			}
		}
	})
	t.Logf("states: %d with both splits, %d and %d with one, %d without", states[0], states[ReplySplit],
		states[QuorumSplit], states[ReplySplit|QuorumSplit])
	if states[0] >= states[ReplySplit|QuorumSplit] {
		t.Error("the splits leave out nothing")
	}
}

// TestReducedQuorum: what a node could do now does not keep a quorum from coming to it, with each
// of the splits and without.
func TestReducedQuorum(t *testing.T) {
	ask := []effect{{next: 1, send: [][2]int{{0, 0}}}}
	s := &spec{nodes: 3, states: 3, messages: 1, good: [2]int{2, 1}, quorums: map[[2]int]int{{0, 0}: 0},
		on: map[occasion][]effect{
			{0, 0, onAction}: {{next: 1}}, {0, 0, onQuorum}: {{next: 2}},
			{1, 0, onAction}: ask, {2, 0, onAction}: ask,
		}}
	for without := range ReplySplit + QuorumSplit + 1 {
		m := s.model()
		m.Properties = m.Properties[1:2]
		if r, err := Check(m, Options{Reduce: true, Without: without}); err != nil || r.Verdict != Holds {
			t.Errorf("without %b: %v, error %v; want that the quorum is reached", without, r, err)
		}
	}
}

// TestReducedCycle: a node that goes round for ever does not put off what another one does.
func TestReducedCycle(t *testing.T) {
	idle := func(*counter, *Env, any) {}
	step := func(c *counter, _ *Env, _ any) { c.N++ }
	for _, search := range []Search{BreadthFirst, DepthFirst} {
		m := &Model{Nodes: []Node{&counter{Most: 1, On: idle}, &counter{Most: 2, On: step}},
			Properties: []Property{Always("below 2", func(_ ID, n Node) bool { return n.(*counter).N < 2 },
				func(v []bool) bool { return v[0] && v[1] })}}
		if r, err := Check(m, Options{Search: search, Reduce: true}); err != nil || r.Verdict != Violated {
			t.Errorf("%v: %v, error %v; want a violation", search, r, err)
		}
	}
}

// TestLocalFailures: steps that fail, at the start and later, and assertions of one node are found
// if a run leads to them.
func TestLocalFailures(t *testing.T) {
	type two struct{ a, b Node }
	fail := func(c *counter, e *Env, message any) {
		if message == "go" {
			c.N++
			e.Send(1-e.ID(), c.N)
			return
		}
		// Only the other node can send 2, after it has sent 1.
		e.Assert(message != c.Extra, "bad")
	}
	for name, c := range map[string]struct {
		nodes two
		want  Verdict
	}{
		"reached":     {two{&counter{Most: 2, On: fail}, &counter{On: fail, Extra: 2}}, Violated},
		"not reached": {two{&counter{Most: 2, On: fail}, &counter{On: fail, Extra: 3}}, Holds},
	} {
		m := &Model{Nodes: []Node{c.nodes.a, c.nodes.b}}
		r, err := Check(m, Options{Search: Local})
		if err != nil || r.Verdict != c.want {
			t.Errorf("%s: %v, error %v; want %v", name, r, err, c.want)
		}
	}
	local := Assertion("small", func(_ ID, n Node) bool { return n.(*counter).N < 2 })
	grow := func(c *counter, _ *Env, _ any) { c.N++ }
	if r, err := Check(one(3, grow, local), Options{Search: Local}); err != nil || r.Violation.Steps != 2 {
		t.Errorf("%v, error %v; want a violation after 2 steps", r, err)
	}
	if r, err := Check(&Model{Nodes: []Node{failsAtStart{}}}, Options{Search: Local}); err != nil ||
		r.Verdict != Violated {
		t.Errorf("%v, error %v; want a violation at the start", r, err)
	}
	if r, err := Check(one(1<<40, grow), Options{Search: Local, Time: 20 * time.Millisecond}); err != nil ||
		r.Verdict != Unknown {
		t.Errorf("%v, error %v; want unknown", r, err)
	}
	end := Eventually("end", Whole, func([]Node) bool { return true })
	wantSearchError(t, one(1, grow, end), Options{Search: Local}, "looks at no ends of runs")
	wantSearchError(t, one(1, grow), Options{Search: 9}, "there is no search 9")
	parted := one(1, grow)
	parted.Faults.Partitions = 1
	wantSearchError(t, parted, Options{Reduce: true}, "a partition is dependent on all else")
}

// TestEndless: where the local search has no end, all global states are searched, and the result
// says so. A message arrives once in a run, and any number of times in the local search.
func TestEndless(t *testing.T) {
	count := func(c *counter, e *Env, message any) {
		if c.N++; message == "go" {
			e.Send(1, "one more")
		}
	}
	n := func(_ ID, node Node) int { return node.(*counter).N }
	m := &Model{Nodes: []Node{&counter{Most: 1, On: count}, &counter{On: count}},
		Properties: []Property{Always("at most one each", n, func(v []int) bool { return v[0]+v[1] < 3 })}}
	for _, o := range []Options{{Search: Local}, {Reduce: true}} {
		r, err := Check(m, o)
		if err != nil || r.Verdict != Holds || r.States != 3 || !strings.Contains(r.String(), "131,072") {
			t.Errorf("%+v: %v, error %v; want 3 states, not reduced", o, r, err)
		}
	}
}

// failsAtStart is a node that fails at once.
type failsAtStart struct{}

func (failsAtStart) Receive(*Env, ID, any) {}
func (failsAtStart) Start(env *Env)        { env.Assert(false, "never") }

func wantSearchError(t *testing.T, m *Model, o Options, want string) {
	t.Helper()
	if r, err := Check(m, o); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, error %v; want %q", r, err, want)
	}
}

// lateNode says when it has started.
type lateNode struct{ Up bool }

func (n *lateNode) Receive(*Env, ID, any) {}
func (n *lateNode) Start(*Env)            { n.Up = true }

// TestLateStart: nodes start one by one, in any order.
func TestLateStart(t *testing.T) {
	m := &Model{Nodes: []Node{&lateNode{}, &lateNode{}, &lateNode{}}}
	for late, states := range map[bool]int{false: 1, true: 8} {
		m.LateStart = late
		if r := Test(t, m, Options{}); r.States != states {
			t.Errorf("late %v: %v; want %d states", late, r, states)
		}
	}
}

// TestPartition: a partition loses what is under way and what is sent, and is drawn in the chart.
func TestPartition(t *testing.T) {
	tell := func(c *counter, e *Env, message any) {
		if c.N++; message == "go" {
			e.Send(1-e.ID(), c.N)
		}
	}
	n := func(_ ID, node Node) int { return node.(*counter).N }
	m := &Model{
		Nodes: []Node{&counter{Most: 2, On: tell}, &counter{On: tell}}, Faults: Faults{Partitions: 1},
		Properties: []Property{Eventually("both arrive", n, func(v []int) bool { return v[1] == 2 })},
	}
	r, err := Check(m, Options{Workers: 1})
	if err != nil || r.Violation == nil {
		t.Fatalf("%v, error %v; want a violation", r, err)
	}
	for _, text := range []string{"partition: node 0 | node 1\n", "the partition heals\n"} {
		if !strings.Contains(r.Violation.Chart, text) {
			t.Errorf("there is no %q in\n%s", text, r.Violation.Chart)
		}
	}
	if m.Faults.Partitions = 0; Test(t, m, Options{}).Verdict != Holds {
		t.Error("a message is lost without a partition")
	}
}

// TestLook: each step that a position lists leads to the position that it says, down to the end of
// all runs. Violations are those that a search finds.
func TestLook(t *testing.T) {
	grow := func(c *counter, e *Env, _ any) { c.N += 1 + e.Choose(2) }
	m := one(3, grow, Assertion("small", func(_ ID, n Node) bool { return n.(*counter).N < 4 }))
	violated, ended := 0, 0
	var walk func(run string)
	walk = func(run string) {
		p, err := Look(m, run)
		if err != nil {
			t.Fatal(err)
		}
		if p.Violated == "small" {
			violated++
		}
		if len(p.Steps) == 0 {
			ended++
		}
		for _, s := range p.Steps {
			walk(s.Run)
		}
	}
	walk("")
	// The ways to write 3 or more as a sum of ones and twos, of which the last comes from below 3.
	if ended != 5 || violated != 2 {
		t.Errorf("%d runs have ended, %d are violated; want 5 and 2", ended, violated)
	}
	p, err := Look(&Model{Nodes: []Node{failsAtStart{}}}, "")
	if err != nil || !strings.Contains(p.Violated, "never") || len(p.Steps) > 0 {
		t.Errorf("%+v, error %v; want a violation at the start", p, err)
	}
	m.Faults.Partitions = 1
	m.Nodes = append(m.Nodes, &counter{})
	if p, err = Look(m, "0"); err != nil || !slices.ContainsFunc(p.Steps,
		func(s NextStep) bool { return s.Node == "" }) {
		t.Errorf("%+v, error %v; want a step that is a partition", p, err)
	}
	if _, err := Look(m, "9"); err == nil {
		t.Error("a run that there is not is no error")
	}
}

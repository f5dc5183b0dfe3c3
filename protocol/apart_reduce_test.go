package protocol

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/protocol/internal/global"
	"github.com/tandem-mc/tandem/protocol/internal/system"
	"github.com/tandem-mc/tandem/protocol/internal/table"
)

// reducedSearch is what one process makes of a model that it reduces.
func reducedSearch(t *rapid.T, m *Model, o Options) global.Config {
	machine, err := newMachine(m)
	if err != nil {
		t.Fatal(err)
	}
	b := newBounds(o, time.Now())
	c := newSearch(machine, o, b)
	if _, _, err := reduce(machine, &c, o, b); err != nil {
		t.Fatal(err)
	}
	return c
}

// drawEither draws a protocol with all faults but partitions, or one in which transitions wait for
// messages that wait for others. In some a node goes round for ever.
func drawEither(t *rapid.T) *spec {
	s := (*spec)(nil)
	if rapid.Bool().Draw(t, "sparse") {
		s = drawSparse(t)
	} else {
		s = drawSpec(t)
		s.faults.Partitions = 0
	}
	if rapid.Bool().Draw(t, "goes round") {
		node := rapid.SampledFrom([]int{0, s.nodes - 1}).Draw(t, "node")
		for state := range s.states {
			for _, event := range []int{onStart, onAction, onTimer, onQuorum, 0, 1, 2} {
				delete(s.on, occasion{node, state, event})
			}
			delete(s.quorums, [2]int{node, state})
			s.on[occasion{node, state, onAction}] = []effect{{next: (state + 1) % s.states}}
		}
	}
	return s
}

// drawSeeing draws some of the properties of a protocol. In place of an invariant and of what is to
// be reached there may be others that see one node: the less is seen, the more is left out.
func drawSeeing(t *rapid.T, s *spec, properties []Property) []Property {
	seen := min(1, s.nodes-1)
	state := func(id ID, n Node) int {
		if int(id) != seen {
			return 0
		}
		return n.(*automaton).State
	}
	if rapid.Bool().Draw(t, "sees one node") {
		properties = []Property{
			Always("not bad", state, func(v []int) bool { return v[seen] != s.bad[1] }),
			Sometimes("good", state, func(v []int) bool { return v[seen] == s.good[1] }), properties[2]}
	}
	from := rapid.IntRange(0, len(properties)).Draw(t, "from")
	return properties[from:rapid.IntRange(from, len(properties)).Draw(t, "to")]
}

// reducedTally says what the searches of a test came to.
type reducedTally struct{ sent, fetched, spilled, endless, violated, states, alone, whole int }

// TestApartReducedTwin: several parts that leave out orders of steps have the verdict of a search
// that leaves out nothing. Where all runs end, and where there is one part, they have all counts of
// the reduced search alone, and always the same run. Elsewhere they may have more states. In any
// case what happens to processes changes nothing.
func TestApartReducedTwin(t *testing.T) {
	few(t)
	dir, sum := t.TempDir(), reducedTally{}
	checkSpecs(t, mostSparse, drawEither, func(t *rapid.T, s *spec, _ *twin) {
		m := s.model()
		m.Properties = drawSeeing(t, s, m.Properties)
		o := Options{Workers: 1, Depth: max(0, rapid.IntRange(-9, 5).Draw(t, "depth"))}
		whole, err := Check(m, o)
		if err != nil {
			t.Fatal(err)
		}
		o.Reduce, o.Without = true, Split(rapid.IntRange(0, 3).Draw(t, "splits"))
		alone, err := Check(m, o)
		if err != nil {
			t.Fatal(err)
		}
		isEndless, run := reducedSearch(t, m, o).Proviso, ""
		for _, parts := range []int{1, rapid.IntRange(2, 5).Draw(t, "parts")} {
			function := rapid.SampledFrom(functions).Draw(t, "function")
			if o.External = ""; !isEndless && rapid.Bool().Draw(t, "external") {
				o.External, o.onDisk = dir, drawSizes(t)
			}
			got, p, err := checkAs(m, m, o, parts, function, drawChance(t))
			if err != nil {
				t.Fatal(err)
			}
			if o.Depth == 0 && got.Verdict != whole.Verdict {
				t.Fatalf("%d parts: %v; want %v", parts, got, whole)
			}
			sum.add(whole, alone, got, p, parts, isEndless)
			if isEndless && parts > 1 {
				compareCalm(t, m, o, parts, function, got)
				continue
			}
			compareApart(t, alone, got)
			if got.Violation == nil {
				continue
			}
			if run != "" && run != got.Violation.Run {
				t.Fatalf("%d parts show the run %s, and one shows %s", parts, got.Violation.Run, run)
			}
			run = got.Violation.Run
		}
	})
	t.Logf("%+v", sum)
	least := *protocols / 25
	if sum.fetched == 0 || sum.sent < least || sum.endless < least || sum.states >= sum.whole {
		t.Error("some kind of search was rare, or nothing was left out")
	}
	// Of few protocols there may be none by chance.
	if *protocols >= 500 && (sum.spilled < least || sum.violated < least) {
		t.Error("files were seldom used, or violations are rare")
	}
}

// few has a test take a quarter of the random protocols: it checks each of them many times.
func few(t *testing.T) {
	all := *protocols
	*protocols /= 4
	t.Cleanup(func() { *protocols = all })
}

// drawChance draws what happens to processes.
func drawChance(t *rapid.T) chance {
	return chance{seed: rapid.Uint64().Draw(t, "seed"), kills: rapid.IntRange(0, 4).Draw(t, "kills"),
		fronts: rapid.IntRange(0, 2).Draw(t, "fronts"), damages: rapid.IntRange(0, 1).Draw(t, "damages"),
		checkpoints: rapid.Bool().Draw(t, "checkpoints")}
}

// compareCalm compares all of a result with that of the same parts to which nothing happens.
func compareCalm(t *rapid.T, m *Model, o Options, parts int, function string, got *Result) {
	t.Helper()
	want, err := checkTogether(m, o, parts, function, chance{})
	if err != nil {
		t.Fatal(err)
	}
	want.Shares, got.Shares = "", ""
	if diff := cmp.Diff(want, got, ignored); diff != "" {
		t.Fatal(diff)
	}
}

// add counts what a search came to.
func (r *reducedTally) add(whole, alone, got *Result, p *post, parts int, isEndless bool) {
	count := func(n *int, is bool) {
		if is {
			*n++
		}
	}
	count(&r.sent, parts > 1 && !strings.Contains(got.Shares, " 0 states were sent"))
	count(&r.spilled, got.Disk > 0)
	count(&r.endless, isEndless && parts > 1)
	count(&r.violated, got.Violation != nil)
	r.fetched += p.fetched
	if parts > 1 && got.Violation == nil {
		r.states += got.States
		r.alone += alone.States
		r.whole += whole.States
	}
}

// TestApartReducedCycle: nodes that go round for ever do not put off what another one does, even if
// the states on the way belong to several parts. Each of them finds the next one new.
func TestApartReducedCycle(t *testing.T) {
	turn := func(c *counter, _ *Env, _ any) { c.N = (c.N + 1) % 3 }
	step := func(c *counter, _ *Env, _ any) { c.N++ }
	// A step that a property sees would not be put off.
	n := func(id ID, node Node) int { return int(id) * node.(*counter).N }
	for _, network := range []Network{Unordered, Ordered} {
		m := &Model{Network: network, Nodes: []Node{&counter{Most: 9, On: turn}, &counter{Most: 2, On: step}},
			Properties: []Property{Always("below 2", n, func(v []int) bool { return v[1] < 2 })}}
		for _, function := range []string{"hash", "part=0", "part=1", "part"} {
			for parts := 1; parts < 5; parts++ {
				r, err := checkTogether(m, Options{Reduce: true}, parts, function, chance{})
				if err != nil || r.Verdict != Violated {
					t.Errorf("%v, %d parts by %s: %v, error %v; want a violation", network, parts, function,
						r, err)
				}
			}
		}
	}
}

// TestSelectionSame: what is selected in a state does not depend on who selects, with how many
// workers. Messages have the same numbers, whatever the order of a map was.
func TestSelectionSame(t *testing.T) {
	few(t)
	checkSpecs(t, mostStates, drawEither, func(t *rapid.T, s *spec, _ *twin) {
		compareSelections(t, s.model(), 30)
	})
	rapid.Check(t, func(t *rapid.T) { compareSelections(t, scatter(5), 3) })
}

// compareSelections has two processes select in some states. No run may lead there.
func compareSelections(t *rapid.T, m *Model, states int) {
	t.Helper()
	o := Options{Without: Split(rapid.IntRange(0, 3).Draw(t, "splits"))}
	one := reducedSearch(t, m, o)
	o.Workers = 3
	other := reducedSearch(t, m, o)
	locals, messages := one.Table.Numbers()
	for range states {
		state := system.State{}
		for node, n := range locals {
			l := table.Local(rapid.IntRange(0, n-1).Draw(t, "local"))
			if !bytes.Equal(one.Table.State(node, l).Image, other.Table.State(node, l).Image) {
				t.Fatalf("local state %d of node %d is another one", l, node)
			}
			state.Locals = append(state.Locals, l)
		}
		for m := range table.Message(messages) {
			if diff := cmp.Diff(one.Table.Message(m), other.Table.Message(m)); diff != "" {
				t.Fatalf("message %d is another one: %s", m, diff)
			}
			if rapid.IntRange(0, 3).Draw(t, "is sent") == 0 {
				state.Messages = append(state.Messages, m)
			}
		}
		canArrive := func(int) bool { return true }
		a, b := one.Select(state.Locals, state.Messages, canArrive),
			other.Select(state.Locals, state.Messages, canArrive)
		if a != b || one.Proviso != other.Proviso {
			t.Fatalf("one selects %b in %v, and another one %b", a, state, b)
		}
	}
}

// TestApartReducedRefused: what cannot be reduced is told, and so is what ends before the search.
// The next search of the same processes is not held up by it.
func TestApartReducedRefused(t *testing.T) {
	parted, cycle := stairs(2), &Model{Network: Duplicating, Nodes: stairs(2).Nodes}
	parted.Faults.Partitions = 1
	for want, c := range map[string]struct {
		m *Model
		o Options
	}{
		"leave out Reduce, or partitions": {parted, Options{}},
		"leave out External, or Reduce":   {cycle, Options{External: t.TempDir(), onDisk: tiny}},
	} {
		c.o.Reduce = true
		if r, err := checkTogether(c.m, c.o, 2, "hash", chance{}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v, error %v, want %q", r, err, want)
		}
		next := func(m *Model, o Options) (*Result, error) {
			if r, err := Check(m, o); err == nil || !strings.Contains(err.Error(), want) {
				return nil, fmt.Errorf("%v, error %w, want %q", r, err, want)
			}
			o.Reduce = false
			return Check(m, o)
		}
		if r, err := checkTogether(c.m, c.o, 2, "hash", chance{check: next}); err != nil {
			t.Errorf("the next search: %v, error %v", r, err)
		}
	}
	long := func(m *Model, o Options) *Result {
		o.Reduce = true
		r, err := checkTogether(m, o, 2, "hash", chance{})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	// Over a network that loses nothing, a node that counts has no end.
	count := func(c *counter, e *Env, message any) {
		if c.N++; message == "go" {
			e.Send(1, "one more")
		}
	}
	m := &Model{Nodes: []Node{&counter{Most: 1, On: count}, &counter{On: count}}}
	if r := long(m, Options{}); r.States != 3 || !strings.Contains(r.Whole, "131,072") {
		t.Errorf("%v; want 3 states, not reduced", r)
	}
	if r := long(m, Options{Time: 1}); r.Verdict != Unknown || !strings.Contains(r.Reason, "time") {
		t.Errorf("%v; want that the time is over", r)
	}
	// The bound on memory is that of the parts, and is met by them in the fixpoint.
	r, err := checkTogether(m, Options{Reduce: true, Memory: 1}, 2, "hash", chance{})
	if err == nil || !strings.Contains(err.Error(), "local search by which Reduce begins: raise the bound") {
		t.Errorf("%v, error %v; want the bound on memory", r, err)
	}
}

// TestApartReducedParts: the nodes that divide states by default are chosen by what a search comes
// to, and not by the fixpoint, which has more.
func TestApartReducedParts(t *testing.T) {
	idle := func(c *counter, _ *Env, message any) {
		if message == 2 { // which node 0 can send, and never does in a run
			c.N = 1
		}
	}
	ask := func(c *counter, e *Env, _ any) {
		if c.N++; c.N == 1 {
			e.Send(0, 1)
		}
	}
	never := &counter{On: func(c *counter, e *Env, message any) {
		// The second one comes only over a network that loses nothing.
		if c.N++; c.N == 2 {
			e.Send(2, 2)
		}
		c.N = min(c.N, 2)
	}}
	m := &Model{Nodes: []Node{never, &counter{Most: 9, On: ask}, &counter{On: idle}}}
	r, err := checkTogether(m, Options{Reduce: true}, 2, "part", chance{})
	if err != nil || r.Locals < 3+10+2 || strings.Contains(r.Shares, "2:") {
		t.Errorf("%v, error %v, %s; want states that node 2 does not divide", r, err, r.Shares)
	}
}

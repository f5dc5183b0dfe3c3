package portfolio

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/check/internal/nodes"
	"github.com/tandem-mc/tandem/check/internal/nodes/given"
	"github.com/tandem-mc/tandem/check/internal/nodes/pick"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut"
	"github.com/tandem-mc/tandem/sut/suttest"
)

// build builds a package below the examples of nodes.
func build(t *testing.T, pkg string) *sut.Program {
	t.Helper()
	return suttest.Build(t, sut.BuildOptions{Dir: "../../../../examples/nodes", Package: pkg})
}

// walks are those that are made beside an exploration.
func walks() *pick.Walks {
	return &pick.Walks{Seed: 1, Picks: []pick.Pick{pick.Uniformly, pick.ByOperation}, Beside: true}
}

// ring is a ring of nodes of examples/nodes/chord, each of which also has these arguments.
func ring(t *testing.T, size string, args ...string) nodes.Config {
	t.Helper()
	program := build(t, "./chord")
	at := func(id string) string { return "127.0.0.1:771" + id }
	node := func(id string, own ...string) nodes.Node {
		own = append([]string{"-id", id, "-listen", at(id)}, own...)
		return nodes.Node{Name: "n" + id, Package: "./chord", Program: program, Listen: at(id),
			Args: append(own, args...)}
	}
	c := nodes.Config{Nodes: []nodes.Node{node("1", "-size", size)}, Walks: walks()}
	for _, id := range []string{"2", "3"}[:size[0]-'1'] {
		c.Nodes = append(c.Nodes, node(id, "-join", "1 "+at("1")))
	}
	return c
}

// check runs both.
func check(t *testing.T, c nodes.Config) *nodes.Result {
	t.Helper()
	r, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// alone is what the exploration alone comes to.
func alone(t *testing.T, c nodes.Config) *nodes.Result {
	t.Helper()
	c.Walks = nil
	return check(t, c)
}

// TestFoundEarly: a violation that an exploration comes to late is found at random, in the same
// execution whatever the number of crews. It is recorded like any other.
func TestFoundEarly(t *testing.T) {
	c := ring(t, "3", "-fault", "steps")
	explored := alone(t, c)
	one := check(t, c)
	c.Crews = 2
	two := check(t, c)
	if one.Verdict != model.Violated || one.Reason != "" || one.Runs*4 > explored.Runs {
		t.Errorf("%v (%s) after %d executions, and %d without any at random", one.Verdict, one.Reason,
			one.Runs, explored.Runs)
	}
	v, w := one.Violation(), two.Violation()
	if v == nil || w == nil || v.Signature != w.Signature || v.Recording == nil || one.Runs != two.Runs {
		t.Errorf("one crew finds %+v, and two find %+v", v, w)
	}
}

// TestHolds: what holds is up to the exploration. Executions at random are half as many at most.
func TestHolds(t *testing.T) {
	c := ring(t, "2", "-finds", "1")
	explored, both := alone(t, c), check(t, c)
	if both.Verdict != model.Holds || explored.Verdict != model.Holds {
		t.Errorf("%v, %s; alone %v, %s", both.Verdict, both.Reason, explored.Verdict, explored.Reason)
	}
	if diff := cmp.Diff(explored.Counts, both.Counts); diff != "" {
		t.Error(diff)
	}
	random := both.Random
	if random != both.Runs-explored.Runs || random < explored.Runs/4-len(c.Nodes) ||
		random > explored.Runs/2 {
		t.Errorf("%d executions at random for %d that were explored", random, explored.Runs)
	}
}

// TestSmall: a system that ends before any execution at random is explored as without these.
func TestSmall(t *testing.T) {
	c := ring(t, "2")
	if diff := cmp.Diff(alone(t, c), check(t, c)); diff != "" {
		t.Error(diff)
	}
}

// TestGoesOn: a check that bounds end goes on from what was saved, and comes to the same. The bound
// is one on executions of both kinds.
func TestGoesOn(t *testing.T) {
	c := ring(t, "2", "-finds", "1")
	want := check(t, c)
	var state []byte
	c.Save = func(encode func() ([]byte, error), _ bool) {
		data, err := encode()
		if err != nil {
			t.Error(err)
		}
		state = data
	}
	for i, bound := range []int{40, 200, 500} {
		c.Executions, c.Crews, c.Resume = bound, 1+i%2, state
		r := check(t, c)
		if r.Verdict != model.Unknown || r.Runs > bound || r.Reason != c.OverLimit() {
			t.Errorf("bound %d: %v after %d executions: %s", bound, r.Verdict, r.Runs, r.Reason)
		}
	}
	c.Executions, c.Resume = 0, state
	r := check(t, c)
	if r.Verdict != want.Verdict {
		t.Errorf("%v: %s", r.Verdict, r.Reason)
	}
	if diff := cmp.Diff(want.Counts, r.Counts); diff != "" {
		t.Error(diff)
	}
}

// TestRest: what an exploration cannot have is left to chance, up to the bound. The walks, too, go
// on where they were.
func TestRest(t *testing.T) {
	list := []nodes.Node{
		{Name: "primary", Program: build(t, "./heartbeat/primary"), Listen: "127.0.0.1:7900"},
		{Name: "backup", Program: build(t, "./heartbeat/backup"), Listen: "127.0.0.1:7901"},
	}
	c := nodes.Config{Nodes: list, Walks: walks(), Executions: 100, Crash: given.Crash{Crashes: []int{0},
		CrashLimit: 1}}
	var state []byte
	c.Save = func(encode func() ([]byte, error), _ bool) { state, _ = encode() }
	reason := alone(t, c).Reason
	r := check(t, c)
	if r.Verdict != model.Unknown || r.Runs > 100 || r.Runs < 98 || r.Reason != reason {
		t.Errorf("%v after %d executions: %s; want %s", r.Verdict, r.Runs, r.Reason, reason)
	}
	if state == nil {
		t.Fatal("nothing was saved")
	}
	before := r.Runs
	c.Resume, c.Executions = state, 200
	if r = check(t, c); r.Runs > 200 || r.Runs <= before {
		t.Errorf("%d executions after %d: %s", r.Runs, before, r.Reason)
	}
}

// TestWhole: where all is explored, and the verdict is unknown since nobody publishes a name, no
// bound is used up to find that out.
func TestWhole(t *testing.T) {
	c := ring(t, "2")
	c.Properties.Agree, c.Executions = []string{"winner"}, 10_000
	r := check(t, c)
	if r.Verdict != model.Unknown || r.Runs > 100 || !strings.Contains(r.Reason, "has published winner") {
		t.Errorf("%v after %d executions: %s", r.Verdict, r.Runs, r.Reason)
	}
}

// TestDespite: an exploration that fails takes nothing away of what walks have found.
func TestDespite(t *testing.T) {
	failed := errors.New("a worker has died")
	p := &portfolio{}
	if r, err := p.despite(nil, failed); r != nil || !errors.Is(err, failed) {
		t.Errorf("without a violation: %+v, %v", r, err)
	}
	v := &nodes.Violation{Node: "a", Signature: "x"}
	p.random = &nodes.Result{Violations: []*nodes.Violation{v}}
	r, err := p.despite(nil, failed)
	if err != nil {
		t.Fatal(err)
	}
	p.join(r)
	if r.Verdict != model.Violated || r.Violation() != v || !strings.Contains(r.Notes[0], "has died") {
		t.Errorf("%+v", r)
	}
}

// TestAll: where more than one violation is wanted, walks go on after the first one. They find what
// they find without an exploration, and each of them once.
func TestAll(t *testing.T) {
	list := []nodes.Node{{Name: "voter", Program: build(t, "./election/voter"), Listen: "127.0.0.1:7900"}}
	candidate := build(t, "./election/candidate")
	for _, name := range []string{"one", "two"} {
		list = append(list, nodes.Node{Name: name, Program: candidate, Args: []string{name}})
	}
	c := nodes.Config{Nodes: list, Walks: walks(), Violations: 10}
	c.Properties.Agree = []string{"leader of *"}
	p := &portfolio{ctx: t.Context(), walking: c}
	for most := 15; most <= 240; most *= 2 {
		if err := p.walk(most); err != nil {
			t.Fatal(err)
		}
		if most == 15 && p.found() != 1 {
			t.Fatalf("%d violations in the first walks: they are no test of those that follow", p.found())
		}
	}
	c.Walks.Beside, c.Executions = false, 240
	var got, want []string
	for _, v := range p.random.Violations {
		got = append(got, v.Signature)
	}
	for _, v := range check(t, c).Violations {
		want = append(want, v.Signature)
	}
	if diff := cmp.Diff(want, got); len(want) < 2 || diff != "" {
		t.Errorf("%d violations: %s", len(want), diff)
	}
}

// TestOnlyOne: a check that asks for one of both has that, and nothing else.
func TestOnlyOne(t *testing.T) {
	c := ring(t, "2")
	c.Executions, c.Walks.Beside = 20, false
	if r := check(t, c); r.Verdict != model.Unknown || r.Counts.Skeletons != 0 || r.Runs != 20 {
		t.Errorf("walks: %v after %d executions", r.Verdict, r.Runs)
	}
}

// TestDamaged: what was not saved by a check of this kind is refused.
func TestDamaged(t *testing.T) {
	_, err := Run(t.Context(), nodes.Config{Walks: walks(), Saving: nodes.Saving{Resume: []byte("\x05")}})
	if err == nil || !strings.Contains(err.Error(), "check the nodes from the beginning") {
		t.Errorf("the error is %v", err)
	}
}

// TestCancelled: without any time left, the verdict is unknown, and there are no walks.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := ring(t, "2")
	r, err := Run(ctx, c)
	if err != nil || r.Verdict != model.Unknown || r.Runs != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

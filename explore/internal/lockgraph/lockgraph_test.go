package lockgraph

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/explore/internal/core"
	"github.com/tandem-mc/tandem/explore/internal/testkit"
)

// logOf is the log of an execution in which each goroutine runs as far as it can.
func logOf(text string) *core.Execution {
	return &testkit.Run(testkit.ParseProgram(text), core.Schedule{}, 0).Log
}

// TestCycles has programs with and without potential deadlocks.
func TestCycles(t *testing.T) {
	for name, test := range map[string]struct {
		program string
		want    []int // lengths of the cycles
	}{
		"none": {"main: go p\np: lock m; lock n; unlock n; unlock m", nil},
		"two": {"main: go p; go q\np: lock m; lock n; unlock n; unlock m\n" +
			"q: lock n; lock m; unlock m; unlock n", []int{2}},
		"three": {"main: go p; go q; go r\np: lock a; lock b; unlock b; unlock a\n" +
			"q: lock b; lock c; unlock c; unlock b\nr: lock c; lock a; unlock a; unlock c", []int{3}},
		"one goroutine": {"main: lock m; lock n; unlock n; unlock m; lock n; lock m; unlock m; " +
			"unlock n", nil},
		"guarded": {"main: go p; go q\np: lock g; lock m; lock n; unlock n; unlock m; unlock g\n" +
			"q: lock g; lock n; lock m; unlock m; unlock n; unlock g", nil},
		"guarded once": {"main: go p; go q\np: lock g; lock m; lock n; unlock n; unlock m; unlock g\n" +
			"q: lock n; lock m; unlock m; unlock n", []int{2}},
		"readers": {"main: go p; go q\np: rlock m; rlock n; runlock n; runlock m\n" +
			"q: rlock n; rlock m; runlock m; runlock n", nil},
		"readers beside writers": {"main: go p; go q; go r\np: rlock m; rlock n; runlock n; runlock m\n" +
			"q: rlock n; rlock m; runlock m; runlock n\nr: lock m; unlock m; lock n; unlock n", []int{2}},
		"a writer among readers": {"main: go p; go q\np: rlock m; rlock n; runlock n; runlock m\n" +
			"q: lock n; lock m; unlock m; unlock n", []int{2}},
		"before the other is created": {"main: lock m; lock n; unlock n; unlock m; go p\n" +
			"p: lock n; lock m; unlock m; unlock n", nil},
		"after the other is created": {"main: go p; lock m; lock n; unlock n; unlock m\n" +
			"p: lock n; lock m; unlock m; unlock n", []int{2}},
		"before and after": {"main: lock m; lock n; unlock n; unlock m; go p; lock m; lock n; unlock n; " +
			"unlock m\np: lock n; lock m; unlock m; unlock n", []int{2}},
		"after the other has ended": {"main: add w 1; go p; wait w; lock m; lock n; unlock n; unlock m\n" +
			"p: lock n; lock m; unlock m; unlock n; done w", nil},
		"before the other has ended": {"main: add w 1; go p; lock m; lock n; unlock n; unlock m; wait w\n" +
			"p: lock n; lock m; unlock m; unlock n; done w", []int{2}},
		"handed over": {"main: go p; go q\np: lock m; unlock m; lock n; unlock n\n" +
			"q: lock n; unlock n; lock m; unlock m", nil},
		"sealed": {"main: go p; go q\np: lock m; load r0 x; .lock n; unlock n; unlock m\n" +
			"q: lock n; lock m; unlock m; unlock n", []int{2}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []int
			for _, c := range Cycles(logOf(test.program), 10) {
				got = append(got, len(c))
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("cycles of the lengths %v, want %v", got, test.want)
			}
		})
	}
}

// TestCycleIsHeld: each goroutine of a cycle holds what the one before waits for, and wants its
// lock in the transition that is named.
func TestCycleIsHeld(t *testing.T) {
	e := logOf("main: load r0 x; go p; go q; load r0 x\np: load r0 x; lock m; lock n; unlock n; unlock m\n" +
		"q: lock n; load r0 x; load r0 x; lock m; unlock m; unlock n")
	cycles := Cycles(e, 10)
	if len(cycles) != 1 {
		t.Fatalf("cycles %v, want one", cycles)
	}
	for i, w := range cycles[0] {
		if next := cycles[0][(i+1)%2]; w.Wants != next.Holds {
			t.Errorf("%+v is not before %+v", w, next)
		}
		nth := 0
		for _, x := range e.Transitions {
			if x.Goroutine != w.Goroutine {
				continue
			}
			if nth++; nth == w.Nth && !slices.ContainsFunc(x.Needs, func(n core.Need) bool {
				return n.Object == w.Wants
			}) {
				t.Errorf("transition %d of %#x does not wait for %d", nth, uint64(w.Goroutine), w.Wants)
			}
		}
	}
}

// ring is the log of an execution of goroutines each of which takes two locks, the last of one
// being the first of the next.
func ring(n int) *core.Execution {
	e := &core.Execution{}
	main := core.Transition{Action: core.Action{Goroutine: 1}, Choices: 1}
	for i := range n {
		main.Starts = append(main.Starts, core.GoroutineID(i+2))
	}
	e.Transitions = append(e.Transitions, main)
	for i := range n {
		x := core.Transition{Action: core.Action{Goroutine: core.GoroutineID(i + 2)}, Choices: 1}
		first, second := core.ObjectID(i+1), core.ObjectID((i+1)%n+1)
		for _, lock := range []core.ObjectID{first, second} {
			x.Needs = []core.Need{{Object: lock, Mask: core.ReadyExclusive}}
			x.Accesses = []core.Access{{Object: lock, Kind: core.Write, Ready: core.ReadyExclusive}}
			e.Transitions = append(e.Transitions, x)
		}
		x.Needs = nil
		for _, lock := range []core.ObjectID{second, first} {
			x.Accesses = []core.Access{{Object: lock, Kind: core.Write}}
			e.Transitions = append(e.Transitions, x)
		}
	}
	return e
}

// TestRing: a cycle of any length is found at once.
func TestRing(t *testing.T) {
	for _, n := range []int{2, 5, 50, 600} {
		cycles := Cycles(ring(n), 10)
		if len(cycles) != 1 || len(cycles[0]) != n {
			t.Errorf("%d cycles in a ring of %d goroutines", len(cycles), n)
		}
	}
}

// TestNestedLocks: a goroutine that takes lock upon lock, as one in an endless loop does, has edges
// from the first ones only, and a cycle with those is still found.
func TestNestedLocks(t *testing.T) {
	const n = 5000
	var text strings.Builder
	text.WriteString("main: go q; go p\nq: lock m4000; lock m3; unlock m3; unlock m4000\np: ")
	for i := range n {
		fmt.Fprintf(&text, "lock m%d; ", i)
	}
	e := logOf(text.String())
	g := newGraph(e)
	if edges := len(g.edges); edges < n || edges > n*mostHeld {
		t.Errorf("%d edges", edges)
	}
	for i := range g.edges {
		if held := len(g.edges[i].held); held > mostHeld {
			t.Fatalf("edge %d of a goroutine that holds %d locks", i, held)
		}
	}
	if cycles := Cycles(e, 1); len(cycles) != 1 {
		t.Errorf("%d cycles", len(cycles))
	}
}

// allCycles lists which edges are on a cycle: it tries all sequences of edges.
func allCycles(g *graph) []bool {
	on := make([]bool, len(g.edges))
	var path []int32
	var try func()
	try = func() {
		last := path[len(path)-1]
		if len(path) > 1 && g.closes(path[0], last) {
			for _, i := range path {
				on[i] = true
			}
		}
		for next := range int32(len(g.edges)) {
			x, y := &g.edges[last], &g.edges[next]
			if x.to != y.from || !g.blocks(x, y) || slices.ContainsFunc(path, func(i int32) bool {
				return !concurrent(&g.edges[i], y)
			}) {
				continue
			}
			path = append(path, next)
			try()
			path = path[:len(path)-1]
		}
	}
	for start := range int32(len(g.edges)) {
		path = []int32{start}
		try()
	}
	return on
}

// TestCyclesAgainstTwin: in random programs every edge that is on a cycle is in one that is found,
// and no other.
func TestCyclesAgainstTwin(t *testing.T) {
	programs, cyclic := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		locks := []string{"a", "b", "c", "d"}
		var text strings.Builder
		text.WriteString("main: go p; go q; go r")
		for _, name := range []string{"p", "q", "r"} {
			fmt.Fprintf(&text, "\n%s: ", name)
			for range rapid.IntRange(1, 3).Draw(t, "sections") {
				inner := rapid.Permutation(locks).Draw(t, "locks")[:rapid.IntRange(1, 3).Draw(t, "depth")]
				for _, lock := range inner {
					fmt.Fprintf(&text, "lock %s; ", lock)
				}
				for _, lock := range slices.Backward(inner) {
					fmt.Fprintf(&text, "unlock %s; ", lock)
				}
			}
		}
		e := logOf(text.String())
		want := allCycles(newGraph(e))
		g := newGraph(e)
		g.leaveAcyclic()
		for i := range g.edges {
			covered := g.edges[i].component >= 0 && g.cycleThrough(int32(i)) != nil
			if covered != want[i] {
				t.Fatalf("edge %d of %d is on a cycle: %v, found: %v\n%s", i, len(g.edges), want[i], covered,
					text.String())
			}
		}
		programs++
		if slices.Contains(want, true) {
			cyclic++
		}
	})
	if cyclic == 0 || cyclic == programs {
		t.Errorf("%d of %d programs have cycles", cyclic, programs)
	}
}

func BenchmarkCycles(b *testing.B) {
	for _, n := range []int{60, 600, 6000} {
		b.Run(fmt.Sprintf("goroutines=%d", n), func(b *testing.B) {
			e := ring(n)
			for b.Loop() {
				Cycles(e, 1)
			}
		})
	}
}

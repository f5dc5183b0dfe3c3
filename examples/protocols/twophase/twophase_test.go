package twophase

import (
	"cmp"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tandem-mc/tandem/protocol"
)

// TestModel: there are as many states as in the example of stateright (examples/2pc.rs), with any
// search.
func TestModel(t *testing.T) {
	for resources, states := range map[int]int{3: 288, 5: 8832} {
		for _, o := range []protocol.Options{{Workers: 1}, {Workers: 4}, {Search: protocol.DepthFirst}} {
			if r := protocol.Test(t, Model(resources), o); r.States != states {
				t.Errorf("%d resource managers: %d states, want %d", resources, r.States, states)
			}
		}
	}
}

// TestResume: a check that ends at a bound on states goes on, and comes to the same.
func TestResume(t *testing.T) {
	want := protocol.Test(t, Model(5), protocol.Options{})
	o := protocol.Options{Resume: filepath.Join(t.TempDir(), "search")}
	for o.States = 3000; o.States < want.States; o.States += 3000 {
		r, err := protocol.Check(Model(5), o)
		if err != nil || r.Verdict != protocol.Unknown || r.Transitions >= want.Transitions {
			t.Fatal(r, err)
		}
	}
	o.States = 0
	if r := protocol.Test(t, Model(5), o); r.States != want.States || r.Transitions != want.Transitions ||
		r.Handlers != want.Handlers || r.Depth != want.Depth {
		t.Errorf("%v, want %v", r, want)
	}
}

// simple is a state of the example of stateright, as it is written there.
type simple struct {
	resources [mostResources]Decision
	manager   Decision
	// prepared are those that the manager has heard of, ready those whose messages are under way.
	prepared, ready [mostResources]bool
	commit, abort   bool
}

const mostResources = 7

// steps are the states after one step.
func (s simple) steps(n int) (list []simple) {
	next := func(change func(*simple)) {
		other := s
		change(&other)
		list = append(list, other)
	}
	if s.manager == Working {
		if !slices.Contains(s.prepared[:n], false) {
			next(func(o *simple) { o.manager, o.commit = Committed, true })
		}
		next(func(o *simple) { o.manager, o.abort = Aborted, true })
	}
	for i := range n {
		if s.manager == Working && s.ready[i] {
			next(func(o *simple) { o.prepared[i] = true })
		}
		if s.resources[i] == Working {
			next(func(o *simple) { o.resources[i], o.ready[i] = Prepared, true })
			next(func(o *simple) { o.resources[i] = Aborted })
		}
		if s.commit {
			next(func(o *simple) { o.resources[i] = Committed })
		}
		if s.abort {
			next(func(o *simple) { o.resources[i] = Aborted })
		}
	}
	return list
}

// in is the state with the resource managers in another order.
func (s simple) in(order []int) simple {
	other := simple{manager: s.manager, commit: s.commit, abort: s.abort}
	for to, from := range order {
		other.resources[to] = s.resources[from]
		other.prepared[to], other.ready[to] = s.prepared[from], s.ready[from]
	}
	return other
}

// sortedByState is what stateright takes for a state: it sorts the resource managers by what they
// have decided, and leaves those with the same decision as they are.
func (s simple) sortedByState(n int) simple {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(s.resources[a]) - int(s.resources[b]) })
	return s.in(order)
}

// sortedByAll leaves no order open: all that there is of a resource manager is compared.
func (s simple) sortedByAll(n int) simple {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	number := func(b bool) int { return map[bool]int{true: 1}[b] }
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(int(s.resources[a])-int(s.resources[b]), number(s.prepared[a])-number(s.prepared[b]),
			number(s.ready[a])-number(s.ready[b]))
	})
	return s.in(order)
}

// count is how many states a depth-first search visits if it keeps one for each that choose makes
// of them.
func count(n int, choose func(simple) simple) int {
	seen, stack := map[simple]bool{choose(simple{}): true}, []simple{{}}
	for len(stack) > 0 {
		s := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, next := range s.steps(n) {
			if key := choose(next); !seen[key] {
				seen[key] = true
				stack = append(stack, next)
			}
		}
	}
	return len(seen)
}

// TestAlike: if resource managers are alike, there are as many states as there are orbits. A twin
// has them, and the numbers of stateright: without symmetry, and with its own, which is coarser.
func TestAlike(t *testing.T) {
	whole := func(s simple) simple { return s }
	for _, c := range []struct{ resources, all, stateright, orbits int }{
		{3, 288, 0, 80}, {5, 8832, 665, 314}, {7, 296448, 0, 920},
	} {
		n := c.resources
		byState := func(s simple) simple { return s.sortedByState(n) }
		byAll := func(s simple) simple { return s.sortedByAll(n) }
		if got := count(n, whole); got != c.all {
			t.Errorf("%d resource managers: the twin has %d states, want %d", n, got, c.all)
		}
		if got := count(n, byState); got != c.stateright && c.stateright != 0 {
			t.Errorf("%d resource managers: %d states as stateright has it, want %d", n, got, c.stateright)
		}
		if got := count(n, byAll); got != c.orbits {
			t.Errorf("%d resource managers: the twin has %d orbits, want %d", n, got, c.orbits)
		}
		m := Model(n)
		m.Alike = Resources(n)
		for _, o := range []protocol.Options{{Workers: 1}, {Workers: 4}, {Search: protocol.DepthFirst}} {
			if r := protocol.Test(t, m, o); r.States != c.orbits {
				t.Errorf("%d resource managers: %d states, want %d", n, r.States, c.orbits)
			}
		}
	}
}

// hasty commits when the first resource manager is prepared.
type hasty struct{ Transaction }

func (h *hasty) Actions() []any { return []any{Decide{h.Prepared[1]}} }

// TestHasty: the violation has a shortest run: A prepares and is heard, the transaction is
// committed, A is told, and B gives up.
func TestHasty(t *testing.T) {
	m := Model(2)
	m.Nodes[0] = &hasty{*m.Nodes[0].(*Transaction)}
	r, err := protocol.Check(m, protocol.Options{})
	if err != nil || r.Verdict != protocol.Violated || r.Violation.Steps != 5 {
		t.Errorf("%v, error %v; want a violation after 5 steps", r, err)
	}
}

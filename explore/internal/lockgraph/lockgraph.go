// Package lockgraph finds potential deadlocks in the log of an execution that had none: cycles in
// the lock graph (Havelund: Using Runtime Analysis to Guide Model Checking of Java Programs, SPIN
// 2000; Bensalem and Havelund: Dynamic Deadlock Analysis of Multi-Threaded Programs, 2005).
//
// The graph has an edge from lock a to lock b where a goroutine waits for b while it holds a. A
// cycle is a deadlock that might happen, if no two of its edges
//
//   - are of one goroutine,
//   - are guarded: both made while a lock is held that keeps the goroutines apart,
//   - are ordered by the creation of goroutines, or by WaitGroup.Wait.
//
// Whether it happens is for an execution to show.
package lockgraph

import (
	"slices"

	"github.com/tandem-mc/tandem/explore/internal/core"
)

// Wait is where a goroutine is about to wait for a lock: its transition Nth, counted from 1.
type Wait struct {
	Goroutine core.GoroutineID
	Nth       int
	Place     uint64 // core.Transition.Place
	Holds     core.ObjectID
	Wants     core.ObjectID
}

// Cycle is a list of goroutines each of which might hold the lock that the one before waits for.
type Cycle []Wait

// Cycles returns potential deadlocks, at most so many. Each edge of the graph is in the first
// of the cycles that it was found in, and begins none after that.
func Cycles(e *core.Execution, most int) []Cycle {
	g := newGraph(e)
	g.leaveAcyclic()
	var list []Cycle
	for i := range g.edges {
		if len(list) == most || g.budget <= 0 {
			break
		}
		if g.edges[i].component < 0 || g.edges[i].covered {
			continue
		}
		if cycle := g.cycleThrough(int32(i)); cycle != nil {
			list = append(list, g.describe(cycle))
		}
	}
	return list
}

// describe returns the cycle of edges, and notes that they are covered.
func (g *graph) describe(cycle []int32) Cycle {
	var c Cycle
	for _, i := range cycle {
		x := &g.edges[i]
		x.covered = true
		c = append(c, Wait{Goroutine: g.goroutines[x.goroutine].id, Nth: int(x.nth), Place: x.place,
			Holds: g.locks[x.from], Wants: g.locks[x.to]})
	}
	return c
}

// edge is that a goroutine waits for lock to while it holds lock from.
type edge struct {
	from, to  int32
	goroutine int32
	nth       int32
	place     uint64
	held      []hold  // all locks that it holds then
	shared    bool    // it wants to read
	past      []int32 // transitions of other goroutines that come before it in any case
	component int32   // of the graph, strongly connected; -1: it is on no cycle
	covered   bool
}

// hold is a lock that a goroutine holds.
type hold struct {
	lock   int32
	shared bool
	since  int32 // transition of the goroutine
}

// Bounds on the work, in pairs of edges that are compared.
const (
	wholeBudget = 1 << 24
	edgeBudget  = 1 << 20
	mostEdges   = 1 << 18
	mostHeld    = 64 // locks that a goroutine holds; what is beyond is taken not to be held
)

// graph is the lock graph of an execution.
type graph struct {
	edges      []edge
	goroutines []goroutine
	locks      []core.ObjectID
	written    []bool    // of each lock: somebody has it alone
	from       [][]int32 // edges, by lock
	budget     int
}

// cycleThrough returns a cycle that begins with an edge: a shortest one, if the first way to each
// edge is as good as any other, or else the first that is found. Nil if none is found.
func (g *graph) cycleThrough(start int32) []int32 {
	limit := min(g.budget, edgeBudget)
	g.budget -= limit
	work := limit
	cycle := g.breadthFirst(start, &work)
	if cycle == nil {
		cycle = g.depthFirst(start, &work)
	}
	g.budget += max(work, 0)
	return cycle
}

// breadthFirst looks for a cycle with one way to each edge.
func (g *graph) breadthFirst(start int32, work *int) []int32 {
	parent := map[int32]int32{start: -1}
	for queue := []int32{start}; len(queue) > 0 && *work > 0; queue = queue[1:] {
		var path []int32
		for i := queue[0]; i >= 0; i = parent[i] {
			path = append(path, i)
		}
		slices.Reverse(path)
		for _, next := range g.from[g.edges[queue[0]].to] {
			if _, known := parent[next]; known || !g.extends(path, next, work) {
				continue
			}
			if g.closes(start, next) {
				return append(path, next)
			}
			parent[next] = queue[0]
			queue = append(queue, next)
		}
	}
	return nil
}

// depthFirst looks for a cycle along all ways.
func (g *graph) depthFirst(start int32, work *int) []int32 {
	type level struct{ next []int32 }
	path, stack := []int32{start}, []level{{g.from[g.edges[start].to]}}
	for len(path) > 0 && *work > 0 {
		top := &stack[len(stack)-1]
		if len(top.next) == 0 {
			path, stack = path[:len(path)-1], stack[:len(stack)-1]
			continue
		}
		next := top.next[0]
		top.next = top.next[1:]
		if !g.extends(path, next, work) {
			continue
		}
		path = append(path, next)
		if g.closes(start, next) {
			return path
		}
		stack = append(stack, level{g.from[g.edges[next].to]})
	}
	return nil
}

// extends reports whether an edge may come after those of a path.
func (g *graph) extends(path []int32, next int32, work *int) bool {
	x, last := &g.edges[next], &g.edges[path[len(path)-1]]
	*work--
	if x.component != last.component || !g.blocks(last, x) {
		return false
	}
	for _, i := range path {
		*work--
		if !concurrent(&g.edges[i], x) {
			return false
		}
	}
	return true
}

// closes reports whether the last edge of a path leads to the first.
func (g *graph) closes(start, last int32) bool {
	return g.edges[last].to == g.edges[start].from && g.blocks(&g.edges[last], &g.edges[start])
}

// blocks reports whether the goroutine of one edge waits for the lock that another one is from. A
// reader waits for a reader where somebody writes: a writer that waits keeps out new readers.
func (g *graph) blocks(waits, holds *edge) bool {
	return !waits.shared || g.written[holds.from] || slices.ContainsFunc(holds.held,
		func(h hold) bool { return h.lock == holds.from && !h.shared })
}

// concurrent reports whether two goroutines may be at their edges at the same time.
func concurrent(x, y *edge) bool {
	if x.goroutine == y.goroutine || of(x.past, y.goroutine) >= y.nth || of(y.past, x.goroutine) >= x.nth {
		return false
	}
	for _, a := range x.held {
		for _, b := range y.held {
			if a.lock == b.lock && !(a.shared && b.shared) {
				return false
			}
		}
	}
	return true
}

func of(clock []int32, g int32) int32 {
	if int(g) >= len(clock) {
		return 0
	}
	return clock[g]
}

// leaveAcyclic finds the strongly connected components of the graph (Tarjan: Depth-First Search and
// Linear Graph Algorithms, 1972), and leaves out the edges between them: these are on no cycle.
func (g *graph) leaveAcyclic() {
	component := components(len(g.locks), func(lock int32, visit func(int32)) {
		for _, i := range g.from[lock] {
			visit(g.edges[i].to)
		}
	})
	for lock := range g.from {
		g.from[lock] = slices.DeleteFunc(g.from[lock], func(i int32) bool {
			x := &g.edges[i]
			x.component = component[x.from]
			if component[x.to] != x.component {
				x.component = -1
			}
			return x.component < 0
		})
	}
}

// components numbers the strongly connected components of a graph of n nodes. It keeps a stack of
// its own, since a path may be as long as there are nodes.
func components(n int, successors func(node int32, visit func(int32))) []int32 {
	type frame struct {
		node int32
		next []int32
	}
	component, index, low := make([]int32, n), make([]int32, n), make([]int32, n)
	var stack []int32
	var calls []frame
	count, numbered := int32(0), int32(0)
	enter := func(node int32) {
		count++
		index[node], low[node], component[node] = count, count, -1
		stack = append(stack, node)
		f := frame{node: node}
		successors(node, func(to int32) { f.next = append(f.next, to) })
		calls = append(calls, f)
	}
	for root := range int32(n) {
		if index[root] > 0 {
			continue
		}
		for enter(root); len(calls) > 0; {
			f := &calls[len(calls)-1]
			node := f.node
			if len(f.next) > 0 {
				to := f.next[0]
				f.next = f.next[1:]
				switch {
				case index[to] == 0:
					enter(to)
				case component[to] < 0:
					low[node] = min(low[node], index[to])
				}
				continue
			}
			calls = calls[:len(calls)-1]
			if len(calls) > 0 {
				parent := calls[len(calls)-1].node
				low[parent] = min(low[parent], low[node])
			}
			if low[node] == index[node] {
				for done := false; !done; {
					member := stack[len(stack)-1]
					stack = stack[:len(stack)-1]
					component[member] = numbered
					done = member == node
				}
				numbered++
			}
		}
	}
	return component
}

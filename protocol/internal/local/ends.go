package local

// Ends says whether every run ends, so that there is no cycle of global states. Messages must not
// be duplicated without a bound, and boundedCrashes says that nodes do not crash without one.
//
// It looks at steps after which a node may come back to the same local state. If each of them
// consumes messages, and sends only such that are lower in an order of all, then each makes the
// multiset of messages smaller (Dershowitz and Manna: "Proving Termination with Multiset
// Orderings", CACM 1979). Other steps are taken once. Runs may end for other reasons, too.
func (f *Fixpoint) Ends(boundedCrashes bool) bool {
	lower := make([][]int, f.Messages) // by message: what is sent when it is consumed
	for _, edges := range f.Edges {
		after := make([][]int, len(edges))
		for l, list := range edges {
			for _, e := range list {
				if !e.Fails && !(e.Crash && boundedCrashes) {
					after[l] = append(after[l], int(e.Next))
				}
			}
		}
		component := components(after)
		for l, list := range edges {
			for _, e := range list {
				if e.Fails || e.Crash && boundedCrashes || component[l] != component[e.Next] {
					continue
				}
				if len(e.Needs) == 0 {
					return false
				}
				for _, m := range e.Needs {
					for _, sent := range e.Sent {
						lower[m] = append(lower[m], int(sent))
					}
				}
			}
		}
	}
	return isAcyclic(lower)
}

// isAcyclic says whether a graph has no cycle.
func isAcyclic(next [][]int) bool {
	isMet := make([]bool, len(next)) // by component
	for node, c := range components(next) {
		// A component of one node has a cycle if an edge leads from it to itself.
		for _, to := range next[node] {
			if to == node {
				return false
			}
		}
		if isMet[c] {
			return false
		}
		isMet[c] = true
	}
	return true
}

// components numbers the strongly connected components of a graph, by node (Tarjan: "Depth-First
// Search and Linear Graph Algorithms", SIAM Journal on Computing 1972).
func components(next [][]int) []int {
	const open = -1
	component, index, low := make([]int, len(next)), make([]int, len(next)), make([]int, len(next))
	var stack []int
	visited, found := 0, 0
	var visit func(node int)
	visit = func(node int) {
		visited++
		index[node], low[node], component[node] = visited, visited, open
		stack = append(stack, node)
		for _, to := range next[node] {
			if index[to] == 0 {
				visit(to)
				low[node] = min(low[node], low[to])
			} else if component[to] == open {
				low[node] = min(low[node], index[to])
			}
		}
		// The first node of a component was visited last of those that are below it on the stack.
		for last := open; low[node] == index[node] && last != node; {
			last = stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			component[last] = found
		}
		if low[node] == index[node] {
			found++
		}
	}
	for node := range next {
		if index[node] == 0 {
			visit(node)
		}
	}
	return component
}

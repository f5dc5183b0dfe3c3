package house

import (
	"maps"
	"slices"
)

// components are the strongly connected ones of a graph (Tarjan, SIAM J. Comput. 1972). Nodes
// without edges need not be keys. The order of the components follows from the names of the nodes.
func components(edges map[string]map[string]bool) [][]string {
	t := &tarjan{edges: edges, index: map[string]int{}, low: map[string]int{}, onStack: map[string]bool{}}
	for _, node := range slices.Sorted(maps.Keys(edges)) {
		if _, seen := t.index[node]; !seen {
			t.visit(node)
		}
	}
	return t.found
}

// tarjan is the state of the search. A node has its place in the order of the first visits (index),
// and the smallest place that it can reach (low).
type tarjan struct {
	edges      map[string]map[string]bool
	index, low map[string]int
	stack      []string
	onStack    map[string]bool
	found      [][]string
}

// visit looks at all that can be reached from a node. The node that was visited first in its
// component takes it from the stack.
func (t *tarjan) visit(node string) {
	t.index[node] = len(t.index)
	t.low[node] = t.index[node]
	t.stack = append(t.stack, node)
	t.onStack[node] = true
	for _, next := range slices.Sorted(maps.Keys(t.edges[node])) {
		if _, seen := t.index[next]; !seen {
			t.visit(next)
			t.low[node] = min(t.low[node], t.low[next])
		} else if t.onStack[next] {
			t.low[node] = min(t.low[node], t.index[next])
		}
	}
	if t.low[node] != t.index[node] {
		return // an earlier node of its component takes it
	}
	// What was visited since belongs to the same component.
	start := slices.Index(t.stack, node)
	component := slices.Clone(t.stack[start:])
	t.stack = t.stack[:start]
	for _, member := range component {
		t.onStack[member] = false
	}
	t.found = append(t.found, component)
}

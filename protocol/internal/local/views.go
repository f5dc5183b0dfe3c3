package local

import (
	"fmt"
	"slices"
)

// AnyView is a node that may be in any local state.
const AnyView = ^uint32(0)

// Combinations are those of the views of all nodes that are picked, until it is over. Fewer of them
// are fewer searches, so those are joined in which a node may be anywhere: it needs no moves then.
func Combinations(views [][]uint32, isOver func() bool, pick func(numbers []uint32) bool) (found [][]uint32) {
	numbers := make([]uint32, len(views))
	var choose func(node int)
	choose = func(node int) {
		switch {
		case isOver():
			return
		case node == len(views):
			if pick(numbers) {
				found = append(found, slices.Clone(numbers))
			}
			return
		}
		for _, v := range views[node] {
			numbers[node] = v
			choose(node + 1)
		}
	}
	choose(0)
	for node := range views {
		found = joinViews(found, node, len(views[node]))
	}
	return found
}

// joinViews replaces combinations that differ in one node only, and have all its views, by one in
// which the node may be anywhere.
func joinViews(list [][]uint32, node, views int) (joined [][]uint32) {
	groups := map[string][][]uint32{}
	var order []string
	for _, c := range list {
		others := slices.Clone(c)
		others[node] = AnyView
		name := fmt.Sprint(others)
		if groups[name] == nil {
			order = append(order, name)
		}
		groups[name] = append(groups[name], c)
	}
	for _, name := range order {
		group := groups[name]
		// No view is missing, so the others decide alone.
		if len(group) == views {
			group[0][node] = AnyView
			group = group[:1]
		}
		joined = append(joined, group...)
	}
	return joined
}

package local

import (
	"fmt"
	"slices"
)

// AnyView is a node that may be in any local state.
const AnyView = ^uint32(0)

// JoinViews replaces combinations that differ in one node only, and have all its views, by one in
// which the node may be anywhere.
func JoinViews(list [][]uint32, node, views int) (joined [][]uint32) {
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

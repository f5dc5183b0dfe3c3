package alike

import "slices"

// Orders are all permutations that exchange nodes of each set, as the new name of each node. The
// first one changes nothing. It is nil if there are more than some.
//
// A set of n nodes has n! orders, and several sets have the product. A search by one process needs
// no list of them: Canonical tries those that are left when nodes were told apart. The list is for
// what has to be the same in processes that choose differently.
func Orders(sets [][]int, nodes, most int) (all [][]int) {
	first := make([]int, nodes)
	for i := range first {
		first[i] = i
	}
	all = [][]int{first}
	for _, set := range sets {
		// Each order so far is combined with each node that may stand at the next place.
		for i := range set {
			var more [][]int
			for _, to := range all {
				for j := i; j < len(set); j++ {
					other := slices.Clone(to)
					other[set[i]], other[set[j]] = to[set[j]], to[set[i]]
					more = append(more, other)
				}
			}
			if all = more; len(all) > most {
				return nil
			}
		}
	}
	return all
}

// Exchange is an exchange of two alike nodes. All permutations are made of such, so what is the
// same under each of them in each state is the same under all.
type Exchange struct {
	A, B int
	To   []int // the new name of each node
}

// Exchanges are those of neighbours in each set.
func Exchanges(sets [][]int, nodes int) (list []Exchange) {
	for _, set := range sets {
		for i := range set[1:] {
			// Bubble sort needs no other exchanges, so these make all permutations.
			x := Exchange{set[i], set[i+1], make([]int, nodes)}
			for node := range x.To {
				x.To[node] = node
			}
			x.To[x.A], x.To[x.B] = x.B, x.A
			list = append(list, x)
		}
	}
	return list
}

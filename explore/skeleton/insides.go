package skeleton

import (
	"math"
	"slices"
)

// tracesOf is how many executions a group has with an inside.
func (g *grouping) tracesOf(in *inside, explored map[string]Result) int {
	product := 1
	for c, key := range in.items {
		if g.Of[c] == in.group {
			product = times(product, explored[key].Traces)
		}
	}
	return product
}

// times is a product of two numbers of executions, and plus is a sum: as many as an int can be at
// most. The components of a large group have more together.
func times(a, b int) int {
	if a > 0 && b > math.MaxInt/a {
		return math.MaxInt
	}
	return a * b
}

func plus(a, b int) int {
	if b > math.MaxInt-a {
		return math.MaxInt
	}
	return a + b
}

// skeletons lists each inside of each outside, with insides of the other groups that
// executions have, if there are any. The first one of an outside stands for all.
func (g *grouping) skeletons(explored map[string]Result) (list []Skeleton) {
	for _, o := range g.list {
		var each []int
		var first []*inside
		for _, insides := range o.insides {
			sum, at := 0, 0
			for i, in := range insides {
				traces := g.tracesOf(in, explored)
				if sum == 0 && traces > 0 {
					at = i
				}
				sum = plus(sum, traces)
			}
			each = append(each, sum)
			first = append(first, insides[at])
		}
		one := g.skeletonOf(first, explored)
		one.Each = each
		list = append(list, one)
		for group, insides := range o.insides {
			for _, in := range insides {
				if in == first[group] {
					continue
				}
				other := slices.Clone(first)
				other[group] = in
				inner := g.skeletonOf(other, explored)
				inner.Each, inner.Inner = each, true
				list = append(list, inner)
			}
		}
	}
	return list
}

// skeletonOf puts insides of one outside together, one of each group.
func (g *grouping) skeletonOf(insides []*inside, explored map[string]Result) (one Skeleton) {
	for c, group := range g.Of {
		in := insides[group]
		one.Global = append(one.Global, in.skeleton[c])
		one.Items = append(one.Items, in.items[c])
		one.Components = append(one.Components, explored[in.items[c]])
	}
	return one
}

// outcomes is System.Outcomes.
func (g *grouping) outcomes(explored map[string]Result, yield func([]string) bool) {
	seen := map[string]bool{}
	for _, o := range g.list {
		// How each group ends, with places for all components.
		ends := [][]string{make([]string, len(g.Of))}
		for group, insides := range o.insides {
			var next [][]string
			for _, in := range insides {
				ways := ends
				for c, key := range in.items {
					if g.Of[c] == group {
						ways = endsWith(ways, c, explored[key].Outcomes)
					}
				}
				next = append(next, ways...)
			}
			ends = next
		}
		for _, vector := range ends {
			if key := keyOf(vector...); !seen[key] {
				seen[key] = true
				if !yield(vector) {
					return
				}
			}
		}
	}
}

// endsWith has a component end in each way.
func endsWith(vectors [][]string, component int, outcomes []string) (list [][]string) {
	for _, vector := range vectors {
		for _, o := range outcomes {
			next := slices.Clone(vector)
			next[component] = o
			list = append(list, next)
		}
	}
	return list
}

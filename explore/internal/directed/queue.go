package directed

import (
	"cmp"
	"slices"

	"github.com/tandem-mc/tandem/explore/internal/core"
)

// order is that of open branches, the best one first. Of those that are rated alike, the one with
// the fewest steps comes first: what happens later has brought nothing. If the rating says nothing,
// it is the one whose state was seen last. So a search with nothing to tell states apart goes depth
// first, and keeps few branches.
func order(a, b *branch) int {
	idle := func(x *branch) int {
		if x.idle {
			return 1
		}
		return 0
	}
	if n := cmp.Or(cmp.Compare(idle(a), idle(b)), a.compare(b.rating)); n != 0 {
		return n
	}
	if a.tells() {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(b.number, a.number))
	}
	return cmp.Compare(b.number, a.number)
}

func before(a, b *branch) bool { return order(a, b) < 0 }

// push adds an element to a heap.
func push[T any](heap []T, x T, before func(a, b T) bool) []T {
	heap = append(heap, x)
	for i := len(heap) - 1; i > 0 && before(heap[i], heap[(i-1)/2]); i = (i - 1) / 2 {
		heap[i], heap[(i-1)/2] = heap[(i-1)/2], heap[i]
	}
	return heap
}

// pop takes the first element out of a heap that is not empty.
func pop[T any](heap []T, before func(a, b T) bool) ([]T, T) {
	first, last := heap[0], len(heap)-1
	var none T
	heap[0], heap[last] = heap[last], none
	heap = heap[:last]
	for i := 0; ; {
		best := i
		for child := 2*i + 1; child <= 2*i+2 && child < last; child++ {
			if before(heap[child], heap[best]) {
				best = child
			}
		}
		if best == i {
			return heap, first
		}
		heap[i], heap[best] = heap[best], heap[i]
		i = best
	}
}

// Prefetch implements core.Drawn. It lists the best of the open branches. Better ones may be opened
// meanwhile, so they need not be the next ones; but they are run some time, and with the same
// schedule, unless the search ends before or gives them up.
func (d *Search) Prefetch(n int) (list []core.Schedule) {
	if !d.Waiting || len(d.open) == 0 {
		return nil
	}
	best := func(i, j int) bool { return before(d.open[i], d.open[j]) }
	for look := []int{0}; len(look) > 0 && len(list) < n; {
		var i int
		look, i = pop(look, best)
		if b := d.open[i]; !b.listed {
			b.listed, list = true, append(list, d.schedule(b))
		}
		for child := 2*i + 1; child <= 2*i+2 && child < len(d.open); child++ {
			look = push(look, child, best)
		}
	}
	return list
}

// What a branch, a way and a sleeper take without their lists, in units of Search.Room.
const (
	branchWeight  = 8
	wayWeight     = 2
	sleeperWeight = 4
)

// weight is what a branch takes without what it shares with others: the way and the sleepers.
func (b *branch) weight() int { return branchWeight + len(b.inherited) + len(b.done) + len(b.ran) }

func weightOf(s *core.Sleeper) int { return sleeperWeight + len(s.Accesses) }

// trim gives up the worst branches if there is no room for all. It leaves half of the room, so that
// this is seldom.
func (d *Search) trim() {
	if d.taken <= d.Room {
		return
	}
	slices.SortFunc(d.open, order)
	d.taken = 0
	kept, seen := 0, shared{ways: map[*way]bool{}, sleepers: map[*core.Sleeper]bool{}}
	for _, b := range d.open {
		weight := seen.add(b)
		if d.taken+weight > d.Room/2 {
			break
		}
		kept, d.taken = kept+1, d.taken+weight
	}
	d.givenUp += len(d.open) - kept
	clear(d.open[kept:])
	d.open = d.open[:kept] // which is sorted, and so a heap
}

// shared is what several branches may refer to.
type shared struct {
	ways     map[*way]bool
	sleepers map[*core.Sleeper]bool
}

// add returns what a branch takes beside the branches before it.
func (s *shared) add(b *branch) int {
	weight := b.weight()
	for w := b.way; w != nil && !s.ways[w]; w = w.from {
		s.ways[w] = true
		weight += wayWeight + len(w.actions)
	}
	for _, list := range [][]*core.Sleeper{b.inherited, b.done} {
		for _, sleeper := range list {
			if !s.sleepers[sleeper] {
				s.sleepers[sleeper] = true
				weight += weightOf(sleeper)
			}
		}
	}
	return weight
}

package explore

import "unsafe"

// told is what a part tells the search that it is a part of: the reversals, in order, that are to be inserted at nodes which are the
// search's. It is memory of its own, used again for other parts.
type told struct {
	all      []reversal
	from     []int // for each, as find
	steps    []step
	removed  []bool
	accesses []Access
	stamps   []stamp
	clocks   []int32
	passed   []int
}

// maxTold is how many bytes of it are too many for another execution.
const maxTold = 8 << 20

func (t *told) full() bool {
	return len(t.steps)*int(unsafe.Sizeof(step{})+unsafe.Sizeof(stamp{}))+len(t.accesses)*int(unsafe.Sizeof(Access{}))+4*len(t.clocks) >= maxTold
}

// reset empties it.
func (t *told) reset() told {
	return told{t.all[:0], t.from[:0], t.steps[:0], t.removed[:0], t.accesses[:0], t.stamps[:0], t.clocks[:0], t.passed[:0]}
}

// tell has the search insert a reversal, later, at one of its nodes, for which a place was found. The branches that it has passed are the search's, too, where
// a part inserts nothing itself; there may be more after those that it knows.
func (d *dpor) tell(r *reversal, found *place) {
	t, whole := &d.told, d.inserts(r.node)
	steps, stamps, passed := len(t.steps), len(t.stamps), len(t.passed)
	for i := range r.steps {
		if whole || !r.removed[i] {
			t.step(r, i)
		}
	}
	c := reversal{node: r.node, whole: r.whole, steps: t.steps[steps:len(t.steps):len(t.steps)], removed: t.removed[steps:len(t.steps):len(t.steps)],
		clocks: t.stamps[stamps:len(t.stamps):len(t.stamps)]}
	from := 0
	if !whole {
		t.passed = append(t.passed, r.passed...)
		c.passed = t.passed[passed:len(t.passed):len(t.passed)]
		if !found.postpone {
			from = len(found.at.branches)
		}
	}
	t.all, t.from = append(t.all, c), append(t.from, from)
}

// step adds step i of a reversal.
func (t *told) step(r *reversal, i int) {
	from := len(t.accesses)
	t.accesses = append(t.accesses, r.steps[i].Accesses...)
	s := r.steps[i]
	s.Accesses = t.accesses[from:len(t.accesses):len(t.accesses)]
	t.steps, t.removed = append(t.steps, s), append(t.removed, false)
	from = len(t.clocks)
	var at stamp
	if r.trace != nil && r.events[i] >= 0 {
		x := &r.trace.events[r.events[i]]
		t.clocks = append(t.clocks, r.trace.clockOf(r.events[i])...)
		at = stamp{x.goroutine, x.ordinal, clock(t.clocks[from:len(t.clocks):len(t.clocks)])}
	}
	t.stamps = append(t.stamps, at)
}

// hear inserts reversal i of those that a part has told.
func (d *dpor) hear(t *told, i int) {
	r := &t.all[i]
	n := &d.nodes[r.node]
	if found := n.todo.find(r, t.from[i]); !found.covered {
		d.insertIn(n, r, &found)
	}
}

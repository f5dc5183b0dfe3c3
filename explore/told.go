package explore

import "unsafe"

// told is what a part tells the search that it is a part of: the reversals, in order, that are to be inserted at nodes which are the
// search's. It is memory of its own, used again for other parts.
type told struct {
	all      []reversal
	from     []int // for each, as find
	steps    slab[step]
	removed  slab[bool]
	accesses slab[Access]
	stamps   slab[stamp]
	clocks   slab[int32]
	passed   slab[int]
	copied   copied
}

// copied are copies of all accesses and clocks of some events, one after the other as they are in the trace: those of most reversals are
// close together, and what is told of one execution mostly are the same.
type copied struct {
	execution int
	from, to  int32 // from one event to before another
	begin     extent
	accesses  []Access
	clocks    []int32
}

// maxTold is how many bytes of it are too many for another execution.
const maxTold = 8 << 20

func (t *told) full() bool {
	return t.steps.given*int(unsafe.Sizeof(step{})+unsafe.Sizeof(stamp{}))+t.accesses.given*int(unsafe.Sizeof(Access{}))+4*t.clocks.given >= maxTold
}

// empty forgets everything, but not the memory.
func (t *told) empty() {
	t.all, t.from, t.copied = t.all[:0], t.from[:0], copied{}
	t.steps.empty()
	t.removed.empty()
	t.accesses.empty()
	t.stamps.empty()
	t.clocks.empty()
	t.passed.empty()
}

// tell has the search insert a reversal, later, at one of its nodes, for which a place was found. The branches that it has passed are the search's, too, where
// a part inserts nothing itself; there may be more after those that it knows.
func (d *dpor) tell(r *reversal, found *place) {
	t, whole := &d.told, d.inserts(r.node)
	if whole {
		t.add(r, len(r.steps), d.counts.Executions, func(int) bool { return true })
		t.from = append(t.from, 0)
		return
	}
	c := t.add(r, r.left(), d.counts.Executions, func(i int) bool { return !r.removed[i] })
	c.passed = t.passed.copy(r.passed)
	from := 0
	if !found.postpone {
		from = found.at.branches()
	}
	t.from = append(t.from, from)
}

// add adds a reversal that consists of some steps, so many, of one of the execution that is being reported.
func (t *told) add(r *reversal, n, execution int, some func(step int) bool) *reversal {
	t.copy(r, execution, some)
	c := reversal{node: r.node, whole: r.whole, steps: t.steps.take(n), removed: t.removed.take(n), clocks: t.stamps.take(n)}
	clear(c.removed)
	n = 0
	for i := range r.steps {
		if some(i) {
			c.steps[n], c.clocks[n] = t.step(r, i)
			n++
		}
	}
	t.all = append(t.all, c)
	return &t.all[len(t.all)-1]
}

// copy copies the events of a reversal, unless they have been, or too many others are in between.
func (t *told) copy(r *reversal, execution int, some func(step int) bool) {
	from, to, n := int32(maxTransitions), int32(0), 0
	for i, e := range r.events {
		if e >= 0 && some(i) {
			from, to, n = min(from, e), max(to, e+1), n+1
		}
	}
	if t.copied.execution != execution {
		t.copied = copied{execution: execution}
	}
	const sparse = 4
	if r.trace == nil || n == 0 || int(to-from) > sparse*n || t.copied.from <= from && to <= t.copied.to {
		return
	}
	begin, end := r.trace.begin(from), r.trace.events[to-1].end
	t.copied = copied{execution, from, to, begin,
		t.accesses.copy(r.trace.accesses[begin.accesses:end.accesses]), t.clocks.copy(r.trace.clocks[begin.clocks:end.clocks])}
}

// step returns a copy of step i of a reversal.
func (t *told) step(r *reversal, i int) (step, stamp) {
	s, e := r.steps[i], int32(-1)
	if r.trace != nil {
		e = r.events[i]
	}
	if e < 0 {
		s.Accesses = t.accesses.copy(s.Accesses)
		return s, stamp{}
	}
	x, c := &r.trace.events[e], &t.copied
	at := stamp{goroutine: x.goroutine, ordinal: x.ordinal}
	if e < c.from || e >= c.to {
		s.Accesses, at.clock = t.accesses.copy(r.trace.accessesOf(e)), t.clocks.copy(r.trace.clockOf(e))
		return s, at
	}
	begin, end := r.trace.begin(e), x.end
	s.Accesses = c.accesses[begin.accesses-c.begin.accesses : end.accesses-c.begin.accesses : end.accesses-c.begin.accesses]
	at.clock = c.clocks[begin.clocks-c.begin.clocks : end.clocks-c.begin.clocks : end.clocks-c.begin.clocks]
	return s, at
}

// hear inserts reversal i of those that a part has told.
func (d *dpor) hear(t *told, i int) {
	r := &t.all[i]
	n := &d.nodes[r.node]
	if found := n.todo.find(r, t.from[i]); !found.covered {
		d.insertIn(n, r, &found)
	}
}

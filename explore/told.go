package explore

import "unsafe"

// told is what a part tells the search that it is a part of: the reversals, in order, that are to be inserted at nodes which are the
// search's. It is memory of its own, used again for other parts.
type told struct {
	all    []tidings
	steps  slab[*step]
	marks  slab[marks]
	stamps slab[stamp]
	clocks slab[int32]
	passed slab[int]
	copied copied
}

// tidings are a reversal, and what the part knows of its place.
type tidings struct {
	node   int32
	whole  bool
	steps  []*step // of the part's stock, so that the branch that it becomes has them too
	marks  []marks // that they have in the reversal
	clocks []stamp
	passed []int
	from   int // as find
}

// copied are copies of all clocks of some events, one after the other as they are in the trace: those of most reversals are
// close together, and what is told of one execution mostly are the same.
type copied struct {
	execution int
	from, to  int32 // from one event to before another
	begin     int32
	clocks    []int32
}

// maxTold is how many bytes of it are too many for another execution.
const maxTold = 8 << 20

func (t *told) full() bool {
	const forStep = unsafe.Sizeof(&step{}) + unsafe.Sizeof(marks(0)) + unsafe.Sizeof(stamp{})
	const forPassed, forEach = unsafe.Sizeof(int(0)), unsafe.Sizeof(tidings{})
	return t.steps.given*int(forStep)+4*t.clocks.given+t.passed.given*int(forPassed)+len(t.all)*int(forEach) >= maxTold
}

// empty forgets everything, but not the memory.
func (t *told) empty() {
	t.all, t.copied = t.all[:0], copied{}
	t.steps.empty()
	t.marks.empty()
	t.stamps.empty()
	t.clocks.empty()
	t.passed.empty()
}

// tell has the search insert a reversal, later, at one of its nodes, for which a place was found. The branches that it has passed are the search's, too, where
// a part inserts nothing itself; there may be more after those that it knows.
func (d *dpor) tell(r *reversal, found *place) {
	if d.inserts(r.node) {
		d.tellSteps(r, len(r.steps), func(int) bool { return true })
		return
	}
	c := d.tellSteps(r, r.left(), func(i int) bool { return !r.removed[i] })
	c.passed = d.told.passed.copy(r.passed)
	if !found.postpone {
		c.from = found.at.branches()
	}
}

// tellSteps tells some steps, so many, of a reversal of the execution that is being reported.
func (d *dpor) tellSteps(r *reversal, n int, some func(step int) bool) *tidings {
	t := &d.told
	t.copy(r, d.counts.Executions, some)
	c := tidings{node: r.node, whole: r.whole, steps: t.steps.take(n), marks: t.marks.take(n), clocks: t.stamps.take(n)}
	n = 0
	for i := range r.steps {
		if s := &r.steps[i]; some(i) {
			c.steps[n], c.marks[n], c.clocks[n] = r.keep(i, d.owner.stock), s.marks, t.stamp(r, i)
			n++
		}
	}
	t.all = append(t.all, c)
	return &t.all[len(t.all)-1]
}

// copy copies the clocks of the events of a reversal, unless they have been, or too many others are in between.
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
	begin, end := r.trace.begin(from).clocks, r.trace.events[to-1].end.clocks
	t.copied = copied{execution, from, to, begin, t.clocks.copy(r.trace.clocks[begin:end])}
}

// stamp returns where step i of a reversal was.
func (t *told) stamp(r *reversal, i int) stamp {
	if r.trace == nil || r.events[i] < 0 {
		return stamp{}
	}
	e, c := r.events[i], &t.copied
	x := &r.trace.events[e]
	at := stamp{goroutine: x.goroutine, ordinal: x.ordinal}
	if e < c.from || e >= c.to {
		at.clock = t.clocks.copy(r.trace.clockOf(e))
		return at
	}
	begin, end := r.trace.begin(e).clocks-c.begin, x.end.clocks-c.begin
	at.clock = c.clocks[begin:end:end]
	return at
}

// hear inserts a reversal that a part has told.
func (d *dpor) hear(told *tidings) {
	r := &d.reversal
	r.reset(told.node, nil, told.whole)
	r.kept, r.clocks, r.passed = told.steps, told.clocks, append(r.passed, told.passed...)
	for i, s := range told.steps {
		r.steps, r.removed = append(r.steps, *s), append(r.removed, false)
		r.steps[i].marks = told.marks[i]
	}
	n := &d.nodes[r.node]
	if found := n.todo.find(r, told.from); !found.covered {
		d.insertIn(n, r, &found)
	}
}

package dpor

import (
	"unsafe"

	"github.com/tandem-mc/tandem/explore/internal/core"
	"github.com/tandem-mc/tandem/explore/internal/trace"
	"github.com/tandem-mc/tandem/explore/internal/wakeup"
)

// told is what a part tells the search that it is a part of: the reversals, in order, that are to
// be inserted at nodes which are the search's. It is memory of its own, used again for other parts.
type exportedReversals struct {
	all    []exportedReversal
	steps  slab[*trace.Step]
	marks  slab[trace.Marks]
	stamps slab[wakeup.Stamp]
	clocks slab[int32]
	passed slab[int]
	copied copied
}

// tidings are a reversal, and what the part knows of its place.
type exportedReversal struct {
	node   int32
	whole  bool
	steps  []*trace.Step // of the part's stock, so that the branch that it becomes has them too
	marks  []trace.Marks // that they have in the reversal
	clocks []wakeup.Stamp
	passed []int
	from   int // as find
}

// copied are copies of all clocks of some events, one after the other as they are in the trace:
// those of most reversals are close together, and what is told of one execution mostly are the
// same.
type copied struct {
	execution int
	from, to  int32 // from one event to before another
	begin     int32
	clocks    []int32
}

// maxTold is how many bytes of it are too many for another execution.
const maxExported = 8 << 20

func (t *exportedReversals) full() bool {
	const forStep = unsafe.Sizeof(&trace.Step{}) + unsafe.Sizeof(trace.Marks(0)) +
		unsafe.Sizeof(wakeup.Stamp{})
	const forPassed, forEach = unsafe.Sizeof(int(0)), unsafe.Sizeof(exportedReversal{})
	size := t.steps.given*int(forStep) + 4*t.clocks.given + t.passed.given*int(forPassed)
	return size+len(t.all)*int(forEach) >= maxExported
}

// empty forgets everything, but not the memory.
func (t *exportedReversals) empty() {
	t.all, t.copied = t.all[:0], copied{}
	t.steps.empty()
	t.marks.empty()
	t.stamps.empty()
	t.clocks.empty()
	t.passed.empty()
}

// tell has the search insert a reversal, later, at one of its nodes, for which a place was found.
// The branches that it has passed are the search's, too, where a part inserts nothing itself; there
// may be more after those that it knows.
func (d *Search) export(r *wakeup.Reversal, found *wakeup.Place) {
	if d.inserts(r.Node) {
		d.exportSteps(r, len(r.Steps), func(int) bool { return true })
		return
	}
	c := d.exportSteps(r, r.Left(), func(i int) bool { return !r.Removed[i] })
	c.passed = d.exported.passed.copy(r.Passed)
	if !found.Postpone {
		c.from = found.At.Branches()
	}
}

// tellSteps tells some steps, so many, of a reversal of the execution that is being reported.
func (d *Search) exportSteps(r *wakeup.Reversal, n int, some func(step int) bool) *exportedReversal {
	t := &d.exported
	t.copy(r, d.Counts.Executions, some)
	c := exportedReversal{node: r.Node, whole: r.Whole, steps: t.steps.take(n), marks: t.marks.take(n),
		clocks: t.stamps.take(n)}
	n = 0
	for i := range r.Steps {
		if s := &r.Steps[i]; some(i) {
			c.steps[n], c.marks[n], c.clocks[n] = r.Keep(i, d.owner.Interner), s.Marks, t.stamp(r, i)
			n++
		}
	}
	t.all = append(t.all, c)
	return &t.all[len(t.all)-1]
}

// copy copies the clocks of the events of a reversal, unless they have been, or too many others are
// in between.
func (t *exportedReversals) copy(r *wakeup.Reversal, execution int, some func(step int) bool) {
	from, to, n := int32(core.MaxTransitions), int32(0), 0
	for i, e := range r.Events {
		if e >= 0 && some(i) {
			from, to, n = min(from, e), max(to, e+1), n+1
		}
	}
	if t.copied.execution != execution {
		t.copied = copied{execution: execution}
	}
	const sparse = 4
	if r.Trace == nil || n == 0 || int(to-from) > sparse*n || t.copied.from <= from && to <= t.copied.to {
		return
	}
	begin, end := r.Trace.Begin(from).Clocks, r.Trace.Events[to-1].End.Clocks
	t.copied = copied{execution, from, to, begin, t.clocks.copy(r.Trace.Clocks[begin:end])}
}

// stamp returns where step i of a reversal was.
func (t *exportedReversals) stamp(r *wakeup.Reversal, i int) wakeup.Stamp {
	if r.Trace == nil || r.Events[i] < 0 {
		return wakeup.Stamp{}
	}
	e, c := r.Events[i], &t.copied
	x := &r.Trace.Events[e]
	at := wakeup.Stamp{Goroutine: x.Number, Ordinal: x.Ordinal}
	if e < c.from || e >= c.to {
		at.Clock = t.clocks.copy(r.Trace.ClockOf(e))
		return at
	}
	begin, end := r.Trace.Begin(e).Clocks-c.begin, x.End.Clocks-c.begin
	at.Clock = c.clocks[begin:end:end]
	return at
}

// hear inserts a reversal that a part has told.
func (d *Search) importReversal(told *exportedReversal) {
	r := &d.reversal
	r.Reset(told.node, nil, told.whole)
	r.Kept, r.Clocks, r.Passed = told.steps, told.clocks, append(r.Passed, told.passed...)
	for i, s := range told.steps {
		r.Steps, r.Removed = append(r.Steps, *s), append(r.Removed, false)
		r.Steps[i].Marks = told.marks[i]
	}
	n := &d.nodes[r.Node]
	if found := n.todo.Find(r, told.from); !found.Covered {
		d.insertIn(n, r, &found)
	}
}

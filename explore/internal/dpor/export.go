package dpor

import (
	"unsafe"

	"github.com/tandem-mc/tandem/explore/internal/core"
	"github.com/tandem-mc/tandem/explore/internal/trace"
	"github.com/tandem-mc/tandem/explore/internal/wakeup"
)

// exportedReversals are what a subtree exports: reversals, in order, that the search which was
// split has to insert at its nodes. They have memory of their own, which is used again for other
// subtrees.
type exportedReversals struct {
	all    []exportedReversal
	steps  slab[*trace.Step]
	marks  slab[trace.Marks]
	stamps slab[wakeup.Stamp]
	clocks slab[int32]
	passed slab[int]
	copied copied
}

// exportedReversal is a reversal, and what the subtree knows of its place.
type exportedReversal struct {
	node   int32
	whole  bool
	steps  []*trace.Step // interned by the subtree, so that the branch that it becomes shares them
	marks  []trace.Marks // that they have in the reversal
	clocks []wakeup.Stamp
	passed []int
	from   int // as find
}

// copied are copies of the clocks of consecutive events, as they follow each other in the trace.
// The events of most reversals are close together, and the reversals of one execution mostly have
// the same.
type copied struct {
	execution int
	from, to  int32 // from one event to before another
	begin     int32
	clocks    []int32
}

// maxExported is how many bytes are too many for another execution.
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

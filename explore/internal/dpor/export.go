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

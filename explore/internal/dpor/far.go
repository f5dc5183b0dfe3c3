package dpor

import (
	"github.com/tandem-mc/tandem/explore/internal/codec"
	"github.com/tandem-mc/tandem/explore/internal/core"
	"github.com/tandem-mc/tandem/explore/internal/trace"
	"github.com/tandem-mc/tandem/explore/internal/wakeup"
)

// A subtree can be explored in another process. It is written as a saved search is. What comes back
// is what a merge takes over: the counts, the reversals that are exported, and what is left to do.
// As after a resume, the trace is not written: the next execution begins with the path, and the
// trace of what the subtree has executed is made from it.

// far is what another process has left of a subtree.
type far struct {
	depth    int           // if nothing is left, how many nodes came after that of the subtree
	more     bool          // something is left to do
	done     *core.Sleeper // what the subtree begins with, now that it is explored
	nodes    []node        // after the one where the subtree begins
	path     []core.Action // from that node on
	explored [][]*core.Sleeper
	digests  []uint64
	chosen   *wakeup.Branch
	sleep    []*core.Sleeper // at the last node
	choosing []int32
}

// read reads what saveLeft wrote.
func (f *far) read(from *codec.Decoder) {
	for range from.Length() {
		f.path = append(f.path, core.DecodeAction(from))
		f.digests = append(f.digests, from.Fixed())
		f.nodes = append(f.nodes, node{todo: wakeup.DecodeTree(from, 0), incomplete: from.Truth(),
			leaf: from.Truth()})
		f.explored = append(f.explored, core.DecodeSleepers(from))
	}
	f.chosen = wakeup.DecodeBranch(from, 0)
	f.sleep = core.DecodeSleepers(from)
	if len(f.nodes) == 0 {
		from.Fail("it is damaged: a part has something left to do, and does not say where")
	}
}

// save writes a reversal.
func (x *exportedReversal) save(e *codec.Encoder) {
	e.Count(int(x.node))
	e.Truth(x.whole)
	e.Count(x.from)
	e.Count(len(x.passed))
	for _, i := range x.passed {
		e.Count(i)
	}
	e.Count(len(x.steps))
	for i, s := range x.steps {
		wakeup.EncodeStep(e, s)
		e.Data = append(e.Data, byte(x.marks[i]))
		c := &x.clocks[i]
		e.Count(int(c.Goroutine))
		e.Count(int(c.Ordinal))
		if e.Truth(c.Clock != nil); c.Clock != nil {
			saveNumbers(e, c.Clock)
		}
	}
}

// readExported reads what save wrote, of a reversal at one of the nodes up to the last.
func readExported(from *codec.Decoder, last int) exportedReversal {
	x := exportedReversal{node: int32(from.Count(uint64(last))), whole: from.Truth(),
		from: from.Count(core.MaxTransitions)}
	for range from.Length() {
		x.passed = append(x.passed, from.Count(core.MaxTransitions))
	}
	for range from.Length() {
		s := wakeup.DecodeStep(from)
		x.steps, x.marks = append(x.steps, s), append(x.marks, trace.Marks(from.Bytes(1)[0]))
		c := wakeup.Stamp{Goroutine: int32(from.Count(core.MaxTransitions)),
			Ordinal: int32(from.Count(core.MaxTransitions))}
		if from.Truth() {
			c.Clock = append(trace.Clock{}, readNumbers(from, core.MaxTransitions)...)
		}
		x.clocks = append(x.clocks, c)
		if x.marks[len(x.marks)-1] >= trace.AllMarks {
			from.Fail("it is damaged: a step has unknown marks")
		}
	}
	if len(x.steps) == 0 {
		from.Fail("it is damaged: a reversal has no steps")
	}
	return x
}

// saveNumbers writes numbers that are not negative.
func saveNumbers(e *codec.Encoder, list []int32) {
	e.Count(len(list))
	for _, n := range list {
		e.Count(int(n))
	}
}

// readNumbers reads numbers up to a limit.
func readNumbers(from *codec.Decoder, limit int) (list []int32) {
	for range from.Length() {
		list = append(list, int32(from.Count(uint64(limit))))
	}
	return list
}

package dpor

import (
	"slices"

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

// SavePart implements core.Portable.
func (d *Search) SavePart(e *codec.Encoder) {
	e.Count(d.Floor)
	d.Save(e)
}

// ResumePart implements core.Portable.
func (d *Search) ResumePart(from *codec.Decoder) {
	floor := from.Count(core.MaxTransitions)
	d.Resume(from)
	if floor < 1 || floor != len(d.nodes) {
		from.Fail("it is damaged: a part begins at node %d of %d", floor-1, len(d.nodes))
		return
	}
	d.Floor = floor
}

// SaveExplored implements core.Portable.
func (d *Search) SaveExplored(e *codec.Encoder) {
	more, node := !d.Ended && d.decide(), d.Floor-1
	d.Tally.SaveCounts(e, "dpor")
	e.Ended = false
	d.sizes.Save(e)
	for i := range node + 1 {
		e.Truth(d.nodes[i].incomplete)
	}
	saveNumbers(e, d.depends)
	e.Count(len(d.exported.all))
	for i := range d.exported.all {
		d.exported.all[i].save(e)
	}
	core.EncodeSleepers(e, []*core.Sleeper{d.sleeper(node)})
	top := len(d.nodes) - 1
	saveNumbers(e, slices.DeleteFunc(slices.Clone(d.choosing),
		func(i int32) bool { return int(i) >= node && (!more || int(i) >= top) }))
	if e.Truth(more); more {
		d.saveLeft(e, node)
	} else {
		e.Count(top - node)
	}
}

// saveLeft writes what is left to do after a node.
func (d *Search) saveLeft(e *codec.Encoder, node int) {
	top := len(d.nodes) - 1
	e.Count(top - node)
	for i := node; i < top; i++ {
		core.EncodeAction(e, d.path[i])
		e.Fixed(d.trace.Digest(int32(i)))
		n := &d.nodes[i+1]
		wakeup.EncodeTree(e, &n.todo)
		e.Truth(n.incomplete)
		e.Truth(n.leaf)
		core.EncodeSleepers(e, d.sleepOf(n)[n.inherited:])
	}
	wakeup.EncodeBranch(e, d.chosen)
	core.EncodeSleepers(e, d.sleepOf(&d.nodes[top]))
}

// Explored implements core.Portable. The search is the subtree that was written, as it was then.
func (d *Search) Explored(from *codec.Decoder) {
	d.Tally.ResumeCounts(from, "dpor")
	d.sizes.Resume(from)
	node := d.Floor - 1
	for i := range node + 1 {
		d.nodes[i].incomplete = from.Truth()
	}
	d.depends = readNumbers(from, node)
	for range from.Length() {
		d.exported.all = append(d.exported.all, readExported(from, node))
	}
	f := &far{}
	if done := core.DecodeSleepers(from); len(done) == 1 {
		f.done = done[0]
	} else {
		from.Fail("it is damaged: a part begins with %d actions", len(done))
	}
	f.choosing = readNumbers(from, core.MaxTransitions)
	if f.more = from.Truth(); f.more {
		f.read(from)
	} else {
		f.depth = from.Count(core.MaxTransitions)
	}
	d.far, d.Ended, d.Waiting = f, !f.more, false
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

// mergeFar goes on where a subtree has stopped that another process has explored.
func (d *Search) mergeFar(f *far, at int) {
	n := &d.nodes[at]
	d.nodes, d.path = d.nodes[:at+1], d.path[:at]
	d.sleep = d.sleep[:n.sleepEnd]
	d.way, d.decided, d.Reached = way{}, false, nil
	d.choosing = slices.DeleteFunc(d.choosing,
		func(e int32) bool { return int(e) >= at || !slices.Contains(f.choosing, e) })
	if !f.more {
		f.done.Incomplete = n.incomplete
		d.sleep = append(d.sleep, f.done)
		n.incomplete = false
		n.sleepEnd++
		for range f.depth { // the estimate wants to know
			d.nodes = append(d.nodes, node{sleepBegin: len(d.sleep), sleepEnd: len(d.sleep)})
		}
		return
	}
	for _, e := range f.choosing {
		if int(e) >= at {
			d.choosing = append(d.choosing, e)
		}
	}
	r := &restored{kept: at + 1, slept: len(d.sleep), sleep: f.sleep}
	for i := range d.nodes {
		m := &d.nodes[i]
		r.explored = append(r.explored, slices.Clone(d.sleepOf(m)[m.inherited:]))
		if i < at {
			r.digests = append(r.digests, d.trace.Digest(int32(i)))
		}
	}
	r.explored, r.digests = append(r.explored, f.explored...), append(r.digests, f.digests...)
	d.path, d.nodes = append(d.path, f.path...), append(d.nodes, f.nodes...)
	top := &d.nodes[len(d.nodes)-1]
	top.sleepBegin = len(d.sleep)
	d.sleep = append(d.sleep, f.sleep...)
	top.sleepEnd = len(d.sleep)
	d.restored, d.decided = r, true
	d.descend(f.chosen)
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
		x.steps, x.marks = append(x.steps, &s), append(x.marks, trace.Marks(from.Bytes(1)[0]))
		c := wakeup.Stamp{Goroutine: int32(from.Count(core.MaxTransitions)),
			Ordinal: int32(from.Count(core.MaxTransitions))}
		if from.Truth() {
			c.Clock = append(trace.Clock{}, readNumbers(from, core.MaxTransitions)...)
		}
		x.clocks = append(x.clocks, c)
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

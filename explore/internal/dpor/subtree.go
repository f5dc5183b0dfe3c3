package dpor

import (
	"slices"

	"github.com/tandem-mc/tandem/explore/internal/codec"
	"github.com/tandem-mc/tandem/explore/internal/core"
	"github.com/tandem-mc/tandem/explore/internal/trace"
	"github.com/tandem-mc/tandem/explore/internal/wakeup"
	"github.com/tandem-mc/tandem/internal/invariant"
)

// Full implements core.Tree.
func (d *Search) Full() bool { return d.exported.full() }

// Split implements core.Tree.
func (d *Search) Split(size core.Size) *core.Subtree {
	if d.restored != nil {
		return nil
	}
	node, i := d.untaken(size, max(quietFor, size.Quiet))
	if node < 0 && size.Quiet == 0 {
		node, i = d.untaken(size, 0)
	}
	if node < 0 {
		return nil
	}
	b := d.nodes[node].todo.Branches[i]
	o := origin{branch: b, base: make([]wakeup.Tree, node+1)}
	for j := range o.base {
		o.base[j] = d.nodes[j].todo
	}
	o.base[node].Branches = o.base[node].Branches[i+1:]
	d.owner = &wakeup.Owner{Interner: d.owner.Interner}
	return d.Add(&core.Subtree{Search: d.subtree(o, node, i), Node: node, Begins: b.First().Action})
}

// origin is what a subtree began with. It does not change.
type origin struct {
	branch  *wakeup.Branch  // that it explores
	base    []wakeup.Tree   // of the nodes up to there
	assumed []*core.Sleeper // at its node
}

func originOf(p *core.Subtree) *origin { return &p.Search.(*Search).origin }

// quietFor is after how many executions without an insertion a branch is likely to stay as it is.
const quietFor = 8

// untaken returns the branch to split off (Split) as a node and a place there. It is quiet for so
// many executions (wakeup.Branch.IsQuiet); 0: it need not be. The node is -1 if there is none.
func (d *Search) untaken(size core.Size, executions int) (node, place int) {
	of := func(i int) int {
		if len(d.nodes[i].todo.Postponed) > 0 {
			return -1
		}
		return slices.IndexFunc(d.nodes[i].todo.Branches, func(b *wakeup.Branch) bool {
			return (executions == 0 || b.IsQuiet(d.Counts.Executions, executions)) &&
				!d.Has(i, func(p *core.Subtree) bool { return originOf(p).branch == b })
		})
	}
	if node = d.sizes.SplitAt(len(d.nodes), d.Counts.Executions, size,
		func(i int) bool { return of(i) >= 0 }); node >= 0 {
		place = of(node)
	}
	return node, place
}

// subtree is the search through branch i of a node.
func (d *Search) subtree(o origin, node, i int) *Search {
	spare := d.spare()
	part := newSearch(trace.Prefix(d.trace, node, spare.trace))
	part.exported, part.owner = spare.exported, &wakeup.Owner{Interner: spare.owner.Interner}
	part.exported.empty()
	part.Floor, part.begun, part.decided = node+1, true, true
	part.Short = d.Short
	part.path, part.nodes = trace.Refill(spare.path, d.path[:node], len(d.path)),
		trace.Refill(spare.nodes, d.nodes[:node+1], len(d.nodes))
	part.sleep = trace.Refill(spare.sleep, d.sleep[:d.nodes[node].sleepEnd], len(d.sleep))
	if node < len(d.trace.Events) {
		part.sleep = append(part.sleep, d.sleeper(node))
	} else if d.chosen != nil { // it is being executed
		part.sleep = append(part.sleep, d.chosen.Sleeper())
	}
	for _, b := range d.nodes[node].todo.Branches[:i] {
		part.sleep = append(part.sleep, b.Sleeper())
	}
	n := &part.nodes[node]
	n.sleepEnd, n.incomplete, n.todo = len(part.sleep), false, o.base[node]
	o.assumed = slices.Clone(part.sleepOf(n))
	part.origin = o
	part.choosing = slices.DeleteFunc(slices.Clone(d.choosing), func(e int32) bool { return int(e) >= node })
	part.recheck = foundBefore(d.recheck, node)
	part.descend(o.branch)
	return part
}

// arriveAt notes which subtree the search has reached, if any, now that it goes on with a branch
// of a node.
func (d *Search) arriveAt(node int, b *wakeup.Branch) {
	d.Arrive(node, func(p *core.Subtree) bool { return originOf(p).branch == b })
	if d.Reached != nil && !d.agrees(d.Reached) {
		d.CancelArrived()
	}
	d.cancelChanged(node)
}

// cancelChanged cancels the subtrees of a node whose branch is not there any more: something was
// inserted below it, so that another branch has taken its place, or it is not to be explored.
func (d *Search) cancelChanged(node int) {
	d.Cancel(func(p *core.Subtree) bool {
		return p.Node == node && !slices.Contains(d.nodes[node].todo.Branches, originOf(p).branch)
	})
}

// agrees reports whether the search would begin with the same as the subtree that it has reached
// did.
func (d *Search) agrees(p *core.Subtree) bool {
	n := &d.nodes[p.Node]
	return len(n.todo.Postponed) == 0 && slices.EqualFunc(d.sleepOf(n), originOf(p).assumed,
		(*core.Sleeper).Same)
}

// Merge implements core.Tree.
func (d *Search) Merge(p *core.Subtree) bool {
	part, node := p.Search.(*Search), p.Node
	if !d.mergeable(part) {
		d.CancelArrived()
		return false
	}
	for i := range node + 1 {
		d.nodes[i].incomplete = d.nodes[i].incomplete || part.nodes[i].incomplete
	}
	d.sizes.Merge(&part.sizes, node, d.Counts.Executions)
	d.Tally.Absorb(p)
	// These are insertions after the executions of the subtree, and not before them.
	for i := range part.exported.all {
		d.importReversal(&part.exported.all[i])
	}
	if part.far != nil {
		d.mergeFar(part.far, node)
		d.Recycle(p)
		return true
	}
	end := d.nodes[node].sleepEnd
	d.sleep, d.nodes = append(d.sleep[:end], part.sleep[end:]...),
		append(d.nodes[:node+1], part.nodes[node+1:]...)
	d.inheritFrom(node)
	part.trace, d.trace = d.trace, part.trace
	part.path, d.path = d.path, part.path
	d.chosen, d.followed, d.given = part.chosen, part.followed, part.given
	d.choosing = append(slices.DeleteFunc(d.choosing,
		func(e int32) bool { return !slices.Contains(part.choosing, e) }),
		slices.DeleteFunc(part.choosing, func(e int32) bool { return int(e) < node })...)
	d.recheck = part.recheck
	d.decided, d.Reached = false, nil
	d.Recycle(p)
	return true
}

// Recycle implements core.Tree. There are never more spare searches than there were subtrees at a
// time. From now on every use of the subtree panics: two searches would share what they change.
func (d *Search) Recycle(p *core.Subtree) {
	invariant.Check(!slices.Contains(d.Subtrees, p),
		"explore: a subtree is recycled that may still be merged")
	part := p.Search.(*Search)
	p.Search = nil
	clear(part.nodes[:cap(part.nodes)]) // no wakeup tree is to be kept because of them
	d.spares = append(d.spares, part)
}

// spare is a search that is not needed any more, or a new one.
func (d *Search) spare() *Search {
	n := len(d.spares)
	if n == 0 {
		return New()
	}
	s := d.spares[n-1]
	d.spares = d.spares[:n-1]
	return s
}

// inheritFrom gives the sleepers at the nodes of a merged subtree the accesses that they have at
// the node where it begins. What the branches before it (origin.assumed) would access there was
// foreseen when it began, and has been executed since. What that finds may differ, but not what it
// accesses (agrees). Nodes where nothing is left to do may have lost their sleepers (putToSleep).
func (d *Search) inheritFrom(node int) {
	for i := node + 1; i < len(d.nodes) && d.nodes[i].sleepEnd <= len(d.sleep); i++ {
		n, before := &d.nodes[i], d.sleepOf(&d.nodes[i-1])
		for j := n.sleepBegin; j < n.sleepBegin+n.inherited; j++ {
			s := *d.sleep[j]
			same := func(b *core.Sleeper) bool { return b.Action == s.Action }
			if k := slices.IndexFunc(before, same); k >= 0 {
				s.Accesses = before[k].Accesses
				d.sleep[j] = &s
			}
		}
	}
}

// mergeable reports whether the wakeup trees on which the insertions of a subtree depend are as it
// found them.
func (d *Search) mergeable(part *Search) bool {
	return !slices.ContainsFunc(part.depends,
		func(i int32) bool { return !d.nodes[i].todo.Is(&part.origin.base[i]) })
}

// inserts reports whether a subtree itself inserts what the search is to insert at one of its
// nodes, because that makes a difference to what it explores.
func (d *Search) inserts(node int32) bool {
	return int(node) == d.Floor-1 || slices.Contains(d.depends, node)
}

// depend notes that what is inserted at a node does not follow from the wakeup tree there alone.
func (d *Search) depend(node int32) {
	if int(node) < d.Floor && !slices.Contains(d.depends, node) {
		d.depends = append(d.depends, node)
	}
}

// export has the search that was split insert a reversal later, at one of its nodes, for which a
// place was found. The branches that the reversal has passed are in that search too, where a
// subtree inserts nothing itself. After those that the subtree knows there may be more.
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

// exportSteps exports the first so many steps of a reversal of the execution that is being
// reported, of these those that are wanted.
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

// importReversal inserts a reversal that a subtree has exported.
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

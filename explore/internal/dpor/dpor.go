// Package dpor has the search with dynamic partial-order reduction.
package dpor

import (
	"slices"

	"github.com/tandem-mc/tandem/explore/internal/codec"
	"github.com/tandem-mc/tandem/explore/internal/core"
	"github.com/tandem-mc/tandem/explore/internal/trace"
	"github.com/tandem-mc/tandem/explore/internal/wakeup"
)

// New returns a search that has executed nothing yet.
func New() *Search { return newSearch(trace.New()) }

func newSearch(t *trace.Trace) *Search {
	return &Search{
		Short: short, owner: &wakeup.Owner{Interner: &wakeup.Interner{}},
		planner: planner{
			trace: t, counters: make(map[int32]int32), accounts: accounts{of: make(map[int32]*account)},
		},
	}
}

// Search is the search with dynamic partial-order reduction: of the executions
// that differ only in the order of independent transitions it runs exactly one.
// It is Optimal-DPOR (Abdulla, Aronis, Jonsson, Sagonas: Optimal Dynamic
// Partial Order Reduction, POPL 2014, algorithm 2) on an explicit stack: source
// sets decide what to explore, sleep sets cut off what was explored elsewhere, and
// wakeup trees lead past what sleep sets would cut off only later (Redundant). That
// takes to know what has to run before a race can be reversed; where it is not known
// (programs that end early, counters below zero) single steps are planned, and
// executions may be redundant; so they may, seldom, where it is foreseen too coarsely
// what an operation does before the event that it races with (foreseeable).
//
// Own time per transition is proportional to the number of goroutines; an
// execution costs its new transitions, and a comparison of its prefix.
//
// trace, path and nodes run in parallel: element i is the
// transition executed at node i, its action, and the state before it. Between
// Next and Report, path is longer than trace: it goes on with a sequence that was
// to do at the last node.
type Search struct {
	core.Tally
	path  []core.Action
	nodes []node
	begun bool
	sizes core.BranchSizes

	way // to the leaf that is executed next

	decided  bool      // it has been decided what to execute next, or it is being executed
	restored *restored // what the next execution has to show after a resume; else nil

	// What the nodes point into, one after the other.
	sleep []*core.Sleeper // which are the same at many nodes

	owner *wakeup.Owner // of the wakeup trees, since the search was last divided
	core.Division
	spares []*Search // of subtrees that nobody needs any more: their memory is used again

	asSubtree

	choosing []int32      // events of which an alternative is neither asleep nor to do, in order
	recheck  []reversible // see recheck.go; in the order in which they were found
	Short    int          // see clearlyCovered

	races  []reversible    // of the execution that is being reported
	pruned wakeup.Sleepers // for prune
	planner
}

// way leads to the leaf of a wakeup tree: path[:given]. Of that, path[len(nodes)-1:] is what is
// left of branch chosen, of which so many steps were followed before, and then of those below it,
// down to the leaf.
type way struct {
	chosen   *wakeup.Branch // nil beyond the leaf
	followed int
	given    int
}

// asSubtree is, of a subtree, what concerns the search that it belongs to.
type asSubtree struct {
	origin   origin
	exported exportedReversals // to be inserted there
	depends  []int32           // nodes: see depend
	far      *far              // another process has explored it; else nil
}

// node is a state on the path. Its backtrack set (POPL 2014) is the action on
// the path, those explored before, and the first of each sequence to do.
type node struct {
	todo wakeup.Tree // to be explored from here
	// incomplete tells that not all is known of what the executions which begin with the action
	// on the path have shown to be run here instead of it.
	incomplete bool
	// leaf tells that the path was given as far as here. What is still asleep then may cover
	// what begins with it, but not what commutes with it.
	leaf bool
	// The sleep set: the part of the slab from sleepBegin to sleepEnd. What was
	// inherited comes first, then what was explored from here.
	sleepBegin, sleepEnd int
	inherited            int // how many of these
}

// Next implements core.Search.
func (d *Search) Next() (core.Schedule, bool) {
	d.Expect()
	if !d.decide() {
		return d.End()
	}
	if len(d.nodes) == 0 {
		return core.Schedule{Covers: true}, true
	}
	top := len(d.nodes) - 1
	return core.Schedule{Prefix: d.path, Sleep: d.sleepOf(&d.nodes[top]), SleepFrom: top,
		Tentative: true, Covers: true, New: top}, true
}

// decide decides what to execute next, unless it has been decided, and reports whether there
// is anything.
func (d *Search) decide() bool {
	if d.decided || !d.begun {
		d.begun, d.decided = true, true
		return true
	}
	for top := len(d.nodes) - 1; top >= d.Floor; top-- {
		n := &d.nodes[top]
		if n.todo.Empty() {
			continue
		}
		if top < len(d.trace.Events) {
			d.putToSleep(top)
		}
		if d.prepare(top) {
			d.trace.Truncate(top)
			d.nodes, d.path = d.nodes[:top+1], d.path[:top]
			d.sizes.Turn(top, d.Counts.Executions)
			d.forget(top)
			b := n.todo.Pop()
			d.descend(b)
			d.arriveAt(top, b)
			d.decided = true
			return true
		}
	}
	return false
}

// forget forgets what is known of the events from node top on.
func (d *Search) forget(top int) {
	for n := len(d.choosing); n > 0 && int(d.choosing[n-1]) >= top; n-- {
		d.choosing = d.choosing[:n-1]
	}
	for n := len(d.recheck); n > 0 && int(d.recheck[n-1].found) >= top; n-- {
		d.recheck = d.recheck[:n-1]
	}
}

// prepare reports whether anything is left to do at a node, now that the accesses of
// all that was executed there are known.
func (d *Search) prepare(top int) bool {
	n := &d.nodes[top]
	for !d.prune(n) {
		postponed := n.todo.Postponed
		if n.todo.Postponed = nil; len(postponed) == 0 {
			return false
		}
		for _, r := range postponed {
			r = r.Detach()
			r.Node = int32(top)
			d.insert(r)
		}
	}
	return true
}

// prune takes out of what is to do at a node what begins with something asleep.
func (d *Search) prune(n *node) (some bool) {
	d.pruned = append(d.pruned[:0], d.sleepOf(n)...)
	n.todo, some = n.todo.Prune(&d.pruned, 0)
	return some
}

// descend appends to the path a branch and the way from it to its first leaf.
func (d *Search) descend(b *wakeup.Branch) {
	d.chosen, d.followed = b, 0
	for ; b != nil; b = b.Below.Top() {
		for _, s := range b.Steps {
			d.path = append(d.path, s.Action)
		}
	}
	d.given = len(d.path)
}

// putToSleep adds the explored action at node i to the sleep set there.
func (d *Search) putToSleep(i int) {
	n := &d.nodes[i]
	d.sleep = append(d.sleep[:n.sleepEnd], d.sleeper(i))
	n.incomplete = false
	n.sleepEnd++
}

// sleeper is what the explored action at node i is when it is asleep.
func (d *Search) sleeper(i int) *core.Sleeper {
	return &core.Sleeper{
		Action:     d.path[i],
		Accesses:   core.Accumulate(slices.Clone(d.trace.AccessesOf(int32(i)))),
		Choices:    d.trace.Events[i].Choices,
		Incomplete: d.nodes[i].incomplete,
	}
}

func (d *Search) sleepOf(n *node) []*core.Sleeper {
	return d.sleep[n.sleepBegin:n.sleepEnd]
}

// Report implements core.Search.
func (d *Search) Report(e core.Execution) error {
	if err := d.Count(e); err != nil {
		return err
	}
	d.CancelArrived()
	if err := d.checkPath(e.Transitions); err != nil {
		return err
	}
	if err := d.checkReplay(e.Transitions); err != nil {
		return err
	}
	d.decided = false
	from := len(d.trace.Events)
	d.races = d.races[:0]
	for i := from; i < len(e.Transitions); i++ {
		if err := d.extend(i, &e.Transitions[i]); err != nil {
			return err
		}
	}
	if e.Outcome == core.Redundant && len(d.asleepAtEnd()) == 0 {
		return core.WrongLog(len(e.Transitions), "the execution ended as redundant, but nothing is asleep")
	}
	return d.reverse(from, &e)
}

// checkPath compares an execution with the path. What was to do at the last node
// need not have been followed to its end.
func (d *Search) checkPath(transitions []core.Transition) error {
	top := max(len(d.nodes)-1, 0)
	if err := core.CheckActions(d.path[:top], transitions); err != nil {
		return err
	}
	followed := top
	for followed < len(d.path) && followed < len(transitions) &&
		transitions[followed].Action == d.path[followed] {
		followed++
	}
	d.cutOff(followed)
	return nil
}

// cutOff takes off the path, and out of what was to do, that from node i on.
func (d *Search) cutOff(i int) {
	if i == len(d.path) {
		return
	}
	if followed := i - (len(d.nodes) - 1); followed == 0 {
		d.chosen = nil
	} else {
		d.chosen = d.chosen.Owned(d.owner)
		d.chosen.CutOff(followed, d.owner)
	}
	d.path, d.given = d.path[:i], i
}

// checkReplay compares an execution with the one that it has its beginning in common with.
func (d *Search) checkReplay(transitions []core.Transition) error {
	for i := range d.trace.Events {
		if err := d.trace.CheckReplay(int32(i), &transitions[i]); err != nil {
			return err
		}
	}
	if d.restored != nil {
		return d.restored.rebuild(d, transitions)
	}
	return nil
}

// extend takes transition i, executed for the first time on this path.
func (d *Search) extend(i int, x *core.Transition) error {
	if i == len(d.nodes) {
		d.addNode(i, i == d.given)
	}
	if i == len(d.path) {
		d.path = append(d.path, x.Action)
	}
	if i >= d.given && d.asleep(&d.nodes[i], x.Action) {
		return core.WrongLog(i, "%s was executed although it is asleep", x.Action)
	}
	races, err := d.trace.Push(x)
	if err != nil {
		return err
	}
	d.find(races, int32(i))
	return d.findPartners(i, x)
}

// addNode puts the state after the last event, the new node i, on the stack.
func (d *Search) addNode(i int, leaf bool) {
	d.nodes = trace.Extend(d.nodes)
	n := &d.nodes[i]
	*n = node{}
	if d.chosen != nil {
		if d.followed++; d.followed == len(d.chosen.Steps) {
			n.todo, d.chosen, d.followed = d.chosen.Below, nil, 0
			if i < d.given {
				d.chosen = n.todo.Pop()
			}
		}
	}
	if i > 0 {
		n.sleepBegin = d.nodes[i-1].sleepEnd
	}
	d.sleep = d.appendInherited(d.sleep[:n.sleepBegin])
	n.sleepEnd = len(d.sleep)
	n.inherited = n.sleepEnd - n.sleepBegin
	if n.leaf = leaf; leaf {
		for j := n.sleepBegin; j < n.sleepEnd; j++ {
			vague := *d.sleep[j]
			vague.Incomplete = true
			d.sleep[j] = &vague
		}
	}
}

// appendInherited appends the sleep set after the last event: of the sleepers
// before it, those that do not depend on it.
func (d *Search) appendInherited(sleep []*core.Sleeper) []*core.Sleeper {
	last := len(d.trace.Events) - 1
	if last < 0 {
		return sleep
	}
	made := d.trace.AccessesOf(int32(last))
	for _, s := range d.sleepOf(&d.nodes[last]) {
		if s.Goroutine != d.path[last].Goroutine && !s.Wakes(made) {
			sleep = append(sleep, s)
		}
	}
	return sleep
}

// asleepAtEnd is the sleep set after the last event. That may be the one before the node
// that the path turns off at, if nothing was executed there.
func (d *Search) asleepAtEnd() []*core.Sleeper {
	if last := len(d.trace.Events); last < len(d.nodes) {
		return d.sleepOf(&d.nodes[last])
	}
	return d.appendInherited(nil)
}

func (d *Search) asleep(n *node, a core.Action) bool {
	return slices.ContainsFunc(d.sleepOf(n), func(s *core.Sleeper) bool { return s.Action == a })
}

// Verdict implements core.Search.
func (d *Search) Verdict() core.Verdict {
	v := d.Conclude("")
	v.Estimate = d.sizes.Estimate(len(d.nodes), d.Counts.Executions,
		func(i int) int { return len(d.nodes[i].todo.Branches) })
	return v
}

// Forecast implements core.Tree.
func (d *Search) Forecast() float64 {
	top := len(d.nodes) - 1
	if top < 0 {
		return 0
	}
	return d.sizes.OfBranch(top)*float64(1+len(d.nodes[top].todo.Branches)) - 1
}

// Save implements core.Saveable.
func (d *Search) Save(e *codec.Encoder) {
	more := !d.Ended && d.decide()
	if d.Tally.SaveCounts(e, "dpor"); !more {
		e.Ended = true
		return
	}
	top := len(d.nodes) - 1
	d.sizes.Save(e)
	e.Number(uint64(len(d.nodes)))
	for i := range d.nodes {
		n := &d.nodes[i]
		wakeup.EncodeTodo(e, &n.todo)
		e.Truth(n.incomplete)
		e.Truth(n.leaf)
		if d.restored != nil {
			core.EncodeSleepers(e, d.restored.explored[i])
		} else {
			core.EncodeSleepers(e, d.sleepOf(n)[n.inherited:])
		}
		switch {
		case i == top:
			wakeup.EncodeBranch(e, d.chosen)
			core.EncodeSleepers(e, d.sleepOf(n))
			continue
		case d.restored != nil:
			e.Fixed(d.restored.digests[i])
		default:
			e.Fixed(d.trace.Digest(int32(i)))
		}
		core.EncodeAction(e, d.path[i])
	}
	choosing := slices.DeleteFunc(slices.Clone(d.choosing), func(i int32) bool { return int(i) >= top })
	if len(d.nodes) > 0 {
		e.Number(uint64(len(choosing)))
	}
	for _, i := range choosing {
		e.Number(uint64(i))
	}
}

// Resume implements core.Saveable.
func (d *Search) Resume(from *codec.Decoder) {
	d.Tally.ResumeCounts(from, "dpor")
	d.sizes.Resume(from)
	length := from.Length()
	if length == 0 {
		return
	}
	d.begun, d.decided, d.restored = true, true, &restored{}
	for i := range length {
		d.nodes = append(d.nodes, node{todo: wakeup.DecodeTodo(from), incomplete: from.Truth(),
			leaf: from.Truth()})
		d.restored.explored = append(d.restored.explored, core.DecodeSleepers(from))
		if i < length-1 {
			d.restored.digests = append(d.restored.digests, from.Fixed())
			d.path = append(d.path, core.DecodeAction(from))
		}
	}
	chosen := wakeup.DecodeBranch(from, 0)
	d.sleep = core.DecodeSleepers(from)
	d.restored.sleep = slices.Clone(d.sleep)
	d.nodes[length-1].sleepEnd = len(d.sleep)
	for range from.Length() {
		i := int32(from.Count(uint64(length - 1)))
		if int(i) == length-1 || len(d.choosing) > 0 && i <= d.choosing[len(d.choosing)-1] {
			from.Fail("it is damaged: there are alternatives at node %d", i)
			return
		}
		d.choosing = append(d.choosing, i)
	}
	d.descend(chosen)
}

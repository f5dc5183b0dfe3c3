package explore

import "slices"

// A part of DPOR is a leaf of a wakeup tree: what the search does from there depends on the
// path and the sleep set only, which do not change any more, and a leaf covers whatever
// is inserted later. The other way round, what is found in the part may have to run from
// nodes above it, the shared ones. Whether that is new depends on all that was inserted
// before. So the part only notes it, in order, and the owner inserts it, with
// the execution that it was found in: exactly what the undivided search would do then.

// division is what a part of DPOR knows of its owner, and has for it.
type division struct {
	shared int // so many nodes are the owner's: all on the way to the leaf
	// known are the wakeup trees of the first of them as they were. They only grow: what
	// they cover need not be noted.
	known []wakeups
	vague []bool // of shared nodes: noted
	above above  // since it was last taken
}

// above is what an execution of a part has for the shared nodes.
type above struct {
	executed []Transition // on the way to the leaf; of the first execution only
	followed int          // of them, those that were to be
	upward   []upward
}

// size is about how many bytes it takes.
func (a *above) size() (bytes int) {
	if a == nil {
		return 0
	}
	const one = 100 // of a transition, reversal or step
	bytes = one * len(a.executed)
	for _, u := range a.upward {
		for _, r := range u.reversals {
			bytes += one
			for i := range r.steps {
				bytes += one + 16*len(r.steps[i].Accesses) + 8*len(r.before[i])
			}
		}
	}
	return bytes
}

// upward is what is to be done at a shared node.
type upward struct {
	node      int32
	does      upwardKind
	reversals []*reversal
	actions   []Action // the alternatives that the reversals end with
}

// upwardKind says what to do at a shared node.
type upwardKind uint8

const (
	markVague   upwardKind = iota // see node.vague
	insertOne                     // see insert
	addOthers                     // see addAlternatives
	goOnInstead                   // see insertFirst
)

// take returns what there is, nil if there is nothing.
func (v *division) take() *above {
	if v == nil || v.above.executed == nil && v.above.upward == nil {
		return nil
	}
	a := v.above
	v.above = above{}
	return &a
}

// divide hands out the first leaf at a node as near to the root as possible.
func (d *dpor) divide() (*Part, bool) {
	if d.restored != nil || !d.begun {
		return nil, false
	}
	next := -1 // where the search goes on
	if !d.settled {
		for i := range d.nodes {
			if !d.nodes[i].todo.empty() {
				next = i
			}
		}
	}
	for i := range d.trace.events {
		if branches := d.nodes[i].todo.branches; i == next || len(branches) == 0 || branches[0].part != nil {
			continue
		}
		if part := d.partAt(i); part != nil {
			p := &Part{Search: part, division: part.division}
			d.nodes[i].todo.branches[0].part, d.divided = p, true
			return p, true
		}
	}
	return nil, false
}

// partAt makes the search of the first leaf at node i; nil if the way there leads through
// something asleep.
func (d *dpor) partAt(i int) *dpor {
	first := d.nodes[i].todo.branches[0]
	way := wakeups{branches: []*branch{first.way()}}
	p := &dpor{
		trace: newTrace(), counters: make(map[int32]int32), accounts: make(map[int32]*account), path: slices.Clone(d.path[:i]),
		begun: true, settled: true, restored: &restored{}, division: &division{},
	}
	for j := range i + 1 {
		n := &d.nodes[j]
		p.nodes = append(p.nodes, node{vague: n.vague, leaf: n.leaf})
		p.restored.explored = append(p.restored.explored, slices.Clone(d.sleepOf(n)[n.inherited:]))
		if j < i {
			p.restored.digests = append(p.restored.digests, d.trace.digest(int32(j)))
		}
		p.division.known = append(p.division.known, d.knownAt(j, i))
	}
	// Whether what it covers is vague may still turn out.
	executed := d.sleeper(i)
	executed.vague = true
	p.restored.explored[i] = append(p.restored.explored[i], executed)
	p.sleep = append(slices.Clone(d.sleepOf(&d.nodes[i])), executed)
	if steps := way.length(); !way.prune(p.sleep, false) || way.length() != steps {
		return nil
	}
	p.restored.sleep = slices.Clone(p.sleep)
	p.nodes[i].sleepEnd = len(p.sleep)
	for _, e := range d.choosing {
		if int(e) < i {
			p.choosing = append(p.choosing, e)
		}
	}
	p.division.vague = make([]bool, i+1)
	p.descend(way.pop())
	p.division.shared = len(p.path)
	return p
}

// knownAt is the wakeup tree of node j, for a part at node i.
func (d *dpor) knownAt(j, i int) wakeups {
	if d.division != nil && j < len(d.division.known) && j < d.division.shared {
		return d.division.known[j]
	}
	known := d.nodes[j].todo
	if j == i {
		known.pop()
	}
	return known
}

// way is a branch with nothing beside the way to its first leaf.
func (b *branch) way() *branch {
	copied := &branch{step: b.step}
	if len(b.below.branches) > 0 {
		copied.below.branches = []*branch{b.below.branches[0].way()}
	}
	return copied
}

func (w *wakeups) length() (steps int) {
	for ; len(w.branches) > 0; w = &w.branches[0].below {
		steps++
	}
	return steps
}

// isShared reports whether a node is the owner's.
func (d *dpor) isShared(node int32) bool {
	return d.division != nil && int(node) < d.division.shared
}

// note notes a reversal at a shared node, and reports whether that is not known to be covered.
func (d *dpor) note(r *reversal) bool {
	d.setVague(r.node, !r.whole)
	if d.covered(r) {
		return false
	}
	d.noteAll(upward{node: r.node, does: insertOne}, []*reversal{r})
	return true
}

// noteAll notes what is to be done with some reversals.
func (d *dpor) noteAll(u upward, reversals []*reversal) {
	for _, r := range reversals {
		u.reversals = append(u.reversals, r.detach())
	}
	d.division.above.upward = append(d.division.above.upward, u)
}

// noteAlternatives is addAlternatives for a shared node.
func (d *dpor) noteAlternatives(i int32) (complete bool) {
	u := upward{node: i, does: addOthers}
	complete = true
	for choice := range d.trace.events[i].choices {
		if a := (Action{d.path[i].Goroutine, choice}); a != d.path[i] && !d.asleep(&d.nodes[i], a) {
			u.reversals = append(u.reversals, d.alternative(i, a).detach())
			u.actions = append(u.actions, a)
			complete = complete && int(i) < len(d.division.known) && d.division.known[i].begins(a)
		}
	}
	d.division.above.upward = append(d.division.above.upward, u)
	return complete
}

func (d *dpor) noteVague(node int32) {
	v := &d.division.vague
	for len(*v) <= int(node) {
		*v = append(*v, false)
	}
	if !(*v)[node] {
		(*v)[node] = true
		d.noteAll(upward{node: node, does: markVague}, nil)
	}
}

// covered reports whether inserting a reversal at a shared node is certain to change nothing.
func (d *dpor) covered(r *reversal) bool {
	n := &d.nodes[r.node]
	if d.choicesAsleep(n, r.steps) > 1 {
		return false
	}
	covered := d.coveredAsleep(n, r)
	if covered || int(r.node) >= len(d.division.known) {
		return covered
	}
	removed := slices.Clone(r.removed)
	w := &d.division.known[r.node]
	for {
		b, postpone := w.follow(r)
		if postpone || b == nil {
			copy(r.removed, removed)
			return false
		}
		if len(b.below.branches) == 0 || r.left() == 0 {
			return true
		}
		w = &b.below
	}
}

// noteExecuted notes what the owner needs of the first execution.
func (d *dpor) noteExecuted(transitions []Transition) {
	v, first := d.division, len(d.nodes)-1
	shared := d.given
	if shared < v.shared { // what is beside the way is to do where it was left
		shared++
	}
	v.shared = max(shared, first+1)
	v.above.followed = d.given - first
	v.above.executed = []Transition{}
	for i := first; i < min(v.shared, len(transitions)); i++ {
		v.above.executed = append(v.above.executed, transitions[i].clone())
	}
}

// clone is what a trace keeps of a transition.
func (x *Transition) clone() Transition {
	partners := slices.Clone(x.Partners)
	for i, p := range partners {
		partners[i].Needs, partners[i].Accesses = slices.Clone(p.Needs), slices.Clone(p.Accesses)
	}
	return Transition{
		Action: x.Action, Choices: x.Choices, Barrier: x.Barrier, Forced: x.Forced,
		Needs: slices.Clone(x.Needs), Accesses: slices.Clone(x.Accesses), Starts: slices.Clone(x.Starts),
		Partners: partners,
	}
}

// takeOver does what the execution of a part has for this search.
func (d *dpor) takeOver(e *Execution) error {
	if a := e.above; a != nil {
		if !d.joined {
			if err := d.join(a); err != nil {
				return err
			}
		}
		for i := range a.upward {
			d.apply(&a.upward[i])
		}
	}
	if e.Last {
		d.settled, d.joining, d.joined = false, nil, false
	}
	return nil
}

// join goes the way to the leaf of a part.
func (d *dpor) join(a *above) error {
	d.joined = true
	first := len(d.nodes) - 1
	d.cutOff(first + a.followed)
	for i := range a.executed {
		if err := d.extend(first+i, &a.executed[i]); err != nil {
			return err
		}
	}
	for i := first; i < len(d.trace.events); i++ {
		d.insertPostponed(int32(i))
		if d.trace.events[i].choices > 1 {
			d.choosing = append(d.choosing, int32(i))
		}
	}
	return nil
}

// apply does what a part has found to be done.
func (d *dpor) apply(u *upward) {
	for _, r := range u.reversals {
		r.node = u.node
	}
	switch u.does {
	case markVague:
		d.setVague(u.node, true)
	case insertOne:
		d.insert(u.reversals[0])
	case goOnInstead:
		d.insertFirst(u.node, u.reversals)
	case addOthers:
		d.applyOthers(u)
	}
}

// applyOthers is addAlternatives with the reversals of a part.
func (d *dpor) applyOthers(u *upward) {
	i := slices.Index(d.choosing, u.node)
	if i < 0 {
		return
	}
	complete := true
	if d.isShared(u.node) {
		d.division.above.upward = append(d.division.above.upward, *u)
		for _, a := range u.actions {
			complete = complete && int(u.node) < len(d.division.known) && d.division.known[u.node].begins(a)
		}
	} else {
		for j, r := range u.reversals {
			d.insert(r)
			complete = d.nodes[u.node].todo.begins(u.actions[j]) && complete
		}
	}
	if complete {
		d.choosing = slices.Delete(d.choosing, i, i+1)
	}
}

// parted lists nothing: parts are not saved, see unjoined.
func (d *dpor) parted() []*Part { return nil }

// unjoined is the state from before the first execution of the part that is being taken,
// but for what has been inserted since: that changes nothing when it is found again.
func (d *dpor) unjoined() (t tally, nodes []node, chosen *branch) {
	if !d.joined {
		return d.tally, d.nodes, d.chosen
	}
	t, chosen = d.tally, d.way.way()
	t.counts = d.before
	b := chosen
	for i := d.fork + 1; i < len(d.nodes); i++ {
		todo := &d.nodes[i].todo
		b.below = wakeups{branches: slices.Concat(b.below.branches, todo.branches), postponed: todo.postponed}
		b = b.below.branches[0]
	}
	return t, d.nodes[:d.fork+1], chosen
}

// Settled is how many executions of a search Save counts: those of a part of DPOR that has
// not been taken to its end are run again after a Resume.
func Settled(s Search) int {
	switch s := s.(type) {
	case *bounded:
		return Settled(s.Search)
	case *dpor:
		if s.joined {
			return s.before.Executions
		}
	}
	return counted(s).Executions
}

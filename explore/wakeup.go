package explore

import "slices"

// wakeups is a wakeup tree (POPL 2014, section 6.2): what is to be explored from a
// node, in order. Each leaf is an execution to be run; on the way there nothing ends
// up asleep, so that it is not redundant.
//
// A search and its parts share what was there when they were divided, so that nobody may change it: the
// lists are only changed by their owner, and so are the branches that have lists of his below them. Others copy.
type wakeups struct {
	branches []*branch
	// postponed are reversals of which it is not known whether a branch covers them,
	// before that has been executed and its accesses are known.
	postponed []*reversal
	owner     *owner
}

// owner is a search between two divisions.
type owner struct{ _ byte } // not empty, so that no two are the same

// branch is a step and what follows it. It shares no memory with the trace.
type branch struct {
	step
	below wakeups
	since int // of a node: so many executions there had been when it was inserted, or something below it
}

// own makes the lists those of an owner.
func (w *wakeups) own(by *owner) {
	if w.owner != by {
		w.branches, w.postponed, w.owner = slices.Clone(w.branches), slices.Clone(w.postponed), by
	}
}

// ownBranch makes branch i that of an owner.
func (w *wakeups) ownBranch(i int, by *owner) *branch {
	w.own(by)
	w.branches[i] = w.branches[i].owned(by)
	return w.branches[i]
}

// owned is a branch that its owner may change: the same one, if it is his.
func (b *branch) owned(by *owner) *branch {
	if b.below.owner == by {
		return b
	}
	c := *b
	c.below.own(by)
	return &c
}

// step is an action, and what its transition accesses.
type step struct {
	Action
	Accesses []Access
	marks    marks
}

// marks are what else is known of a step, as bits.
type marks uint8

const (
	needed  marks = 1 << iota // has to run before what a reversal is about, or is it
	guessed                   // accesses are those that the operation had, or would have had, elsewhere
	open                      // the operation may have other alternatives here than where it was seen: any will do
	allMarks
)

func (s *step) is(m marks) bool { return s.marks&m != 0 }

// step is the operation as a step.
func (p *Pending) step() step {
	return step{Action: Action{Goroutine: p.Goroutine}, Accesses: p.Accesses}
}

// chooses reports whether a step stands for what an action begins, which includes the
// other alternatives of the same operation.
func (s *step) chooses(a *step) bool {
	return s.is(open) || s.Choice == a.Choice
}

// insert sees to it that a reversal is explored, and reports whether it was not yet.
//
// Of the actions that are asleep or to do at its node, one has to be a weak initial
// of it. If a sleeper is, what begins with that has been explored. If a branch is,
// the rest of the reversal is inserted below it; a leaf needs no more: everything
// that is asleep wakes on the way to it. Otherwise it becomes a branch (POPL 2014, algorithm 2).
func (d *dpor) insert(r *reversal) (inserted bool) {
	n := &d.nodes[r.node]
	n.vague = n.vague || !r.whole
	last := len(r.steps) - 1
	choices := d.choicesAsleep(n, r.steps)
	if choices < 2 {
		return d.insertAt(n, r)
	}
	for choice := range choices {
		c := *r
		c.steps, c.removed = slices.Clone(r.steps), slices.Clone(r.removed)
		c.steps[last].Choice, c.steps[last].marks = choice, r.steps[last].marks&^open
		inserted = d.insertAt(n, &c) || inserted
	}
	return inserted
}

// choicesAsleep returns how many alternatives there are of the operation of the last
// step, if that is open and one of them sleeps until then: others may have been passed over.
func (d *dpor) choicesAsleep(n *node, steps []step) int {
	i := len(steps) - 1
	g := steps[i].Goroutine
	if !steps[i].is(open) || slices.ContainsFunc(steps[:i], func(s step) bool { return s.Goroutine == g }) {
		return 0
	}
	for _, s := range d.sleepOf(n) {
		if s.Goroutine == g && !slices.ContainsFunc(steps[:i], func(x step) bool { return s.Wakes(x.Accesses) }) {
			return s.choices
		}
	}
	return 0
}

func (d *dpor) insertAt(n *node, r *reversal) bool {
	if d.coveredAsleep(n, r) {
		return false
	}
	r.passed = r.passed[:0]
	found := n.todo.find(r, 0)
	if int(r.node) < d.floor && (!found.covered || found.at.owner == d.owner) {
		if d.tell(r, &found); !d.inserts(r.node) {
			return !found.covered
		}
	}
	return !found.covered && d.insertIn(n, r, &found)
}

// insertIn inserts a reversal in the place that was found for it.
func (d *dpor) insertIn(n *node, r *reversal, found *place) bool {
	n.todo.insert(r, found, d.owner)
	if len(r.passed) > 0 {
		n.todo.branches[r.passed[0]].since = d.counts.Executions
		d.giveUpChanged(int(r.node))
	} else if !found.postpone {
		n.todo.branches[len(n.todo.branches)-1].since = d.counts.Executions
	}
	return true
}

// coveredAsleep reports whether something asleep at a node covers a reversal.
func (d *dpor) coveredAsleep(n *node, r *reversal) bool {
	return slices.ContainsFunc(d.sleepOf(n), func(s *Sleeper) bool {
		relation, _ := r.relate(&step{Action: s.Action, Accesses: s.Accesses})
		return relation == initial || relation == commuting && r.whole && !s.vague
	})
}

// place is where a reversal belongs in a wakeup tree.
type place struct {
	at       *wakeups
	covered  bool // by the leaf above
	postpone bool // nobody knows yet
}

// find finds the place of a reversal below those branches that it has passed, and of these not below the first so many. It takes the way there out of it.
func (w *wakeups) find(r *reversal, from int) place {
	for _, i := range r.passed {
		w = &w.branches[i].below
	}
	for ; ; from = 0 {
		i, postpone := w.follow(r, from)
		if i < 0 {
			return place{w, false, postpone}
		}
		b := w.branches[i]
		if w, r.passed = &b.below, append(r.passed, i); len(b.below.branches) == 0 || r.left() == 0 {
			return place{w, true, false}
		}
	}
}

// insert inserts a reversal in the place that was found for it.
func (w *wakeups) insert(r *reversal, found *place, by *owner) {
	for _, i := range r.passed {
		w = &w.ownBranch(i, by).below
	}
	w.add(r, found.postpone, by)
}

// add adds what is left of a reversal.
func (w *wakeups) add(r *reversal, postpone bool, by *owner) {
	if w.own(by); postpone {
		w.postponed = append(w.postponed, r.detach())
	} else {
		w.append(r)
	}
}

// follow returns which branch, of those from one on, is the first that is a weak initial of a reversal, which it is
// then taken out of, or -1; that may be because it is not known yet.
func (w *wakeups) follow(r *reversal, from int) (branch int, postpone bool) {
	for n := from; n < len(w.branches); n++ {
		b := w.branches[n]
		switch relation, i := r.relate(&b.step); {
		case relation == initial && r.whole && b.is(guessed) && r.steps[i].is(guessed) && r.left() > 1:
			return -1, true
		case relation == initial:
			r.remove(i)
			return n, false
		case relation == commuting && r.whole && b.is(guessed):
			return -1, true
		case relation == commuting && r.whole:
			return n, false
		}
	}
	return -1, false
}

// append adds a branch that consists of the steps that are left of a reversal, one after the other. They are
// made at once: most reversals are long. The lists are the caller's, and so is what is below the branch.
func (w *wakeups) append(r *reversal) {
	chain, links := make([]branch, r.left()), make([]*branch, r.left())
	accesses := make([]Access, 0, r.accesses())
	n := 0
	for i := r.head; i < len(r.steps); i++ {
		if r.removed[i] {
			continue
		}
		b, from := &chain[n], len(accesses)
		b.step = r.steps[i]
		accesses = append(accesses, b.Accesses...)
		b.Accesses = accesses[from:len(accesses):len(accesses)]
		b.below.owner = w.owner
		if links[n] = b; n == 0 {
			w.branches = append(w.branches, b)
		} else {
			chain[n-1].below.branches = links[n : n+1 : n+1]
		}
		n++
	}
}

// begins reports whether a branch begins with an action.
func (w *wakeups) begins(a Action) bool {
	return slices.ContainsFunc(w.branches, func(b *branch) bool { return b.Action == a })
}

func (w *wakeups) empty() bool { return len(w.branches) == 0 && len(w.postponed) == 0 }

// pop takes out the first branch; nil if there is none.
func (w *wakeups) pop() *branch {
	if len(w.branches) == 0 {
		return nil
	}
	b := w.branches[0]
	w.branches = w.branches[1:]
	return b
}

// sleepers are lists of what is asleep, one behind the other.
type sleepers []*Sleeper

// prune takes out the first leaves, as long as there is something asleep on the way to them:
// it is a weak initial of that way, so that what begins there has been explored. It returns what is left, and
// whether that has a leaf, or something postponed. What is asleep is the last of the lists.
func (w wakeups) prune(all *sleepers, last int) (left wakeups, some bool) {
	asleep := (*all)[last:]
	for ; len(w.branches) > 0; w.branches = w.branches[1:] {
		b := w.branches[0]
		if slices.ContainsFunc(asleep, func(s *Sleeper) bool { return s.Action == b.Action }) {
			continue
		}
		if len(b.below.branches) == 0 || len(asleep) == 0 {
			return w, true
		}
		end := len(*all)
		all.wake(last, &b.step)
		below, some := b.below.prune(all, end)
		*all = (*all)[:end]
		if !some && len(below.postponed) == 0 {
			continue
		}
		if len(below.branches) != len(b.below.branches) || len(below.branches) > 0 && below.branches[0] != b.below.branches[0] {
			first := *b
			first.below = below
			w.branches, w.owner = append([]*branch{&first}, w.branches[1:]...), nil
		}
		return w, true
	}
	return w, false
}

// wake appends the list of those that still sleep after a step, of the last list.
func (all *sleepers) wake(last int, s *step) {
	for _, a := range (*all)[last:] {
		if a.Goroutine != s.Goroutine && !a.Wakes(s.Accesses) {
			*all = append(*all, a)
		}
	}
}

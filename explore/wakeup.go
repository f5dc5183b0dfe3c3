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
type owner struct{ stock *stock }

// branch is a sequence of steps, and what follows the last of them: most of what is to do is long, and little
// branches off it. Between the steps is a tree, too, of which the one branch is the rest of the steps.
type branch struct {
	steps []*step // at least one, which nobody changes
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

// first is the step that a branch begins with.
func (b *branch) first() *step { return b.steps[0] }

// split is a branch of so many steps of a branch, fewer than it has, with the rest of it as the one branch below.
func (b *branch) split(n int, by *owner) *branch {
	rest := &branch{steps: b.steps[n:], below: b.below}
	return &branch{steps: b.steps[:n:n], below: wakeups{branches: []*branch{rest}, owner: by}, since: b.since}
}

// step is an action, and what its transition accesses.
type step struct {
	Action
	Accesses  []Access
	marks     marks
	goroutine int32 // the number that the goroutine had in the trace where the step comes from
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
	if int(r.node) < d.floor && (!found.covered || found.at.owner() == d.owner) {
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

// spot is a tree in a wakeup tree: a list of branches or, between two steps of a branch, the rest of that.
type spot struct {
	list   *wakeups // nil: it is between two steps
	branch *branch
	passed int // how many steps of the branch there are before
}

// branches is how many branches there are.
func (s *spot) branches() int {
	if s.list == nil {
		return 1
	}
	return len(s.list.branches)
}

// first is the step that a branch begins with.
func (s *spot) first(branch int) *step {
	if s.list == nil {
		return s.branch.steps[s.passed]
	}
	return s.list.branches[branch].first()
}

// after is the tree after the first step of a branch.
func (s *spot) after(branch int) spot {
	after := spot{branch: s.branch, passed: s.passed + 1}
	if s.list != nil {
		after = spot{branch: s.list.branches[branch], passed: 1}
	}
	if after.passed == len(after.branch.steps) {
		return spot{list: &after.branch.below}
	}
	return after
}

func (s *spot) owner() *owner {
	if s.list == nil {
		return s.branch.below.owner
	}
	return s.list.owner
}

// place is where a reversal belongs in a wakeup tree.
type place struct {
	at       spot
	covered  bool // by the leaf above
	postpone bool // nobody knows yet
}

// find finds the place of a reversal below those steps that it has passed, and of these not below the first so many branches. It takes the way there out of it.
func (w *wakeups) find(r *reversal, from int) place {
	at := spot{list: w}
	for _, i := range r.passed {
		at = at.after(i)
	}
	for ; ; from = 0 {
		i, postpone := at.follow(r, from)
		if i < 0 {
			return place{at, false, postpone}
		}
		at, r.passed = at.after(i), append(r.passed, i)
		if at.branches() == 0 || r.left() == 0 {
			return place{at, true, false}
		}
	}
}

// insert inserts a reversal in the place that was found for it.
func (w *wakeups) insert(r *reversal, found *place, by *owner) {
	for passed := r.passed; len(passed) > 0; {
		i := passed[0]
		if b := w.branches[i]; len(passed) < len(b.steps) {
			w.own(by)
			w.branches[i] = b.split(len(passed), by)
		}
		b := w.ownBranch(i, by)
		w, passed = &b.below, passed[len(b.steps):]
	}
	w.add(r, found.postpone, by)
}

// add adds what is left of a reversal.
func (w *wakeups) add(r *reversal, postpone bool, by *owner) {
	if w.own(by); postpone {
		w.postponed = append(w.postponed, r.detach())
	} else {
		w.branches = append(w.branches, r.branch(by))
	}
}

// branch is one that consists of the steps that are left of a reversal, one after the other.
func (r *reversal) branch(by *owner) *branch {
	b := &branch{steps: make([]*step, 0, r.left()), below: wakeups{owner: by}}
	for i := r.head; i < len(r.steps); i++ {
		if !r.removed[i] {
			b.steps = append(b.steps, r.keep(i, by.stock))
		}
	}
	return b
}

// keep returns a step as it is in trees. Most goroutines do the same there as they did in an execution before.
func (r *reversal) keep(i int, in *stock) *step {
	if r.kept != nil {
		return r.kept[i]
	}
	if r.trace == nil || r.events[i] < 0 {
		return in.step(&r.steps[i], nil)
	}
	likely := r.trace.keptFor(r.events[i])
	*likely = in.step(&r.steps[i], *likely)
	return *likely
}

// follow returns which branch, of those from one on, is the first that is a weak initial of a reversal, which it is
// then taken out of, or -1; that may be because it is not known yet.
func (s *spot) follow(r *reversal, from int) (branch int, postpone bool) {
	for n := from; n < s.branches(); n++ {
		a := s.first(n)
		switch relation, i := r.relate(a); {
		case relation == initial && r.whole && a.is(guessed) && r.steps[i].is(guessed) && r.left() > 1:
			return -1, true
		case relation == initial:
			r.remove(i)
			return n, false
		case relation == commuting && r.whole && a.is(guessed):
			return -1, true
		case relation == commuting && r.whole:
			return n, false
		}
	}
	return -1, false
}

// begins reports whether a branch begins with an action.
func (w *wakeups) begins(a Action) bool {
	return slices.ContainsFunc(w.branches, func(b *branch) bool { return b.first().Action == a })
}

func (w *wakeups) empty() bool { return len(w.branches) == 0 && len(w.postponed) == 0 }

// top is the first branch; nil if there is none.
func (w *wakeups) top() *branch {
	if len(w.branches) == 0 {
		return nil
	}
	return w.branches[0]
}

// pop takes out the first branch; nil if there is none.
func (w *wakeups) pop() *branch {
	b := w.top()
	if b != nil {
		w.branches = w.branches[1:]
	}
	return b
}

// cutOff takes out of a branch, which is its owner's, what comes after the first so many steps of the way to its first leaf, there.
func (b *branch) cutOff(steps int, by *owner) {
	for steps > len(b.steps) {
		steps -= len(b.steps)
		b = b.below.ownBranch(0, by)
	}
	if steps < len(b.steps) {
		b.steps, b.below = b.steps[:steps:steps], wakeups{owner: by}
	} else {
		b.below.pop()
	}
}

// sleepers are lists of what is asleep, one behind the other.
type sleepers []*Sleeper

// prune takes out the first leaves, as long as there is something asleep on the way to them:
// it is a weak initial of that way, so that what begins there has been explored. It returns what is left, and
// whether that has a leaf, or something postponed. What is asleep is the last of the lists.
func (w wakeups) prune(all *sleepers, last int) (left wakeups, some bool) {
	end := len(*all)
	for ; len(w.branches) > 0; w.branches = w.branches[1:] {
		b := w.branches[0]
		*all = append((*all)[:end], (*all)[last:end]...)
		if all.wake(end, b.steps) {
			continue
		}
		if len(b.below.branches) == 0 || len(*all) == end {
			return w, true
		}
		below, some := b.below.prune(all, end)
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

// wake makes the last list that of those that still sleep after some steps, and reports whether one of these is asleep.
func (all *sleepers) wake(last int, steps []*step) (blocked bool) {
	for _, s := range steps {
		list := (*all)[last:]
		if len(list) == 0 {
			return false
		}
		if slices.ContainsFunc(list, func(a *Sleeper) bool { return a.Action == s.Action }) {
			return true
		}
		left := last
		for _, a := range list {
			if a.Goroutine != s.Goroutine && !a.Wakes(s.Accesses) {
				(*all)[left] = a
				left++
			}
		}
		*all = (*all)[:left]
	}
	return false
}

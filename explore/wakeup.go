package explore

import "slices"

// wakeups is a wakeup tree (POPL 2014, section 6.2): what is to be explored from a
// node, in order. Each leaf is an execution to be run; on the way there nothing ends
// up asleep, so that it is not redundant.
type wakeups struct {
	branches []*branch
	// postponed are reversals of which it is not known whether a branch covers them,
	// before that has been executed and its accesses are known.
	postponed []*reversal
}

// branch is a step and what follows it. It shares no memory with the trace.
type branch struct {
	step
	below  wakeups
	begun  bool // Ahead has listed its first leaf
	ahead  bool // and all others:
	leaves int  // so many, beyond that of what is above it
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
	return !d.coveredAsleep(n, r) && n.todo.insert(r)
}

// coveredAsleep reports whether something asleep at a node covers a reversal.
func (d *dpor) coveredAsleep(n *node, r *reversal) bool {
	return slices.ContainsFunc(d.sleepOf(n), func(s Sleeper) bool {
		relation, _ := r.relate(&step{Action: s.Action, Accesses: s.Accesses})
		return relation == initial || relation == commuting && r.whole && !s.vague
	})
}

func (w *wakeups) insert(r *reversal) bool {
	for r.passed = r.passed[:0]; ; {
		b, postpone := w.follow(r)
		switch {
		case postpone:
			w.postponed = append(w.postponed, r.detach())
			return true
		case b == nil:
			w.append(r)
			for _, b := range r.passed {
				b.ahead = false
			}
			return true
		case len(b.below.branches) == 0 || r.left() == 0:
			return false
		}
		w, r.passed = &b.below, append(r.passed, b)
	}
}

// follow returns the first branch that is a weak initial of a reversal, which it is
// then taken out of, or tells that this is not known yet.
func (w *wakeups) follow(r *reversal) (b *branch, postpone bool) {
	for _, b := range w.branches {
		switch relation, i := r.relate(&b.step); {
		case relation == initial && r.whole && b.is(guessed) && r.steps[i].is(guessed) && r.left() > 1:
			return nil, true
		case relation == initial:
			r.remove(i)
			return b, false
		case relation == commuting && r.whole:
			return b, b.is(guessed)
		}
	}
	return nil, false
}

// append adds a branch that consists of the steps that are left of a reversal, one after the other. They are
// made at once: most reversals are long.
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

// prune takes out the first leaves, as long as there is something asleep on the way to them:
// it is a weak initial of that way, so that what begins there has been explored. It reports
// whether there is a leaf left, or something postponed. What is asleep may be overwritten behind its end.
func (w *wakeups) prune(asleep []*Sleeper) bool {
	for len(w.branches) > 0 {
		b := w.branches[0]
		if !slices.ContainsFunc(asleep, func(s *Sleeper) bool { return s.Action == b.Action }) {
			if len(b.below.branches) == 0 || len(asleep) == 0 {
				return true
			}
			if b.below.prune(b.step.wake(asleep)) || len(b.below.postponed) > 0 {
				return true
			}
		}
		w.branches = w.branches[1:]
	}
	return false
}

// wake returns, behind some sleepers, those of them that still sleep after a step.
func (s *step) wake(asleep []*Sleeper) []*Sleeper {
	all := asleep
	for _, a := range asleep {
		if a.Goroutine != s.Goroutine && !a.Wakes(s.Accesses) {
			all = append(all, a)
		}
	}
	return all[len(asleep):]
}

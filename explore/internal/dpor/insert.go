package dpor

import (
	"slices"

	"github.com/tandem-mc/tandem/explore/internal/core"
	"github.com/tandem-mc/tandem/explore/internal/trace"
	"github.com/tandem-mc/tandem/explore/internal/wakeup"
)

// insert sees to it that a reversal is explored, and reports whether it was not yet.
//
// Of the actions that are asleep or to do at its node, one has to be a weak initial
// of it. If a sleeper is, what begins with that has been explored. If a branch is,
// the rest of the reversal is inserted below it; a leaf needs no more: everything
// that is asleep wakes on the way to it. Otherwise it becomes a branch (POPL 2014, algorithm 2).
func (d *Search) insert(r *wakeup.Reversal) (inserted bool) {
	n := &d.nodes[r.Node]
	n.incomplete = n.incomplete || !r.Whole
	last := len(r.Steps) - 1
	choices := d.choicesAsleep(n, r.Steps)
	if choices < 2 {
		return d.insertAt(n, r)
	}
	for choice := range choices {
		c := *r
		c.Steps, c.Removed = slices.Clone(r.Steps), slices.Clone(r.Removed)
		c.Steps[last].Choice, c.Steps[last].Marks = choice, r.Steps[last].Marks&^trace.Open
		inserted = d.insertAt(n, &c) || inserted
	}
	return inserted
}

// choicesAsleep returns how many alternatives there are of the operation of the last
// step, if that is open and one of them sleeps until then: others may have been passed over.
func (d *Search) choicesAsleep(n *node, steps []trace.Step) int {
	i := len(steps) - 1
	g := steps[i].Goroutine
	if !steps[i].Is(trace.Open) || slices.ContainsFunc(steps[:i],
		func(s trace.Step) bool { return s.Goroutine == g }) {
		return 0
	}
	for _, s := range d.sleepOf(n) {
		if s.Goroutine == g && !slices.ContainsFunc(steps[:i],
			func(x trace.Step) bool { return s.Wakes(x.Accesses) }) {
			return s.Choices
		}
	}
	return 0
}

func (d *Search) insertAt(n *node, r *wakeup.Reversal) bool {
	if d.coveredAsleep(n, r) {
		return false
	}
	r.Passed = r.Passed[:0]
	found := n.todo.Find(r, 0)
	if int(r.Node) < d.Floor && (!found.Covered || found.At.Owner() == d.owner) {
		if d.export(r, &found); !d.inserts(r.Node) {
			return !found.Covered
		}
	}
	return !found.Covered && d.insertIn(n, r, &found)
}

// insertIn inserts a reversal in the place that was found for it.
func (d *Search) insertIn(n *node, r *wakeup.Reversal, found *wakeup.Place) bool {
	n.todo.Insert(r, found, d.owner)
	if len(r.Passed) > 0 {
		n.todo.Branches[r.Passed[0]].Since = d.Counts.Executions
		d.cancelChanged(int(r.Node))
	} else if !found.Postpone {
		n.todo.Branches[len(n.todo.Branches)-1].Since = d.Counts.Executions
	}
	return true
}

// coveredAsleep reports whether something asleep at a node covers a reversal.
func (d *Search) coveredAsleep(n *node, r *wakeup.Reversal) bool {
	return slices.ContainsFunc(d.sleepOf(n), func(s *core.Sleeper) bool {
		relation, _ := r.Relate(&trace.Step{Action: s.Action, Accesses: s.Accesses})
		return relation == wakeup.Initial || relation == wakeup.Commuting && r.Whole && !s.Incomplete
	})
}

// Package wakeup has wakeup trees (Abdulla, Aronis, Jonsson, Sagonas: Optimal Dynamic Partial Order
// Reduction, POPL 2014, section 6): which sequences of transitions are to be explored from a state.
package wakeup

import (
	"slices"

	"github.com/tandem-mc/tandem/explore/internal/core"
	"github.com/tandem-mc/tandem/explore/internal/trace"
)

// Tree is a wakeup tree (POPL 2014, section 6.2): what is to be explored from a node, in order.
// Each leaf is an execution to be run; on the way there nothing ends up asleep, so that it is not
// redundant.
//
// A search and its subtrees share what was there when the search was split, so nobody may change
// that. Lists are changed only by their owner, and so are the branches whose lists below are its
// own. Others copy.
type Tree struct {
	Branches []*Branch
	// Postponed are reversals of which it is not known whether a branch covers them,
	// before that has been executed and its accesses are known.
	Postponed []*Reversal
	owner     *Owner
}

// Owner is a search between two splits.
type Owner struct{ Interner *Interner }

// Branch is a sequence of steps, and what follows the last of them. Most of what is to do is long,
// and little branches off it. Between two steps is a tree, too: its one branch is the rest of the
// steps.
type Branch struct {
	Steps []*trace.Step // at least one, which nobody changes
	Below Tree
	// Since is, of a branch of a node, after how many executions it or something below it was
	// inserted last.
	Since int
	// Gap is how many executions there were at most between two such insertions. When a branch came
	// is not known if it came with another one, or from a file. Its Since is 0 then, and the time
	// up to its first insertion is no gap.
	Gap int
}

// Own makes the lists those of an owner.
func (w *Tree) Own(by *Owner) {
	if w.owner != by {
		w.Branches, w.Postponed, w.owner = slices.Clone(w.Branches), slices.Clone(w.Postponed), by
	}
}

// ownBranch makes branch i that of an owner.
func (w *Tree) ownBranch(i int, by *Owner) *Branch {
	w.Own(by)
	w.Branches[i] = w.Branches[i].Owned(by)
	return w.Branches[i]
}

// Owned is a branch that its owner may change: the same one, if it is his.
func (b *Branch) Owned(by *Owner) *Branch {
	if b.Below.owner == by {
		return b
	}
	c := *b
	c.Below.Own(by)
	return &c
}

// Insert notes that something was inserted below a branch of a node, after so many executions.
func (b *Branch) Insert(executions int) {
	if b.Since > 0 {
		b.Gap = max(b.Gap, executions-b.Since)
	}
	b.Since = executions
}

// IsQuiet reports whether, after so many executions, nothing was inserted below a branch of a node
// in the last ones: in the last so many at least, and for twice as long as ever between two
// insertions.
func (b *Branch) IsQuiet(executions, least int) bool {
	return executions-b.Since >= max(least, 2*b.Gap)
}

// First is the step that a branch begins with.
func (b *Branch) First() *trace.Step { return b.Steps[0] }

// split is a branch of so many steps of a branch, fewer than it has, with the rest of it as the one
// branch below.
func (b *Branch) split(n int, by *Owner) *Branch {
	rest := &Branch{Steps: b.Steps[n:], Below: b.Below}
	return &Branch{Steps: b.Steps[:n:n], Below: Tree{Branches: []*Branch{rest}, owner: by}, Since: b.Since,
		Gap: b.Gap}
}

// Spot is a tree in a wakeup tree: a list of branches or, between two steps of a branch, the rest
// of that.
type Spot struct {
	List   *Tree // nil: it is between two steps
	branch *Branch
	passed int // how many steps of the branch there are before
}

// Branches is how many branches there are.
func (s *Spot) Branches() int {
	if s.List == nil {
		return 1
	}
	return len(s.List.Branches)
}

// First is the step that a branch begins with.
func (s *Spot) First(branch int) *trace.Step {
	if s.List == nil {
		return s.branch.Steps[s.passed]
	}
	return s.List.Branches[branch].First()
}

// After is the tree after the first step of a branch.
func (s *Spot) After(branch int) Spot {
	after := Spot{branch: s.branch, passed: s.passed + 1}
	if s.List != nil {
		after = Spot{branch: s.List.Branches[branch], passed: 1}
	}
	if after.passed == len(after.branch.Steps) {
		return Spot{List: &after.branch.Below}
	}
	return after
}

// Owner is the owner of the tree.
func (s *Spot) Owner() *Owner {
	if s.List == nil {
		return s.branch.Below.owner
	}
	return s.List.owner
}

// Place is where a reversal belongs in a wakeup tree.
type Place struct {
	At       Spot
	Covered  bool // by the leaf above
	Postpone bool // nobody knows yet
}

// Find finds the place of a reversal below those steps that it has passed, and of these not below
// the first so many branches. It takes the way there out of it.
func (w *Tree) Find(r *Reversal, from int) Place {
	at := Spot{List: w}
	for _, i := range r.Passed {
		at = at.After(i)
	}
	for ; ; from = 0 {
		i, postpone := at.follow(r, from)
		if i < 0 {
			return Place{at, false, postpone}
		}
		at, r.Passed = at.After(i), append(r.Passed, i)
		if at.Branches() == 0 || r.Left() == 0 {
			return Place{at, true, false}
		}
	}
}

// Insert inserts a reversal in the place that was found for it.
func (w *Tree) Insert(r *Reversal, found *Place, by *Owner) {
	for passed := r.Passed; len(passed) > 0; {
		i := passed[0]
		if b := w.Branches[i]; len(passed) < len(b.Steps) {
			w.Own(by)
			w.Branches[i] = b.split(len(passed), by)
		}
		b := w.ownBranch(i, by)
		w, passed = &b.Below, passed[len(b.Steps):]
	}
	w.add(r, found.Postpone, by)
}

// add adds what is left of a reversal.
func (w *Tree) add(r *Reversal, postpone bool, by *Owner) {
	if w.Own(by); postpone {
		w.Postponed = append(w.Postponed, r.Detach())
	} else {
		w.Branches = append(w.Branches, r.branch(by))
	}
}

// branch is one that consists of the steps that are left of a reversal, one after the other.
func (r *Reversal) branch(by *Owner) *Branch {
	b := &Branch{Steps: make([]*trace.Step, 0, r.Left()), Below: Tree{owner: by}}
	for i := r.head; i < len(r.Steps); i++ {
		if !r.Removed[i] {
			b.Steps = append(b.Steps, r.Keep(i, by.Interner))
		}
	}
	return b
}

// Keep returns a step as it is in trees. Most goroutines do the same there as they did in an
// execution before.
func (r *Reversal) Keep(i int, in *Interner) *trace.Step {
	if r.Kept != nil {
		return r.Kept[i]
	}
	if r.Trace == nil || r.Events[i] < 0 {
		return in.intern(&r.Steps[i], nil)
	}
	likely := r.Trace.KeptFor(r.Events[i])
	*likely = in.intern(&r.Steps[i], *likely)
	return *likely
}

// follow returns which branch, of those from one on, is the first that is a weak initial of a
// reversal, which it is then taken out of, or -1; that may be because it is not known yet.
func (s *Spot) follow(r *Reversal, from int) (branch int, postpone bool) {
	for n := from; n < s.Branches(); n++ {
		a := s.First(n)
		switch relation, i := r.Relate(a); {
		case relation == Initial && r.Whole && a.Is(trace.Guessed) && r.Steps[i].Is(trace.Guessed) &&
			r.Left() > 1:
			return -1, true
		case relation == Initial:
			r.Remove(i)
			return n, false
		case relation == Commuting && r.Whole && a.Is(trace.Guessed):
			return -1, true
		case relation == Commuting && r.Whole:
			return n, false
		}
	}
	return -1, false
}

// Begins reports whether a branch begins with an action.
func (w *Tree) Begins(a core.Action) bool {
	return slices.ContainsFunc(w.Branches, func(b *Branch) bool { return b.First().Action == a })
}

// Empty reports whether nothing is to be explored.
func (w *Tree) Empty() bool { return len(w.Branches) == 0 && len(w.Postponed) == 0 }

// Top is the first branch; nil if there is none.
func (w *Tree) Top() *Branch {
	if len(w.Branches) == 0 {
		return nil
	}
	return w.Branches[0]
}

// Pop takes out the first branch; nil if there is none.
func (w *Tree) Pop() *Branch {
	b := w.Top()
	if b != nil {
		w.Branches = w.Branches[1:]
	}
	return b
}

// CutOff takes out of a branch, which is its owner's, what comes after the first so many steps of
// the way to its first leaf, there.
func (b *Branch) CutOff(steps int, by *Owner) {
	for steps > len(b.Steps) {
		steps -= len(b.Steps)
		b = b.Below.ownBranch(0, by)
	}
	if steps < len(b.Steps) {
		b.Steps, b.Below = b.Steps[:steps:steps], Tree{owner: by}
	} else {
		b.Below.Pop()
	}
}

// Sleepers are lists of what is asleep, one behind the other.
type Sleepers []*core.Sleeper

// Prune takes out the first leaves, as long as there is something asleep on the way to them: it is
// a weak initial of that way, so that what begins there has been explored. It returns what is left,
// and whether that has a leaf, or something postponed. What is asleep is the last of the lists.
func (w Tree) Prune(all *Sleepers, last int) (left Tree, some bool) {
	end := len(*all)
	for ; len(w.Branches) > 0; w.Branches = w.Branches[1:] {
		b := w.Branches[0]
		*all = append((*all)[:end], (*all)[last:end]...)
		if all.wake(end, b.Steps) {
			continue
		}
		if len(b.Below.Branches) == 0 || len(*all) == end {
			return w, true
		}
		below, some := b.Below.Prune(all, end)
		if !some && len(below.Postponed) == 0 {
			continue
		}
		if len(below.Branches) != len(b.Below.Branches) || len(below.Branches) > 0 &&
			below.Branches[0] != b.Below.Branches[0] {
			first := *b
			first.Below = below
			w.Branches, w.owner = append([]*Branch{&first}, w.Branches[1:]...), nil
		}
		return w, true
	}
	return w, false
}

// wake makes the last list that of those that still sleep after some steps, and reports whether one
// of these is asleep.
func (all *Sleepers) wake(last int, steps []*trace.Step) (blocked bool) {
	for _, s := range steps {
		list := (*all)[last:]
		if len(list) == 0 {
			return false
		}
		if slices.ContainsFunc(list, func(a *core.Sleeper) bool { return a.Action == s.Action }) {
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

// Sleeper is what the first step of a branch will be when it is asleep, for all that is known.
func (b *Branch) Sleeper() *core.Sleeper {
	s := b.First()
	return &core.Sleeper{Action: s.Action, Accesses: core.Accumulate(slices.Clone(s.Accesses)), Choices: 1}
}

// Is reports whether two trees are one, in which nothing was changed meanwhile.
func (w *Tree) Is(other *Tree) bool {
	return slices.Equal(w.Branches, other.Branches) && slices.Equal(w.Postponed, other.Postponed)
}

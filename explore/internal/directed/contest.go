package directed

import (
	"slices"

	"github.com/tandem-mc/tandem/explore/internal/core"
)

// contest tells which alternatives of the states of an execution are contested. It only decides
// what is run first, so it may be wrong.
type contest struct {
	transitions []core.Transition
	of          map[core.GoroutineID][]int // the transitions of each goroutine
	// Which transition of another goroutine is the last that comes before a transition, or one that
	// follows it in its goroutine, and conflicts with that; -1: none does.
	last    []int
	pending map[core.GoroutineID]int // the same, of operations that were pending at the end
	latest  map[core.ObjectID]*[core.AccessKinds]latest
}

// latest is who has made an access to an object last, and when, counted from 1; 0: nobody has.
type latest struct {
	by            core.GoroutineID
	at, byAnother int
}

// take looks at an execution. Until the next one the contest refers to it.
func (c *contest) take(e *core.Execution) {
	*c = contest{transitions: e.Transitions, of: map[core.GoroutineID][]int{}, last: c.last[:0],
		pending: map[core.GoroutineID]int{}, latest: map[core.ObjectID]*[core.AccessKinds]latest{}}
	barrier := -1
	for i := range e.Transitions {
		x := &e.Transitions[i]
		c.of[x.Goroutine] = append(c.of[x.Goroutine], i)
		c.last = append(c.last, max(barrier, c.conflict(x.Accesses, x.Goroutine)))
		for _, a := range x.Accesses {
			c.note(a, i, x.Goroutine)
		}
		if x.Barrier {
			barrier = i
		}
	}
	for _, p := range e.Pending {
		c.pending[p.Goroutine] = max(barrier, c.conflict(p.Accesses, p.Goroutine))
	}
	for g, list := range c.of {
		last, known := c.pending[g]
		if !known {
			last = -1
		}
		for _, i := range slices.Backward(list) {
			last = max(last, c.last[i])
			c.last[i] = last
		}
	}
}

// conflict is the last transition so far of another goroutine that conflicts with accesses; -1 if
// none does.
func (c *contest) conflict(accesses []core.Access, by core.GoroutineID) int {
	last := -1
	for _, a := range accesses {
		kinds := c.latest[a.Object]
		for kind := 0; kinds != nil && kind < len(kinds); kind++ {
			if !core.Conflicts[a.Kind][kind] {
				continue
			}
			if l := &kinds[kind]; l.by == by {
				last = max(last, l.byAnother-1)
			} else {
				last = max(last, l.at-1)
			}
		}
	}
	return last
}

// note notes an access of transition i.
func (c *contest) note(a core.Access, i int, by core.GoroutineID) {
	kinds := c.latest[a.Object]
	if kinds == nil {
		kinds = new([core.AccessKinds]latest)
		c.latest[a.Object] = kinds
	}
	l := &kinds[a.Kind]
	if l.by != by {
		l.by, l.byAnother = by, l.at
	}
	l.at = i + 1
}

// contested reports whether an alternative of the state before transition i is contested. Of what
// the execution does not show it is.
func (c *contest) contested(i int, a core.Action) bool {
	list := c.of[a.Goroutine]
	at, _ := slices.BinarySearch(list, i)
	if at == len(list) {
		last, known := c.pending[a.Goroutine]
		return !known || last >= i
	}
	next := list[at]
	return next == i || c.transitions[next].Choice != a.Choice || c.last[next] >= i
}

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
	// Which transition is the last before each one that conflicts with it; -1: none does.
	last    []int
	pending map[core.GoroutineID]int // the same, of operations that were pending at the end
	latest  map[core.ObjectID]*[core.AccessKinds]int
}

// take looks at an execution. Until the next one the contest refers to it.
func (c *contest) take(e *core.Execution) {
	*c = contest{transitions: e.Transitions, of: map[core.GoroutineID][]int{}, last: c.last[:0],
		pending: map[core.GoroutineID]int{}, latest: map[core.ObjectID]*[core.AccessKinds]int{}}
	barrier := -1
	for i := range e.Transitions {
		x := &e.Transitions[i]
		c.of[x.Goroutine] = append(c.of[x.Goroutine], i)
		c.last = append(c.last, max(barrier, c.conflict(x.Accesses)))
		for _, a := range x.Accesses {
			c.note(a, i)
		}
		if x.Barrier {
			barrier = i
		}
	}
	for _, p := range e.Pending {
		c.pending[p.Goroutine] = max(barrier, c.conflict(p.Accesses))
	}
}

// conflict is the last transition so far that conflicts with accesses; -1 if none does.
func (c *contest) conflict(accesses []core.Access) int {
	last := -1
	for _, a := range accesses {
		latest := c.latest[a.Object]
		for kind := 0; latest != nil && kind < len(latest); kind++ {
			if core.Conflicts[a.Kind][kind] {
				last = max(last, latest[kind]-1)
			}
		}
	}
	return last
}

// note notes an access of transition i.
func (c *contest) note(a core.Access, i int) {
	latest := c.latest[a.Object]
	if latest == nil {
		latest = new([core.AccessKinds]int)
		c.latest[a.Object] = latest
	}
	latest[a.Kind] = i + 1
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

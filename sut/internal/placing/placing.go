// Package placing decides where states of a program are kept on the path of an execution, so that
// later ones can begin there. It is pure, and knows nothing of workers.
package placing

import (
	"math"
	"slices"
	"sort"
	"time"
)

// Before is how many of n places in ascending order are at a position, or before it.
func Before(n, position int, at func(i int) int) int {
	return sort.Search(n, func(i int) bool { return at(i) > position })
}

// Positions are where an execution is to keep places, in ascending order. It begins at a position,
// follows the last one to a branch, and will probably end where that did. The search comes back to
// where it was last, so places are the closer to each other the closer they are to the branch, and
// beyond it to the end; but no closer than gap. None is kept where it would save less than that.
func Positions(from, branch, end, gap int) (list []int) {
	if branch-from >= gap {
		list = append(list, branch)
		for before := gap; branch-before-from >= gap; before *= 2 {
			list = append(list, branch-before)
		}
	}
	for before := gap; end-before-branch >= gap; before *= 2 {
		list = append(list, end-before)
	}
	slices.Sort(list)
	return list
}

// Least is which of the first n places in ascending order is to be given up for another one: that
// which leaves the smallest hole, for its distance to the branch. -1: there is none.
func Least(n, branch int, at func(i int) int) int {
	best, least := -1, math.Inf(1)
	for i := range n {
		before := 0
		if i > 0 {
			before = at(i - 1)
		}
		hole := float64(at(i+1)-before) / float64(1+max(0, branch-at(i)))
		if hole < least {
			best, least = i, hole
		}
	}
	return best
}

// Cost says what is worth it, from what executions have cost.
type Cost struct {
	step float64 // ns for a transition; 0: not known yet
	seen int
}

const (
	warm       = 8    // executions before which nothing is known
	perByte    = 0.15 // ns, to copy it
	perPlace   = 4000 // ns besides
	perBegin   = 20e3 // ns of an execution without any transition, about
	leastGap   = 8
	neverGap   = 1 << 30
	lastWeight = 1. / 16 // of the last execution
)

// Note notes an execution that took so long for so many transitions. Those that have kept places
// tell nothing.
func (c *Cost) Note(took time.Duration, transitions, places int) {
	if c.seen++; c.seen < warm/2 || places > 0 || transitions <= 0 {
		return
	}
	step := max(0, float64(took)-perBegin) / float64(transitions)
	if c.step == 0 {
		c.step = step
	}
	c.step += (step - c.step) * lastWeight
}

// Gap is after how many transitions a place is worth its cost, if it takes so many bytes.
func (c *Cost) Gap(bytes uint64) int {
	if c.seen < warm || c.step == 0 {
		return neverGap
	}
	return int(min(neverGap, max(leastGap, (perByte*float64(bytes)+perPlace)/c.step)))
}

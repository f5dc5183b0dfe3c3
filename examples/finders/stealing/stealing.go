// Package stealing has work-stealing queues and a stack without locks, each with one of the
// mistakes that the families chess and safestack of SCTBench have, written anew in Go.
//
// The queues have one owner, which puts work in at the tail and takes it out there, and thieves,
// which take it at the head. Each piece of work is to be done once.
//
//   - Frigo, Leiserson, Randall, "The Implementation of the Cilk-5 Multithreaded Language", PLDI
//     1998
//   - Chase, Lev, "Dynamic Circular Work-Stealing Deque", SPAA 2005
package stealing

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tandem-mc/tandem"
	"github.com/tandem-mc/tandem/examples/gallery/bug"
)

// Bugs are the programs of this package.
func Bugs() []bug.Bug { return slices.Concat(lockedBugs, interlockedBugs, stackBugs) }

// lockFree is the class of the bugs.
const lockFree = "atomicity violation: lock-free structure"

// deque is a queue of work that can be stolen. Methods tell whether they had room, or found some.
type deque interface {
	push(work int32) bool
	pop() (int32, bool)
	steal() (int32, bool)
}

// load is what the owner and its thieves do: the owner puts two pieces in and takes one out, as
// often as there are rounds, and then takes out what is left.
type load struct{ rounds, thieves, steals int }

// The loads that most programs have.
var small, large = load{2, 1, 2}, load{3, 2, 2}

// run does the work, and sees that each piece is done once.
func (l load) run(q deque) {
	done := make([]atomic.Int32, 2*l.rounds)
	do := func(work int32, ok bool) bool {
		if ok {
			tandem.Assert(done[work].Add(1) == 1, "done twice: ", work)
		}
		return ok
	}
	var thieves sync.WaitGroup
	for range l.thieves {
		thieves.Go(func() {
			for range l.steals {
				do(q.steal())
			}
		})
	}
	for round := range l.rounds {
		for _, work := range []int32{int32(2 * round), int32(2*round + 1)} {
			if !q.push(work) {
				do(work, true)
			}
		}
		do(q.pop())
	}
	for do(q.pop()) {
	}
	thieves.Wait()
	for do(q.pop()) {
	}
	for work := range done {
		tandem.Assert(done[work].Load() == 1, "not done: ", work)
	}
}

// slots is a ring of pieces of work, with the places of its two ends. It has a power of two.
type slots struct {
	head, tail atomic.Int32
	work       []atomic.Int32
}

func newSlots(n int) slots { return slots{work: make([]atomic.Int32, n)} }

// at is the slot of a place.
func (s *slots) at(place int32) *atomic.Int32 { return &s.work[int(place)&(len(s.work)-1)] }

package stealing

import (
	"sync"

	"github.com/tandem-mc/tandem/examples/gallery/bug"
)

var lockedBugs = []bug.Bug{
	{
		Name: "work-steal-queue", Class: lockFree, Shows: bug.Assertion,
		Doc:   "the owner fills the slot from which a thief is about to take",
		Buggy: func() { small.run(newLocked(2, 2, (*locked).popAnnounced)) },
		Fixed: func() { small.run(newLocked(2, 1, (*locked).popAnnounced)) },
	},
	{
		Name: "state-work-steal-queue", Class: lockFree, Shows: bug.Assertion,
		Doc:   "the owner looks at the head before it gives notice at the tail",
		Buggy: func() { load{2, 2, 1}.run(newLocked(4, 3, (*locked).popUnannounced)) },
		Fixed: func() { load{2, 2, 1}.run(newLocked(4, 3, (*locked).popAnnounced)) },
	},
}

// locked is the queue of Cilk-5: thieves hold a lock, and the owner only where it meets them.
type locked struct {
	mu sync.Mutex
	slots
	room int32                       // that the owner uses; one slot less than there are
	take func(*locked) (int32, bool) // how the owner pops
}

func newLocked(size int, room int32, take func(*locked) (int32, bool)) deque {
	return &locked{slots: newSlots(size), room: room, take: take}
}

func (q *locked) pop() (int32, bool) { return q.take(q) }

// push has the bug if the room is all slots. It shows if a thief has moved the head on, and has not
// yet read what is there, when the owner fills all slots.
func (q *locked) push(work int32) bool {
	tail := q.tail.Load()
	if tail-q.head.Load() >= q.room {
		return false
	}
	q.at(tail).Store(work)
	q.tail.Store(tail + 1)
	return true
}

// popAnnounced gives notice at the tail, and then looks whether a thief has at the head.
func (q *locked) popAnnounced() (int32, bool) {
	tail := q.tail.Load() - 1
	q.tail.Store(tail)
	if q.head.Load() <= tail {
		return q.at(tail).Load(), true
	}
	q.tail.Store(tail + 1)
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.head.Load() > tail {
		return 0, false
	}
	q.tail.Store(tail)
	return q.at(tail).Load(), true
}

// popUnannounced has the bug. It shows if a thief takes the last piece between the look at the head
// and the notice at the tail.
func (q *locked) popUnannounced() (int32, bool) {
	q.mu.Lock()
	tail := q.tail.Load() - 1
	empty := q.head.Load() > tail
	q.mu.Unlock()
	if empty {
		return 0, false
	}
	q.tail.Store(tail)
	return q.at(tail).Load(), true
}

func (q *locked) steal() (int32, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	head := q.head.Load()
	q.head.Store(head + 1)
	if head >= q.tail.Load() {
		q.head.Store(head)
		return 0, false
	}
	return q.at(head).Load(), true
}

package stealing

import "github.com/tandem-mc/tandem/examples/gallery/bug"

var interlockedBugs = []bug.Bug{
	{
		Name: "interlocked-work-steal-queue", Class: lockFree, Shows: bug.Assertion,
		Doc:   "the owner takes the last piece without a compare-and-swap of the head",
		Buggy: func() { small.run(newInterlocked((*interlocked).popPlainly)) },
		Fixed: func() { small.run(newInterlocked((*interlocked).popLast)) },
	},
	{
		Name: "interlocked-work-steal-queue-with-state", Class: lockFree, Shows: bug.Assertion,
		Doc:   "the owner that loses the last piece to a thief leaves the tail before the head",
		Buggy: func() { large.run(newInterlocked((*interlocked).popAndKeep)) },
		Fixed: func() { large.run(newInterlocked((*interlocked).popLast)) },
	},
}

// interlocked is the queue of Chase and Lev: whoever moves the head on has what was there.
type interlocked struct {
	slots
	last func(q *interlocked, tail int32) (int32, bool) // takes the last piece
}

func newInterlocked(last func(*interlocked, int32) (int32, bool)) deque {
	return &interlocked{slots: newSlots(4), last: last}
}

func (q *interlocked) push(work int32) bool {
	tail := q.tail.Load()
	if tail-q.head.Load() >= int32(len(q.work)) {
		return false
	}
	q.at(tail).Store(work)
	q.tail.Store(tail + 1)
	return true
}

func (q *interlocked) pop() (int32, bool) {
	tail := q.tail.Load() - 1
	q.tail.Store(tail)
	switch head := q.head.Load(); {
	case head > tail:
		q.tail.Store(tail + 1)
		return 0, false
	case head == tail:
		return q.last(q, tail)
	}
	return q.at(tail).Load(), true
}

// popLast is in a race with thieves: the head decides, and the queue is empty after it.
func (q *interlocked) popLast(tail int32) (int32, bool) {
	work := q.at(tail).Load()
	won := q.head.CompareAndSwap(tail, tail+1)
	q.tail.Store(tail + 1)
	return work, won
}

// popPlainly has the bug. It shows if a thief that saw the old tail moves the head on afterwards.
func (q *interlocked) popPlainly(tail int32) (int32, bool) { return q.at(tail).Load(), true }

// popAndKeep has the bug. It shows if the owner loses the last piece, and pushes another one: that
// is behind the head, where no thief finds it, and the owner neither.
func (q *interlocked) popAndKeep(tail int32) (int32, bool) {
	work := q.at(tail).Load()
	if !q.head.CompareAndSwap(tail, tail+1) {
		return 0, false
	}
	q.tail.Store(tail + 1)
	return work, true
}

func (q *interlocked) steal() (int32, bool) {
	head := q.head.Load()
	if head >= q.tail.Load() {
		return 0, false
	}
	work := q.at(head).Load()
	return work, q.head.CompareAndSwap(head, head+1)
}

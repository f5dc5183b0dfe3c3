package cs

import (
	"sync"

	"github.com/tandem-mc/tandem"
	"github.com/tandem-mc/tandem/examples/gallery/bug"
)

var waitingBugs = []bug.Bug{
	{
		Name: "sync01", Class: waiting, Shows: bug.Deadlock,
		Doc:   "a consumer takes the only item and leaves the number as it is: the producer waits for ever",
		Buggy: func() { hand(1, 1, func(*slot) {}) },
		Fixed: func() { hand(1, 1, (*slot).consumed) },
	},
	{
		Name: "sync02", Class: waiting, Shows: bug.Deadlock,
		Doc:   "two items are there before, which a consumer of as many as are produced does not take",
		Buggy: func() { hand(2, 3, (*slot).consumed) },
		Fixed: func() { hand(0, 3, (*slot).consumed) },
	},
	{
		Name: "arithmetic-prog", Class: wrongClaim, Shows: bug.Assertion,
		Doc:   "it is claimed that the sum of 1 to 3 is not the one of the formula",
		Buggy: func() { tandem.Assert(sum(3) != 3*(3+1)/2, "the sum is that of the formula") },
		Fixed: func() { tandem.Assert(sum(3) == 3*(3+1)/2, "the sum is not that of the formula") },
	},
}

// slot has room for one item.
type slot struct {
	mu          sync.Mutex
	empty, full *sync.Cond
	items       int
}

func newSlot(items int) *slot {
	s := &slot{items: items}
	s.empty, s.full = sync.NewCond(&s.mu), sync.NewCond(&s.mu)
	return s
}

func (s *slot) produced() { s.items++ }
func (s *slot) consumed() { s.items-- }

// put waits until nothing is there.
func (s *slot) put() {
	s.mu.Lock()
	for s.items > 0 {
		s.empty.Wait()
	}
	s.produced()
	s.mu.Unlock()
	s.full.Signal()
}

// take waits until something is there.
func (s *slot) take(consume func(*slot)) {
	s.mu.Lock()
	for s.items == 0 {
		s.full.Wait()
	}
	consume(s)
	s.mu.Unlock()
	s.empty.Signal()
}

// hand has a producer and a consumer of n items each. With too many items at the beginning, or with
// a consumer that leaves them there, the producer's last wait never ends, in any order.
func hand(before, n int, consume func(*slot)) {
	s := newSlot(before)
	var users sync.WaitGroup
	users.Go(func() {
		for range n {
			s.put()
		}
	})
	users.Go(func() {
		for range n {
			s.take(consume)
		}
	})
	users.Wait()
}

// sum adds the numbers from 1 to n, each when a producer says so.
func sum(n int) (total int) {
	s := newSlot(0)
	var users sync.WaitGroup
	users.Go(func() {
		for range n {
			s.put()
		}
	})
	users.Go(func() {
		for i := range n {
			s.take((*slot).consumed)
			total += i + 1
		}
	})
	users.Wait()
	return total
}

package stealing

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/tandem-mc/tandem"
	"github.com/tandem-mc/tandem/examples/gallery/bug"
)

var stackBugs = []bug.Bug{
	{
		Name: "safestack", Class: lockFree, Shows: bug.Assertion,
		Doc:   "a stack takes the link of its first node out while it pops, which does not keep others away",
		Buggy: func() { useNodes(newSafeStack(3)) },
		Fixed: func() { useNodes(newPlainStack(3)) },
	},
}

// nodes is a set of free nodes, known by their numbers. Take tells whether it has got one.
type nodes interface {
	take() (int, bool)
	give(node int)
}

// safeStack is Dmitry Vyukov's puzzle, a list of free nodes. It has a bug that needs three
// goroutines, and the processor to be taken from them at least five times: one that has taken the
// link of the first node out is overtaken by others, which take that node, give it back, and so let
// two goroutines have the same one.
type safeStack struct {
	head, count atomic.Int32
	next        []atomic.Int32
}

func newSafeStack(n int) nodes {
	s := &safeStack{next: make([]atomic.Int32, n)}
	s.count.Store(int32(n))
	for i := range n - 1 {
		s.next[i].Store(int32(i + 1))
	}
	s.next[n-1].Store(-1)
	return s
}

// attempts bounds how often a goroutine looks for a node, so that every execution ends.
const attempts = 4

func (s *safeStack) take() (int, bool) {
	for range attempts {
		if s.count.Load() <= 1 {
			return 0, false
		}
		first := s.head.Load()
		second := s.next[first].Swap(-1)
		if second >= 0 {
			if s.head.CompareAndSwap(first, second) {
				s.count.Add(-1)
				return int(first), true
			}
			s.next[first].Swap(second)
		}
		runtime.Gosched()
	}
	return 0, false
}

func (s *safeStack) give(node int) {
	for {
		first := s.head.Load()
		s.next[node].Store(first)
		if s.head.CompareAndSwap(first, int32(node)) {
			break
		}
	}
	s.count.Add(1)
}

// plainStack has a lock.
type plainStack struct {
	mu   sync.Mutex
	free []int
}

func newPlainStack(n int) nodes {
	s := &plainStack{}
	for i := range n {
		s.free = append(s.free, i)
	}
	return s
}

func (s *plainStack) take() (int, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.free) <= 1 {
		return 0, false
	}
	node := s.free[len(s.free)-1]
	s.free = s.free[:len(s.free)-1]
	return node, true
}

func (s *plainStack) give(node int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = append(s.free, node)
}

// useNodes has three goroutines that each take a node, use it and give it back, twice.
func useNodes(s nodes) {
	var owner [3]atomic.Int32
	var users sync.WaitGroup
	for id := range int32(3) {
		users.Go(func() {
			for range 2 {
				node, ok := s.take()
				if !ok {
					continue
				}
				owner[node].Store(id)
				tandem.Assert(owner[node].Load() == id, "node ", node, " has two owners")
				s.give(node)
			}
		})
	}
	users.Wait()
}

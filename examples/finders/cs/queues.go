package cs

import (
	"sync"

	"github.com/tandem-mc/tandem"
	"github.com/tandem-mc/tandem/examples/gallery/bug"
)

var queueBugs = []bug.Bug{
	{
		Name: "circular-buffer", Class: order, Shows: bug.Assertion,
		Doc:   "a consumer takes the number of its rounds for the number of what it has received",
		Buggy: func() { exchange(7, 10, 0, false) },
		Fixed: func() { exchange(7, 10, 0, true) },
	},
	{
		Name: "queue", Class: order, Shows: bug.Assertion,
		Doc:   "the same with 20 values, of which the first is there before anybody's turn",
		Buggy: func() { exchange(20, 20, 1, false) },
		Fixed: func() { exchange(20, 20, 1, true) },
	},
	{
		Name: "stack", Class: order, Shows: bug.Assertion,
		Doc:   "that something was pushed once is taken for that there is something to pop",
		Buggy: func() { pushAndPop(false) },
		Fixed: func() { pushAndPop(true) },
	},
	{
		Name: "fsbench", Class: "index out of range", Shows: bug.Panic,
		Doc:   "27 goroutines each lock their inode, and there are 26 locks",
		Buggy: func() { makeFiles(26) },
		Fixed: func() { makeFiles(32) },
	},
}

// ring is a queue in an array, with the lock that guards it and whose turn it is.
type ring struct {
	mu          sync.Mutex
	values      []int
	first, size int
	receive     bool // it is the turn of the goroutine that receives
}

func (r *ring) put(v int) {
	tandem.Assert(r.size < len(r.values), "the ring is full")
	r.values[(r.first+r.size)%len(r.values)] = v
	r.size++
}

func (r *ring) take() int {
	v := r.values[r.first]
	r.first = (r.first + 1) % len(r.values)
	r.size--
	return v
}

// exchange has one goroutine that sends a value whenever it is its turn, and one that receives.
// Both look a limited number of times. The bug, unless counting, shows if the receiver looks once
// too early: from then on its rounds are ahead of the values.
func exchange(rounds, size, before int, counting bool) {
	r := ring{values: make([]int, size)}
	for v := range before {
		r.put(v)
	}
	var users sync.WaitGroup
	users.Go(func() {
		next := before
		for range rounds - before {
			r.mu.Lock()
			if !r.receive {
				r.put(next)
				next++
				r.receive = true
			}
			r.mu.Unlock()
		}
	})
	users.Go(func() {
		received := 0
		for i := range rounds {
			r.mu.Lock()
			if r.receive {
				want := i
				if counting {
					want = received
				}
				got := r.take()
				tandem.Assert(got == want, "received ", got, ", want ", want)
				received++
				r.receive = false
			}
			r.mu.Unlock()
		}
	})
	users.Wait()
}

// pushAndPop has one goroutine that pushes and one that pops, each ten times. The bug, unless
// asking, shows if more is popped than was pushed until then, but for the beginning.
func pushAndPop(asking bool) {
	const size = 10
	var mu sync.Mutex
	var users sync.WaitGroup
	var stack []int
	pushed := false
	users.Go(func() {
		for i := range size {
			mu.Lock()
			stack = append(stack, i)
			pushed = true
			mu.Unlock()
		}
	})
	users.Go(func() {
		for range size {
			mu.Lock()
			if pushed && (!asking || len(stack) > 0) {
				tandem.Assert(len(stack) > 0, "the stack is empty")
				stack = stack[:len(stack)-1]
			}
			mu.Unlock()
		}
	})
	users.Wait()
}

// makeFiles has 27 goroutines that each look for a free block for an inode (Flanagan, Godefroid:
// Dynamic Partial-Order Reduction for Model Checking Software, POPL 2005). With 26 locks the last
// goroutine has none, in every order.
func makeFiles(locks int) {
	const files, blocks = 27, 26
	inodeLock := make([]sync.Mutex, locks)
	var blockLock [blocks]sync.Mutex
	var inode [files]int
	var busy [blocks]bool
	take := func(b int) bool {
		blockLock[b].Lock()
		defer blockLock[b].Unlock()
		free := !busy[b]
		busy[b] = true
		return free
	}
	var users sync.WaitGroup
	for i := range files {
		users.Go(func() {
			inodeLock[i].Lock()
			defer inodeLock[i].Unlock()
			for n := range blocks / 2 {
				if b := (2*i + n) % blocks; inode[i] == 0 && take(b) {
					inode[i] = b + 1
				}
			}
		})
	}
	users.Wait()
}

package kernels

import (
	"sync"
	"sync/atomic"

	"github.com/tandem-mc/tandem"
	"github.com/tandem-mc/tandem/examples/gallery/bug"
)

var phaseBugs = []bug.Bug{
	{
		Name: "streamcluster", Class: waiting, Shows: bug.Deadlock,
		Doc:   "a barrier is opened by a flag that the first goroutine of the next round closes again",
		Buggy: func() { rounds(3, 2, newFlagBarrier(3)) },
		Fixed: func() { rounds(3, 2, newRoundBarrier(3)) },
	},
	{
		Name: "streamcluster-5", Class: waiting, Shows: bug.Deadlock,
		Doc:   "the same barrier with five goroutines",
		Buggy: func() { rounds(5, 2, newFlagBarrier(5)) },
		Fixed: func() { rounds(5, 2, newRoundBarrier(5)) },
	},
	{
		Name: "streamcluster-spin", Class: order, Shows: bug.Assertion,
		Doc:   "a barrier spins for a while, and then takes it that all have come",
		Buggy: func() { rounds(3, 2, &spinBarrier{size: 3}) },
		Fixed: func() { rounds(3, 2, newRoundBarrier(3)) },
	},
	{
		Name: "fft", Class: order, Shows: bug.Assertion,
		Doc:   "the second step reads what others write in the first one, without a barrier in between",
		Buggy: func() { transpose(3, func() {}) },
		Fixed: func() { b := newRoundBarrier(3); transpose(3, b.wait) },
	},
	{
		Name: "lu", Class: order, Shows: bug.Assertion,
		Doc:   "the main goroutine does not wait for the last worker, and prints what is not yet computed",
		Buggy: func() { factor(4, 3) },
		Fixed: func() { factor(4, 4) },
	},
	{
		Name: "barnes", Class: atomicity, Shows: bug.Assertion,
		Doc:   "two bodies find the same cell of the tree empty, since each locks the cell that it came from",
		Buggy: func() { insert(false) },
		Fixed: func() { insert(true) },
	},
}

// barrier makes goroutines wait for each other.
type barrier interface{ wait() }

// rounds has goroutines that each do some rounds, with a barrier after each. In a round, none may
// see another one that is behind.
func rounds(n, times int, b barrier) {
	round := make([]atomic.Int32, n)
	var users sync.WaitGroup
	for id := range n {
		users.Go(func() {
			for now := range times {
				round[id].Store(int32(now + 1))
				b.wait()
				next := (id + 1) % n
				tandem.Assert(int(round[next].Load()) > now, "one is in round ", now, ", the next behind")
			}
		})
	}
	users.Wait()
}

// flagBarrier has the bug: its flag says that it is open. It shows if a goroutine that was woken is
// overtaken by one that comes to the next round: the flag is closed again, and it waits on.
type flagBarrier struct {
	mu      sync.Mutex
	opened  *sync.Cond
	open    bool
	arrived int
	size    int
}

func newFlagBarrier(n int) barrier {
	b := &flagBarrier{size: n}
	b.opened = sync.NewCond(&b.mu)
	return b
}

func (b *flagBarrier) wait() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.arrived == 0 {
		b.open = false
	}
	b.arrived++
	if b.arrived == b.size {
		b.arrived, b.open = 0, true
		b.opened.Broadcast()
	}
	for !b.open {
		b.opened.Wait()
	}
}

// roundBarrier waits until the number of the round is another one.
type roundBarrier struct {
	flagBarrier
	round int
}

func newRoundBarrier(n int) barrier {
	b := &roundBarrier{flagBarrier: flagBarrier{size: n}}
	b.opened = sync.NewCond(&b.mu)
	return b
}

func (b *roundBarrier) wait() {
	b.mu.Lock()
	defer b.mu.Unlock()
	round := b.round
	b.arrived++
	if b.arrived == b.size {
		b.arrived = 0
		b.round++
		b.opened.Broadcast()
	}
	for round == b.round {
		b.opened.Wait()
	}
}

// spinBarrier has the bug. It shows if a goroutine is held up for as long as another one spins.
type spinBarrier struct {
	arrived atomic.Int32
	size    int32
}

func (b *spinBarrier) wait() {
	mine := b.arrived.Add(1)
	full := (mine + b.size - 1) / b.size * b.size
	for range 5 {
		if b.arrived.Load() >= full {
			return
		}
	}
}

// transpose has goroutines that each write a row, and then read the row of the next one. It has the
// bug unless sync is a barrier. It shows if one reads before the next one has written.
func transpose(n int, sync func()) {
	rows := make([]atomic.Int32, n)
	done := make(chan bool, n)
	for id := range n {
		go func() {
			rows[id].Store(1)
			sync()
			tandem.Assert(rows[(id+1)%n].Load() == 1, "row ", (id+1)%n, " is not there")
			done <- true
		}()
	}
	for range n {
		<-done
	}
}

// factor has workers that each compute a block, and a main goroutine that waits for some of them.
// It has the bug if that is not all. It shows if the worker that nobody waits for is late.
func factor(workers, waitFor int) {
	blocks := make([]atomic.Bool, workers)
	done := make(chan bool, workers)
	for id := range workers {
		go func() {
			blocks[id].Store(true)
			done <- true
		}()
	}
	for range waitFor {
		<-done
	}
	for id := range blocks {
		tandem.Assert(blocks[id].Load(), "block ", id, " is not computed")
	}
}

// insert has two bodies that go down a tree of cells, from two sides, to the same leaf. It has the
// bug unless they lock the leaf itself. It shows if both see the leaf empty before one is in it.
func insert(lockLeaf bool) {
	type cell struct {
		mu     sync.Mutex
		bodies atomic.Int32
	}
	var left, right, leaf cell
	var split atomic.Int32
	put := func(lock *cell) {
		if lockLeaf {
			lock = &leaf
		}
		lock.mu.Lock()
		defer lock.mu.Unlock()
		if leaf.bodies.Load() == 0 {
			leaf.bodies.Add(1)
		} else {
			split.Add(1)
		}
	}
	var users sync.WaitGroup
	users.Go(func() { put(&left) })
	users.Go(func() { put(&right) })
	users.Wait()
	tandem.Assert(split.Load() == 1, "the leaf has ", leaf.bodies.Load(), " bodies and is not split")
}

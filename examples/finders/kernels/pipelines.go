package kernels

import (
	"sync"
	"sync/atomic"

	"github.com/tandem-mc/tandem"
	"github.com/tandem-mc/tandem/examples/gallery/bug"
)

var pipelineBugs = []bug.Bug{
	{
		Name: "ferret", Class: order, Shows: bug.Assertion,
		Doc:   "goroutines of a stage count themselves when they begin; the next stage ends if none is left",
		Buggy: func() { pipeline(3, false) },
		Fixed: func() { pipeline(3, true) },
	},
	{
		Name: "ferret-10", Class: order, Shows: bug.Assertion,
		Doc:   "the same with ten goroutines in the stage",
		Buggy: func() { pipeline(10, false) },
		Fixed: func() { pipeline(10, true) },
	},
	{
		Name: "task-queue", Class: order, Shows: bug.Assertion,
		Doc:   "a worker is counted as idle before it has put the tasks into the queue that follow",
		Buggy: func() { tasks(func(p *pool, n int) { p.idle(); p.add(n) }) },
		Fixed: func() { tasks(func(p *pool, n int) { p.add(n); p.idle() }) },
	},
	{
		Name: "qsort-mt", Class: waiting, Shows: bug.Deadlock,
		Doc:   "work is handed to a sleeping worker without the lock under which it goes to sleep",
		Buggy: func() { sortInParallel((*sorter).hand) },
		Fixed: func() { sortInParallel((*sorter).handLocked) },
	},
}

// pipeline has a stage of several goroutines that each hand on two items, and a last stage. It has
// the bug unless all are counted beforehand. It shows if a goroutine begins when the others are
// done and the last stage has ended.
func pipeline(n int, countBefore bool) {
	var mu sync.Mutex
	changed := sync.NewCond(&mu)
	running, begun, items, received := 0, false, 0, 0
	if countBefore {
		running, begun = n, true
	}
	var stages sync.WaitGroup
	locked := func(do func()) {
		mu.Lock()
		defer mu.Unlock()
		do()
		changed.Broadcast()
	}
	for range n {
		stages.Go(func() {
			if !countBefore {
				locked(func() { running++; begun = true })
			}
			for range 2 {
				locked(func() { items++ })
			}
			locked(func() { running-- })
		})
	}
	stages.Go(func() {
		locked(func() {
			for !begun || running > 0 || items > 0 {
				if items == 0 {
					changed.Wait()
					continue
				}
				items--
				received++
			}
		})
	})
	stages.Wait()
	tandem.Assert(received == 2*n, received, " items have come through")
}

// pool is a queue of tasks, and the number of workers that are busy with one.
type pool struct {
	mu    sync.Mutex
	queue []int
	busy  int
}

// task takes one out of the queue, and counts the worker as busy. Over says that none will come.
func (p *pool) task() (size int, ok, over bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.queue) == 0 {
		return 0, false, p.busy == 0
	}
	size, p.queue = p.queue[0], p.queue[1:]
	p.busy++
	return size, true, false
}

// add puts the halves of a task into the queue.
func (p *pool) add(size int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if size > 1 {
		p.queue = append(p.queue, size/2, size/2)
	}
}

func (p *pool) idle() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy--
}

// tasks has two workers. The first task makes two of half the size. It has the bug if finish counts
// the worker as idle first. It shows if the other looks before the new tasks are in the queue.
func tasks(finish func(p *pool, size int)) {
	p := pool{queue: []int{2}}
	var late atomic.Bool
	var workers sync.WaitGroup
	for range 2 {
		workers.Go(func() {
			for range 6 { // with so many looks each execution ends
				size, ok, over := p.task()
				if over {
					late.Store(true)
					return
				}
				if ok {
					tandem.Assert(!late.Load(), "a task comes when a worker has left")
					finish(&p, size)
				}
			}
		})
	}
	workers.Wait()
}

// sorter is a worker that sleeps until it has a part to sort.
type sorter struct {
	mu   sync.Mutex
	wake *sync.Cond
	part atomic.Pointer[[]int]
}

// hand has the bug. It shows if the worker has seen that there is no work, and is not yet asleep.
func (s *sorter) hand(part []int) {
	s.part.Store(&part)
	s.wake.Signal()
}

func (s *sorter) handLocked(part []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hand(part)
}

func (s *sorter) run(done *sync.WaitGroup) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.part.Load() == nil {
		s.wake.Wait()
	}
	bubble(*s.part.Load())
	done.Done()
}

// bubble sorts a few numbers.
func bubble(part []int) {
	for n := len(part); n > 1; n-- {
		for i := 1; i < n; i++ {
			if part[i] < part[i-1] {
				part[i-1], part[i] = part[i], part[i-1]
			}
		}
	}
}

func sortInParallel(hand func(*sorter, []int)) {
	numbers := []int{8, 3, 5, 1, 7, 2, 6, 4}
	var done sync.WaitGroup
	for part := range 2 {
		s := &sorter{}
		s.wake = sync.NewCond(&s.mu)
		done.Add(1)
		go s.run(&done)
		hand(s, numbers[4*part:4*part+4])
	}
	done.Wait()
}

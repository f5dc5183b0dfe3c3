package mixed

import (
	"errors"
	"sync"

	"github.com/tandem-mc/tandem/examples/gallery/bug"
)

const channelAndGroup = "blocking: mixed, channel and WaitGroup"

var groupBugs = []bug.Bug{
	{
		Name: "wait-before-drain", Class: channelAndGroup, Shows: bug.Deadlock,
		Doc:   "the results of a group are received when it is done, and to be done it has to send them",
		Buggy: func() { hashFiles(waitThenReceive) },
		Fixed: func() { hashFiles(receiveWhileWaiting) },
	},
	{
		Name: "room-for-one-error", Class: channelAndGroup, Shows: bug.Deadlock,
		Doc:   "the channel for errors has room for one, which is not enough on a bad day",
		Buggy: func() { copyFiles(make(chan error, 1)) },
		Fixed: func() { copyFiles(make(chan error, files)) },
	},
	{
		Name: "stop-from-inside", Class: channelAndGroup, Shows: bug.Deadlock,
		Doc:   "a worker that meets an error stops its pool, which waits for all workers",
		Buggy: func() { runPool((*pool).stop) },
		Fixed: func() { runPool((*pool).stopSoon) },
	},
	{
		Name: "flush-after-stop", Class: channelAndGroup, Shows: bug.Deadlock,
		Doc:   "a flush waits for a writer that has ended in the meantime",
		Buggy: func() { flushWhileStopping((*writer).flush) },
		Fixed: func() { flushWhileStopping((*writer).flushUnlessStopped) },
	},
}

const files = 2

// waitThenReceive has the bug: without a buffer, nobody is done before it receives.
func waitThenReceive(group *sync.WaitGroup, sums <-chan int, _ func()) {
	group.Wait()
	for range files {
		<-sums
	}
}

// receiveWhileWaiting lets another goroutine wait.
func receiveWhileWaiting(group *sync.WaitGroup, sums <-chan int, close func()) {
	go func() {
		group.Wait()
		close()
	}()
	for range sums {
		continue
	}
}

func hashFiles(finish func(group *sync.WaitGroup, sums <-chan int, close func())) {
	var group sync.WaitGroup
	sums := make(chan int)
	for file := range files {
		group.Go(func() { sums <- file * file })
	}
	finish(&group, sums, func() { close(sums) })
}

// copyFiles leaves the channel to the copiers. All of them may fail.
func copyFiles(failures chan error) {
	var group sync.WaitGroup
	for range files {
		group.Go(func() { failures <- errors.New("no space left on device") })
	}
	group.Wait()
	<-failures
}

// pool is a pool of workers.
type pool struct {
	workers sync.WaitGroup
	once    sync.Once
	quit    chan struct{}
}

func (p *pool) end() { p.once.Do(func() { close(p.quit) }) }

// stop has the bug, if a worker calls it: that worker is among those that it
// waits for.
func (p *pool) stop() {
	p.end()
	p.workers.Wait()
}

// stopSoon leaves waiting to the owner of the pool.
func (p *pool) stopSoon() { p.end() }

func runPool(fail func(*pool)) {
	p := pool{quit: make(chan struct{})}
	p.workers.Go(func() { fail(&p) })
	p.workers.Go(func() { <-p.quit })
	p.workers.Wait()
}

// writer writes what it is sent, until it is stopped.
type writer struct {
	flushes chan chan struct{}
	quit    chan struct{}
}

func (w *writer) run() {
	for {
		select {
		case done := <-w.flushes:
			close(done)
		case <-w.quit:
			return
		}
	}
}

// flush has the bug: the writer may be gone.
func (w *writer) flush() {
	done := make(chan struct{})
	w.flushes <- done
	<-done
}

// flushUnlessStopped is content with a writer that is gone. One that has taken
// the request answers it.
func (w *writer) flushUnlessStopped() {
	done := make(chan struct{})
	select {
	case w.flushes <- done:
		<-done
	case <-w.quit:
	}
}

func flushWhileStopping(flush func(*writer)) {
	w := writer{flushes: make(chan chan struct{}), quit: make(chan struct{})}
	var users sync.WaitGroup
	users.Go(w.run)
	users.Go(func() { flush(&w) })
	close(w.quit)
	users.Wait()
}

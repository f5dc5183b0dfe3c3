package channels

import (
	"sync"

	"github.com/tandem-mc/tandem"
	"github.com/tandem-mc/tandem/examples/gallery/bug"
)

const selecting = "blocking: select"

var selectBugs = []bug.Bug{
	{
		Name: "lost-notification", Class: selecting, Shows: bug.Deadlock,
		Doc:   "a notification is sent with default, and is lost where its receiver is not there yet",
		Buggy: func() { notifyOnce(make(chan struct{})) },
		Fixed: func() { notifyOnce(make(chan struct{}, 1)) },
	},
	{
		Name: "send-without-quit", Class: selecting, Shows: bug.Deadlock,
		Doc:   "a worker can be stopped while it waits for work, but not while it delivers some",
		Buggy: func() { stopWorker(deliver) },
		Fixed: func() { stopWorker(deliverOrQuit) },
	},
	{
		Name: "merge-never-ends", Class: selecting, Shows: bug.Deadlock,
		Doc:   "a merge sets inputs that are closed to nil, and then selects from nothing but nil",
		Buggy: func() { mergeTwo(func(a, b <-chan int) bool { return true }) },
		Fixed: func() { mergeTwo(func(a, b <-chan int) bool { return a != nil || b != nil }) },
	},
	{
		Name: "quit-to-one", Class: selecting, Shows: bug.Deadlock,
		Doc:   "quit is sent, which reaches one of two workers, and not closed, which reaches both",
		Buggy: func() { stopAll(func(quit chan struct{}) { quit <- struct{}{} }) },
		Fixed: func() { stopAll(func(quit chan struct{}) { close(quit) }) },
	},
	{
		Name: "work-after-stop", Class: "non-blocking: select", Shows: bug.Assertion,
		Doc:   "of a stop and a job that are both ready, select takes either",
		Buggy: func() { stopAtOnce(nextJob) },
		Fixed: func() { stopAtOnce(nextJobUnlessStopped) },
	},
}

// notifyOnce has a waiter that is told of a change. A buffer of one keeps the
// notification for it; that there is one already is all that a second would say.
func notifyOnce(changed chan struct{}) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		<-changed
	}()
	select {
	case changed <- struct{}{}:
	default: // it knows already
	}
	<-done
}

// deliver has the bug: where quit comes during the send, nobody receives.
func deliver(in <-chan int, out chan<- int, quit <-chan struct{}) {
	for {
		select {
		case n := <-in:
			out <- n
		case <-quit:
			return
		}
	}
}

// deliverOrQuit can be stopped wherever it waits.
func deliverOrQuit(in <-chan int, out chan<- int, quit <-chan struct{}) {
	for {
		select {
		case n := <-in:
			select {
			case out <- n:
			case <-quit:
				return
			}
		case <-quit:
			return
		}
	}
}

func stopWorker(work func(in <-chan int, out chan<- int, quit <-chan struct{})) {
	in, out, quit := make(chan int, 1), make(chan int), make(chan struct{})
	var worker sync.WaitGroup
	worker.Go(func() { work(in, out, quit) })
	in <- 1 // and nobody is interested in what becomes of it
	close(quit)
	worker.Wait()
}

// mergeTwo merges two channels, as long as more says so.
func mergeTwo(more func(a, b <-chan int) bool) {
	a, b, merged := numbers(1), numbers(2), make(chan int)
	go func() {
		defer close(merged)
		for more(a, b) {
			select {
			case n, ok := <-a:
				a = forward(merged, a, n, ok)
			case n, ok := <-b:
				b = forward(merged, b, n, ok)
			}
		}
	}()
	for range merged {
		continue
	}
}

func numbers(list ...int) <-chan int {
	c := make(chan int, len(list))
	for _, n := range list {
		c <- n
	}
	close(c)
	return c
}

// forward passes a number on, and returns the channel to go on with: none when
// this one was closed.
func forward(merged chan<- int, from <-chan int, n int, ok bool) <-chan int {
	if !ok {
		return nil
	}
	merged <- n
	return from
}

func stopAll(stop func(quit chan struct{})) {
	quit := make(chan struct{})
	var workers sync.WaitGroup
	for range 2 {
		workers.Go(func() { <-quit })
	}
	stop(quit)
	workers.Wait()
}

// nextJob has the bug: select knows no priorities.
func nextJob(jobs <-chan int, stop <-chan struct{}) bool {
	select {
	case <-stop:
		return false
	case <-jobs:
		return true
	}
}

// nextJobUnlessStopped looks at stop again when it has a job.
func nextJobUnlessStopped(jobs <-chan int, stop <-chan struct{}) bool {
	select {
	case <-stop:
		return false
	case <-jobs:
	}
	select {
	case <-stop:
		return false
	default:
		return true
	}
}

// stopAtOnce stops a worker before it gives it the only job.
func stopAtOnce(next func(jobs <-chan int, stop <-chan struct{}) bool) {
	jobs, stop := make(chan int, 1), make(chan struct{})
	var worker sync.WaitGroup
	worker.Go(func() {
		for next(jobs, stop) {
			tandem.Assert(false, "a job was begun after the stop")
		}
	})
	close(stop)
	jobs <- 1
	worker.Wait()
}

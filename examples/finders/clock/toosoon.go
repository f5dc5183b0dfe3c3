package clock

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/tandem-mc/tandem"
	"github.com/tandem-mc/tandem/examples/gallery/bug"
)

var tooSoonBugs = []bug.Bug{
	{
		Name: "timer-1ns", Class: tooSoon, Shows: bug.Assertion,
		Doc:   "a timer of a nanosecond closes what the goroutine that set it still works with",
		Buggy: func() { workBeside(time.Nanosecond, (*session).use) },
		Fixed: func() { workBeside(time.Nanosecond, (*session).useIfOpen) },
	},
	{
		Name: "sleep-before-second", Class: tooSoon, Shows: bug.Panic,
		Doc:   "after a millisecond of sleep a second goroutine starts, and the first is taken to be ready",
		Buggy: func() { startSecond(func(<-chan bool) { time.Sleep(time.Millisecond) }) },
		Fixed: func() { startSecond(func(ready <-chan bool) { <-ready }) },
	},
	{
		Name: "time-out-path", Class: tooSoon, Shows: bug.Panic,
		Doc:   "a result that comes after the time-out is sent to a channel that was closed at the time-out",
		Buggy: func() { request(true) },
		Fixed: func() { request(false) },
	},
	{
		Name: "ticker-busy-loop", Class: tooSoon, Shows: bug.Assertion,
		Doc:   "a ticker reports progress in the middle of a step of a busy loop",
		Buggy: func() { busy((*progress).step) },
		Fixed: func() { busy((*progress).stepLocked) },
	},
	{
		Name: "two-sleeps", Class: tooSoon, Shows: bug.Assertion,
		Doc:   "of two goroutines the one that sleeps for longer is taken to be the later one",
		Buggy: func() { sleepInOrder(false) },
		Fixed: func() { sleepInOrder(true) },
	},
}

// session is closed by a timer.
type session struct{ closed, uses atomic.Int32 }

// use has the bug. It shows if the timer fires before the work is done.
func (s *session) use() { tandem.Assert(s.closed.Load() == 0, "a closed session is used") }

func (s *session) useIfOpen() {
	if s.closed.Load() == 0 {
		s.uses.Add(1)
	}
}

func workBeside(d time.Duration, use func(*session)) {
	var s session
	timer := time.AfterFunc(d, func() { s.closed.Store(1) })
	for range 3 {
		use(&s)
	}
	timer.Stop()
}

// startSecond has the bug if wait does not wait for the first goroutine. It shows if the sleep is
// over before that has run.
func startSecond(wait func(ready <-chan bool)) {
	var table atomic.Pointer[[4]int]
	ready := make(chan bool, 1)
	go func() {
		table.Store(new([4]int))
		ready <- true
	}()
	wait(ready)
	_ = table.Load()[0]
}

// request has the bug if the channel is closed at a time-out. It shows if the time-out comes while
// the other goroutine computes, which takes no time here.
func request(closing bool) {
	answer := make(chan int, 1)
	var server sync.WaitGroup
	server.Go(func() {
		var sum atomic.Int32
		for i := range int32(3) {
			sum.Add(i)
		}
		answer <- int(sum.Load())
	})
	select {
	case <-answer:
	case <-time.After(time.Second):
		if closing {
			close(answer)
		}
	}
	server.Wait()
}

// progress is what a busy loop has done: both numbers are always equal, or should be.
type progress struct {
	mu         sync.Mutex
	read, done atomic.Int32
}

// step has the bug. It shows if the ticker ticks between the two.
func (p *progress) step() {
	p.read.Add(1)
	p.done.Add(1)
}

func (p *progress) stepLocked() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.step()
}

func (p *progress) report() {
	p.mu.Lock()
	defer p.mu.Unlock()
	read, done := p.read.Load(), p.done.Load()
	tandem.Assert(read == done, read, " are read, and ", done, " are done")
}

func busy(step func(*progress)) {
	var p progress
	ticker := time.NewTicker(time.Second)
	stop := make(chan bool)
	var reporter sync.WaitGroup
	reporter.Go(func() {
		for {
			select {
			case <-ticker.C:
				p.report()
			case <-stop:
				return
			}
		}
	})
	for range 20 {
		step(&p)
	}
	ticker.Stop()
	close(stop)
	reporter.Wait()
}

// sleepInOrder has the bug unless the second goroutine waits for the first. It shows if that is
// held up before it sleeps, or after.
func sleepInOrder(waiting bool) {
	var last atomic.Int32
	first := make(chan bool, 2)
	var sleepers sync.WaitGroup
	for n := int32(1); n <= 2; n++ {
		sleepers.Go(func() {
			time.Sleep(time.Duration(n) * time.Second)
			if waiting && n == 2 {
				<-first
			}
			last.Store(n)
			first <- true
		})
	}
	sleepers.Wait()
	tandem.Assert(last.Load() == 2, "the one that sleeps for one second was the last")
}

package clock

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/tandem-mc/tandem/examples/gallery/bug"
)

var leftBehindBugs = []bug.Bug{
	{
		Name: "asleep-at-return", Class: leftBehind, Shows: bug.Leak,
		Doc:   "a goroutine sleeps when main returns, and when it wakes nobody takes its result",
		Buggy: func() { returnBefore(0) },
		Fixed: func() { returnBefore(1) },
	},
	{
		Name: "asleep-then-panic", Class: leftBehind, Shows: bug.Panic,
		Doc:   "a goroutine sleeps while main works, and wakes when what it needs is closed",
		Buggy: func() { closeBefore(false) },
		Fixed: func() { closeBefore(true) },
	},
	{
		Name: "timer-loop", Class: leftBehind, Shows: bug.Leak,
		Doc:   "a goroutine polls once a second, and nothing ever stops it",
		Buggy: func() { poll(nil) },
		Fixed: func() { poll(make(chan bool)) },
	},
	{
		Name: "ticker-loop", Class: leftBehind, Shows: bug.Leak,
		Doc:   "a goroutine waits for each tick of a ticker that nobody stops",
		Buggy: func() { tick(nil) },
		Fixed: func() { tick(make(chan bool)) },
	},
}

// returnBefore has the bug if there is no room for the result. It shows in each order, as soon as
// time goes on when main has returned.
func returnBefore(room int) {
	result := make(chan int, room)
	go func() {
		time.Sleep(time.Second)
		result <- 1
	}()
}

// closeBefore has the bug unless it waits. It shows if the sleep ends before main does: that works
// after it has closed the channel.
func closeBefore(wait bool) {
	results := make(chan int, 1)
	var sender sync.WaitGroup
	sender.Go(func() {
		time.Sleep(time.Millisecond)
		results <- 1
	})
	if wait {
		sender.Wait()
	}
	close(results)
	var work atomic.Int32
	for range 3 {
		work.Add(1)
	}
}

// poll has the bug if there is nothing to stop it by.
func poll(stop chan bool) {
	var polls atomic.Int32
	var poller sync.WaitGroup
	poller.Go(func() {
		for {
			select {
			case <-time.After(time.Second):
				polls.Add(1)
			case <-stop:
				return
			}
		}
	})
	if stop != nil {
		close(stop)
		poller.Wait()
	}
}

// tick has the bug if there is nothing to stop it by.
func tick(stop chan bool) {
	ticker := time.NewTicker(time.Second)
	var ticks atomic.Int32
	var counter sync.WaitGroup
	counter.Go(func() {
		for {
			select {
			case <-ticker.C:
				ticks.Add(1)
			case <-stop:
				return
			}
		}
	})
	if stop != nil {
		ticker.Stop()
		close(stop)
		counter.Wait()
	}
}

// Package long has programs with some thousand steps, of which few matter for the bug. A search
// that goes back from the end has to undo the rest first.
package long

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/tandem-mc/tandem"
	"github.com/tandem-mc/tandem/examples/gallery/bug"
)

// steps is how often each goroutine does its work.
const steps = 300

// Bugs are the programs of this package.
func Bugs() []bug.Bug {
	list := []bug.Bug{
		{
			Name: "long-before", Class: "atomicity violation", Shows: bug.Assertion,
			Doc:   "two goroutines draw the same number at their beginning, and then work for long",
			Buggy: func() { number(0, drawTwice) },
			Fixed: func() { number(0, draw) },
		},
		{
			Name: "long-after", Class: "atomicity violation", Shows: bug.Assertion,
			Doc:   "two goroutines work for long, and then draw the same number",
			Buggy: func() { number(steps, drawTwice) },
			Fixed: func() { number(steps, draw) },
		},
		{
			Name: "long-amid", Class: "atomicity violation", Shows: bug.Assertion,
			Doc:   "two goroutines draw the same number in the middle of long work",
			Buggy: func() { number(steps/2, drawTwice) },
			Fixed: func() { number(steps/2, draw) },
		},
		{
			Name: "long-handover", Class: "missed or missing wake-up", Shows: bug.Deadlock,
			Doc:   "a stop is offered once, after many messages, and the receiver may not wait yet",
			Buggy: func() { stream(0) },
			Fixed: func() { stream(1) },
		},
	}
	for _, wrong := range []int{0, steps - 1} {
		list = append(list, bug.Bug{
			Name: fmt.Sprintf("long-locks-%d", wrong), Class: "lock order", Shows: bug.Deadlock,
			Doc:   fmt.Sprintf("two locks are taken often, and in the wrong order the time number %d", wrong),
			Buggy: func() { lockOften(wrong) },
			Fixed: func() { lockOften(-1) },
		})
	}
	return list
}

// draw takes the next number.
func draw(last *atomic.Int32) int32 { return last.Add(1) }

// drawTwice has the bug. It shows if another goroutine draws between the two steps.
func drawTwice(last *atomic.Int32) int32 {
	last.Add(1)
	return last.Load()
}

// number has two goroutines that each increase a common counter many times, and draw a number after
// some of that.
func number(at int, draw func(*atomic.Int32) int32) {
	var last, work atomic.Int32
	var numbers [2]int32
	var users sync.WaitGroup
	for id := range numbers {
		users.Go(func() {
			for i := range steps + 1 {
				if i == at {
					numbers[id] = draw(&last)
				}
				work.Add(1)
			}
		})
	}
	users.Wait()
	tandem.Assert(numbers[0] != numbers[1], "both have drawn ", numbers[0])
}

// stream has a receiver of many messages, and a goroutine that tells it to stop. It has the bug if
// a stop is not kept. It shows if the receiver does not wait when the stop is offered.
func stream(kept int) {
	messages, stop := make(chan int), make(chan bool, kept)
	var users sync.WaitGroup
	users.Go(func() {
		for range steps {
			messages <- 1
		}
		select {
		case stop <- true:
		default:
		}
	})
	users.Go(func() {
		for sum := 0; ; {
			select {
			case n := <-messages:
				sum += n
			case <-stop:
				return
			}
		}
	})
	users.Wait()
}

// lockOften has two goroutines that take two locks many times. One of them does it once in the
// wrong order. It shows if each has its first lock then.
func lockOften(wrong int) {
	var locks [2]sync.Mutex
	sum := 0
	var users sync.WaitGroup
	for id := range 2 {
		users.Go(func() {
			for i := range steps {
				first, second := &locks[0], &locks[1]
				if id == 1 && i == wrong {
					first, second = second, first
				}
				first.Lock()
				second.Lock()
				sum++
				second.Unlock()
				first.Unlock()
			}
		})
	}
	users.Wait()
}

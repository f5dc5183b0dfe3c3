package clock

import (
	"sync"
	"time"

	"github.com/tandem-mc/tandem/examples/gallery/bug"
)

var idleBugs = []bug.Bug{
	{
		Name: "idle-ticker-deadlock", Class: idle, Shows: bug.Deadlock,
		Doc:   "two goroutines take two locks in opposite orders, beside a ticker that nobody reads",
		Buggy: func() { defer unread().Stop(); crossed(true) },
		Fixed: func() { defer unread().Stop(); crossed(false) },
	},
	{
		Name: "idle-ticker-leak", Class: idle, Shows: bug.Leak,
		Doc:   "a goroutine waits for a value that nobody sends, beside a ticker that nobody reads",
		Buggy: func() { defer unread().Stop(); receiveOne(false) },
		Fixed: func() { defer unread().Stop(); receiveOne(true) },
	},
	{
		Name: "running-ticker-leak", Class: idle, Shows: bug.Leak,
		Doc:   "the same, and the ticker is not stopped when main returns",
		Buggy: func() { unread(); receiveOne(false) },
		Fixed: func() { unread(); receiveOne(true) },
	},
	{
		Name: "heartbeat-deadlock", Class: idle, Shows: bug.Deadlock,
		Doc:   "the same locks, beside a timer whose function only sets it anew",
		Buggy: func() { beat(); crossed(true) },
		Fixed: func() { beat(); crossed(false) },
	},
}

func unread() *time.Ticker { return time.NewTicker(time.Second) }

// beat starts a timer that goes on for ever and changes nothing.
func beat() {
	var again func()
	again = func() { time.AfterFunc(time.Second, again) }
	again()
}

// crossed has the bug if the locks are taken crosswise. It shows if each goroutine has its first.
func crossed(wrong bool) {
	var locks [2]sync.Mutex
	users, both := sync.WaitGroup{}, 0
	for id := range 2 {
		first, second := &locks[0], &locks[1]
		if wrong && id == 1 {
			first, second = second, first
		}
		users.Go(func() {
			first.Lock()
			defer first.Unlock()
			second.Lock()
			defer second.Unlock()
			both++
		})
	}
	users.Wait()
}

// receiveOne has the bug if nothing is sent. It shows in every order.
func receiveOne(send bool) {
	values := make(chan int)
	go func() { <-values }()
	if send {
		values <- 1
	}
}

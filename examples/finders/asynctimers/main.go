// Command asynctimers has programs whose module asks for the timers of Go 1.22 and older. There, a
// ticker that nobody reads is still a timer that is due. It hides a deadlock and a leak:
//
//	tandem check . -- async-ticker-deadlock [-fixed]
//	tandem check . --leaks -- async-ticker-leak [-fixed]
//
// It is ../clock/idle.go with the timers of a Go before 1.23: those follow from the go line in the
// go.mod of the main module, so that this is a module of its own.
package main

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"time"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: asynctimers async-ticker-deadlock|async-ticker-leak [-fixed]")
		os.Exit(2)
	}
	fixed := slices.Contains(os.Args[2:], "-fixed")
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	switch os.Args[1] {
	case "async-ticker-deadlock":
		crossed(!fixed)
	case "async-ticker-leak":
		receiveOne(fixed)
	default:
		fmt.Fprintf(os.Stderr, "%q is no program of asynctimers\n", os.Args[1])
		os.Exit(2)
	}
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
		users.Add(1)
		go func() {
			defer users.Done()
			first.Lock()
			defer first.Unlock()
			second.Lock()
			defer second.Unlock()
			both++
		}()
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

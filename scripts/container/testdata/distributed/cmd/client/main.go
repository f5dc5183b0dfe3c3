// Command client has goroutines that take a lock in turns, for a search that takes a while. After
// its first argument there is one for each goroutine: how often it takes the lock. If they take it
// in the order of the first argument, there is a deadlock.
package main

import (
	"os"
	"strconv"
	"sync"
)

func main() {
	var lock sync.Mutex
	var group sync.WaitGroup
	order := ""
	for goroutine, times := range os.Args[2:] {
		n, err := strconv.Atoi(times)
		if err != nil {
			panic(err)
		}
		group.Go(func() {
			for range n {
				lock.Lock()
				order += strconv.Itoa(goroutine)
				lock.Unlock()
			}
		})
	}
	group.Wait()
	if order == os.Args[1] {
		lock.Lock()
		lock.Lock()
	}
}

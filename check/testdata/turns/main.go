// Turns has some goroutines take a mutex some times each, and fails if they take it in one given order:
//
//	turns GOROUTINES TIMES [ORDER]
//
// where ORDER is such as 0011.
package main

import (
	"os"
	"strconv"
	"sync"
)

func main() {
	goroutines, _ := strconv.Atoi(os.Args[1])
	times, _ := strconv.Atoi(os.Args[2])
	var mu sync.Mutex
	var all sync.WaitGroup
	order := ""
	for i := range goroutines {
		all.Go(func() {
			for range times {
				mu.Lock()
				order += strconv.Itoa(i)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if len(os.Args) > 3 && order == os.Args[3] {
		panic("the order is " + order)
	}
}

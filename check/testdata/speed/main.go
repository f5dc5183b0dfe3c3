// Command speed is what whole checks are timed with. The first argument names a program,
// the second is its size.
package main

import (
	"os"
	"strconv"
	"sync"
	"sync/atomic"
)

func main() {
	n, err := strconv.Atoi(os.Args[2])
	if err != nil {
		panic(err)
	}
	map[string]func(int){"lastzero": lastZero, "deep": deep, "many": many}[os.Args[1]](n)
}

// lastZero has n goroutines that each set one element of an array to one more than the
// element before, and one that looks for the last element that is zero (Abdulla, Aronis,
// Jonsson, Sagonas, POPL 2014).
func lastZero(n int) {
	array := make([]atomic.Int32, n+1)
	go func() {
		i := n
		for array[i].Load() != 0 {
			i--
		}
	}()
	for i := 1; i <= n; i++ {
		go func() { array[i].Store(array[i-1].Load() + 1) }()
	}
}

// deep has executions of n transitions and a few more, of goroutines that race.
func deep(n int) {
	var private atomic.Int32
	for range n {
		private.Add(1)
	}
	race()
}

// race has five goroutines that can run in 120 orders.
func race() {
	var common atomic.Int32
	for range 5 {
		go func() { common.Add(1) }()
	}
}

// many has n goroutines, of which each has a mutex of its own, and five more that race.
func many(n int) {
	for range n {
		go func() {
			var own sync.Mutex
			own.Lock()
			own.Unlock()
		}()
	}
	race()
}

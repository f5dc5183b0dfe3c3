// Package forks has dining philosophers in numbers at which no search gets through all orders.
package forks

import (
	"fmt"
	"sync"

	"github.com/tandem-mc/tandem/examples/gallery/bug"
)

// Bugs are the programs of this package.
func Bugs() (list []bug.Bug) {
	for _, n := range []int{5, 50, 200, 600} {
		list = append(list, bug.Bug{
			Name: fmt.Sprintf("philosophers-%d", n), Class: "lock order", Shows: bug.Deadlock,
			Doc:   fmt.Sprintf("all %d take the fork of their own first, which makes a circle", n),
			Buggy: func() { dine(n, n-1, 0) },
			Fixed: func() { dine(n, 0, n-1) },
		})
	}
	return list
}

// dine has philosophers with two forks each, which they take in turn. The last one takes those that
// are given. It has the bug if the first of them is its own: all wait if each has its first fork.
func dine(n, first, second int) {
	forks := make([]sync.Mutex, n)
	var guests sync.WaitGroup
	meals := make([]int, n)
	eat := func(guest, first, second int) {
		forks[first].Lock()
		defer forks[first].Unlock()
		forks[second].Lock()
		defer forks[second].Unlock()
		meals[guest]++
	}
	for i := range n - 1 {
		guests.Go(func() { eat(i, i, i+1) })
	}
	guests.Go(func() { eat(n-1, first, second) })
	guests.Wait()
}

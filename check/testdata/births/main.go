// Command births runs components that have nothing to do with each other, each with objects that are made on the way.
// Its arguments are the scripts of a component, and of a goroutine that it starts, and how many components there are.
package main

import (
	"os"
	"strconv"
	"sync"
)

// component is what its goroutines know.
type component struct {
	first *sync.Mutex
	made  int
}

// makeMutex makes a mutex, each time in another kind of memory.
func (c *component) makeMutex() *sync.Mutex {
	switch c.made++; c.made % 5 {
	case 0:
		return &(&struct {
			next  *component
			space [600]*component // too large for the bits of a span
			sync.Mutex
		}{}).Mutex
	case 1:
		return new(sync.Mutex)
	case 2:
		return &(&struct {
			next *component
			sync.Mutex
		}{}).Mutex
	case 3:
		return &make([]sync.Mutex, 3+c.made)[1]
	}
	return &(&struct {
		space [40_000]byte // a span of its own
		sync.Mutex
	}{}).Mutex
}

func touch(m *sync.Mutex) {
	m.Lock()
	m.Unlock()
}

// deferring needs memory of the runtime's own, as many calls as are deferred.
func deferring(n int) {
	for range n {
		defer func() {}()
	}
}

// run follows a script: n makes a mutex, l locks the last one, f the first one of the component, d defers calls,
// c hands something over to another goroutine, g starts the helper.
func (c *component) run(script, helper string, last *sync.Mutex, wait *sync.WaitGroup) {
	for _, letter := range script {
		switch letter {
		case 'n':
			last = c.makeMutex()
		case 'l':
			touch(last)
		case 'f':
			touch(c.first)
		case 'd':
			deferring(3)
		case 'c':
			values := make(chan int)
			wait.Go(func() { values <- 1 })
			<-values
		case 'g':
			m := last
			wait.Go(func() { (&component{first: c.first}).run(helper, "", m, wait) })
		}
	}
}

func main() {
	n, err := strconv.Atoi(os.Args[3])
	if err != nil {
		panic(err)
	}
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			var wait sync.WaitGroup
			m := new(sync.Mutex)
			(&component{first: m}).run(os.Args[1], os.Args[2], m, &wait)
			wait.Wait()
		})
	}
	all.Wait()
}

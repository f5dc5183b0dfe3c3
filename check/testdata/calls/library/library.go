// Package library is sealed. Each of its functions performs operations, and most do something
// unusual with the stack then.
package library

import (
	"runtime"
	"strings"
	"sync"
)

// Counter is shared by goroutines.
type Counter struct {
	mu sync.Mutex
	n  int
}

// Get is one operation and another.
//
//go:noinline
func (c *Counter) Get() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

// Set is too.
//
//go:noinline
func (c *Counter) Set(n int) {
	c.mu.Lock()
	c.n = n
	c.mu.Unlock()
}

// Increment is both, in one call.
//
//go:noinline
func (c *Counter) Increment() { c.Set(c.Get() + 1) }

// Results returns as much in registers as fits, and more.
func (c *Counter) Results() (a, b, d, e, f, g, h, i, j, k int, u, v, w, x float64, s string, err error) {
	n := c.Get()
	return n + 1, n + 2, n + 3, n + 4, n + 5, n + 6, n + 7, n + 8, n + 9, n + 10, 0.5, 1.5, 2.5, 3.5, "text", nil
}

// Call calls back between two operations.
func (c *Counter) Call(f func(int)) {
	n := c.Get()
	f(n)
	c.Set(n + 1)
}

// Serve has a goroutine of the library call a handler, and perform an operation after it.
func (c *Counter) Serve(handler func()) (ended chan bool) {
	ended = make(chan bool)
	go func() {
		handler()
		c.Set(7)
		close(ended)
	}()
	return ended
}

// Grow uses much stack after an operation.
func (c *Counter) Grow(depth int) int {
	if depth == 0 {
		return c.Get()
	}
	var room [512]int
	room[depth%512] = c.Get()
	return c.Grow(depth-1) + room[depth%512]
}

// Collect has garbage collected, which makes stacks smaller.
func (c *Counter) Collect() int {
	n := c.Get()
	runtime.GC()
	return n
}

// Panic panics after an operation.
func (c *Counter) Panic(what any) {
	c.Get()
	panic(what)
}

// Recover calls back, and what panics there ends here.
func (c *Counter) Recover(f func()) (what any) {
	c.Get()
	defer func() {
		what = recover()
		c.Get()
	}()
	f()
	return nil
}

// Exit ends the goroutine after an operation.
func (c *Counter) Exit() {
	c.Get()
	runtime.Goexit()
}

// Callers are the functions around, after an operation.
func (c *Counter) Callers() string {
	c.Get()
	pcs := make([]uintptr, 30)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	var names []string
	for {
		frame, more := frames.Next()
		if strings.HasPrefix(frame.Function, "main.") || strings.Contains(frame.Function, "library.") {
			names = append(names, frame.Function)
		}
		if !more {
			return strings.Join(names, " < ")
		}
	}
}

// Stack tells whether what is printed of the stack names a function, after an operation.
func (c *Counter) Stack(function string) bool {
	c.Get()
	buffer := make([]byte, 1<<16)
	return strings.Contains(string(buffer[:runtime.Stack(buffer, false)]), function)
}

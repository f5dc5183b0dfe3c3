// Package counter counts, for the tests of jobs of continuous integration.
package counter

import "sync"

// Counter counts up. It may be used by several goroutines at the same time.
type Counter struct {
	mu sync.Mutex
	n  int
}

// Add adds one and returns the sum.
func (c *Counter) Add() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	return c.n
}

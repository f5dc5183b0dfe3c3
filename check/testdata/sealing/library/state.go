// Package library is sealed: goroutines are not preempted in it. Its operations are
// those of package main, from the same source.
package library

import (
	"sync"
	"sync/atomic"
)

// State is all that goroutines share.
type State struct {
	Mutexes  [2]sync.Mutex
	RW       sync.RWMutex
	Group    sync.WaitGroup
	Numbers  [2]atomic.Int32
	Channels [2]chan int
}

// Command asks goes wrong by what it asks the runtime and the environment for.
package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"
)

func main() {
	if strings.Contains(os.Args[1], "/") {
		swaps(strings.Split(os.Args[1], "/"))
		return
	}
	map[string]func(){"workers": workers, "limit": limit, "variable": variable, "announced": announced, "endless": endless, "set": set, "winners": winners, "spin": spin, "nowhere": nowhere, "caught": caught}[os.Args[1]]()
}

// workers are as many as there are processors. They lose an update.
func workers() {
	var n atomic.Int64
	var all sync.WaitGroup
	for range runtime.NumCPU() {
		all.Go(func() { n.Store(n.Load() + 1) })
	}
	all.Wait()
	if n.Load() != int64(runtime.NumCPU()) {
		panic("lost update")
	}
}

// limit has as many at a time as may run.
func limit() {
	var n, most atomic.Int64
	running := make(chan bool, runtime.GOMAXPROCS(0))
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			running <- true
			most.Store(max(most.Load(), n.Add(1)))
			n.Add(-1)
			<-running
		})
	}
	all.Wait()
	if most.Load() > 1 {
		panic("two at a time")
	}
}

// set holds: what was set is what there is.
func set() {
	if runtime.GOMAXPROCS(5) != runtime.NumCPU() || runtime.GOMAXPROCS(0) != 5 {
		panic("it was not set, or before the program began")
	}
	if runtime.SetDefaultGOMAXPROCS(); runtime.GOMAXPROCS(-1) != runtime.NumCPU() {
		panic("it was not set back")
	}
}

// variable is set by two.
func variable() {
	var all sync.WaitGroup
	for _, value := range []string{"a", "b"} {
		all.Go(func() {
			os.Setenv("X", value)
			if os.Getenv("X") != value {
				panic("somebody else's")
			}
		})
	}
	all.Wait()
}

// announced may be set already when it is read.
func announced() {
	done := make(chan bool)
	go func() {
		os.Setenv("X", "1")
		close(done)
	}()
	if _, ok := os.LookupEnv("X"); ok {
		panic("set already")
	}
	<-done
}

// swaps has a goroutine for each text: "01" swaps 0 for 1, "2" stores 2. It prints which have swapped, and what is left.
func swaps(texts []string) {
	var n atomic.Int32
	var all sync.WaitGroup
	found := make([]string, len(texts))
	for i, text := range texts {
		all.Go(func() {
			for word := range strings.FieldsSeq(text) {
				if len(word) == 2 {
					found[i] += fmt.Sprint(n.CompareAndSwap(int32(word[0]-'0'), int32(word[1]-'0')), " ")
				} else {
					n.Store(int32(word[0] - '0'))
				}
			}
		})
	}
	all.Wait()
	fmt.Println(found, n.Load())
}

// winners is who swaps first: one of four.
func winners() {
	var winner atomic.Int32
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() { winner.CompareAndSwap(0, int32(i+1)) })
	}
	all.Wait()
}

type spinLock struct{ held atomic.Uint32 }

func (s *spinLock) Lock() {
	for !s.held.CompareAndSwap(0, 1) {
		runtime.Gosched()
	}
}

// spin holds, where nobody waits too long.
func spin() {
	var lock spinLock
	var all sync.WaitGroup
	x := 0
	for range 2 {
		all.Go(func() {
			lock.Lock()
			x++
			lock.held.Store(0)
		})
	}
	all.Wait()
	if x != 2 {
		panic("lost update")
	}
}

type node struct{ next *node }

// String never ends.
func (n *node) String() string { return fmt.Sprintf("%v", n) }

func endless() {
	debug.SetMaxStack(16 << 20) // the usual gigabyte takes long to fill
	fmt.Println(&node{})
}

// nowhere swaps what there is not.
func nowhere() {
	var n *int32
	atomic.CompareAndSwapInt32(n, 0, 1)
}

// caught holds: to swap what there is not is a panic like any other.
func caught() {
	var n *int64
	var p *unsafe.Pointer
	for _, swap := range []func(){nowhere, func() { atomic.CompareAndSwapInt64(n, 0, 1) }, func() { atomic.CompareAndSwapPointer(p, nil, nil) }} {
		func() {
			defer func() {
				if recover() == nil {
					panic("nothing was swapped, and nobody told")
				}
			}()
			swap()
		}()
	}
}

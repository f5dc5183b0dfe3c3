// Command endings has small programs that leave goroutines behind, or loop. The
// first argument names one.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

var scenarios = map[string]func(){
	"send":                     func() { c := make(chan int); go func() { c <- 1 }() },
	"receive of a nil channel": func() { go func() { <-(chan int)(nil) }() },
	"select without arms":      func() { go func() { select {} }() },
	"lock":                     func() { var m sync.Mutex; m.Lock(); go func() { m.Lock() }() },
	"wait":                     func() { var wg sync.WaitGroup; wg.Add(1); go wg.Wait() },
	"cond":                     func() { c := sync.NewCond(new(sync.Mutex)); go func() { c.L.Lock(); c.Wait() }() },
	"wait group go":            func() { new(sync.WaitGroup).Go(func() { <-never }) },
	"after func":               func() { time.AfterFunc(time.Second, func() { <-never }); time.Sleep(time.Minute) },
	"exit":                     func() { go func() { <-never }(); os.Exit(0) },
	"grandchild":               func() { go func() { go func() { <-never }() }() },
	"abandoned":                abandoned,

	"ends":           func() { done := make(chan int); go func() { <-done }(); close(done) },
	"sleeps":         func() { go func() { time.Sleep(time.Hour) }() },
	"may be woken":   func() { c := make(chan int); time.AfterFunc(time.Hour, func() { close(c) }); go func() { <-c }() },
	"of a library":   func() { context.WithCancel(foreign{context.Background()}) },
	"signals":        func() { signal.Notify(make(chan os.Signal, 1), os.Interrupt) },
	"stopped timers": func() { time.NewTimer(time.Hour).Stop() },
	"buffered":       buffered,

	"spin on an atomic": func() { waitFor(func(done *atomic.Bool) bool { return done.Load() }) },
	"spin with Gosched": func() { waitFor(func(done *atomic.Bool) bool { runtime.Gosched(); return done.Load() }) },
	"spin with TryLock": func() {
		var m sync.Mutex
		m.Lock()
		go m.Unlock()
		for !m.TryLock() {
		}
	},
	"spin with a default":   spinWithDefault,
	"spin on a context":     spinOnContext,
	"two spinners":          twoSpinners,
	"poll a timer":          pollTimer,
	"spin until a timer":    spinUntilTimer,
	"gives up":              func() { n := 0; waitFor(func(done *atomic.Bool) bool { n++; return n > 9 || done.Load() }) },
	"panic or compute":      panicOrCompute,
	"no visible operations": func() { go compute(); <-never },
}

var never chan int

// A goroutine that package initialisation starts is there for the whole life of
// the program.
func init() { go func() { <-never }() }

func main() { scenarios[os.Args[1]]() }

// abandoned leaves a goroutine only if main gives up first.
func abandoned() {
	var late atomic.Bool
	result := make(chan int)
	go func() { result <- 1 }()
	go func() { late.Store(true) }()
	if !late.Load() {
		<-result
	}
}

// buffered is abandoned, put right.
func buffered() {
	var late atomic.Bool
	result := make(chan int, 1)
	go func() { result <- 1 }()
	go func() { late.Store(true) }()
	if !late.Load() {
		<-result
	}
}

// waitFor goes round until ready returns true; another goroutine sets done.
func waitFor(ready func(done *atomic.Bool) bool) {
	var done atomic.Bool
	go done.Store(true)
	for !ready(&done) {
	}
}

func spinWithDefault() {
	c := make(chan int)
	go close(c)
	for {
		select {
		case <-c:
			return
		default:
		}
	}
}

func spinOnContext() {
	ctx, cancel := context.WithCancel(context.Background())
	go cancel()
	for ctx.Err() == nil {
	}
}

// pollTimer looks again and again at a timer that nobody blocks for.
func pollTimer() {
	t := time.NewTimer(time.Second)
	for {
		select {
		case <-t.C:
			return
		default:
			runtime.Gosched()
		}
	}
}

func spinUntilTimer() {
	var done atomic.Bool
	time.AfterFunc(time.Second, func() { done.Store(true) })
	for !done.Load() {
	}
}

// twoSpinners wait for each other.
func twoSpinners() {
	var a, b atomic.Bool
	go func() {
		for !a.Load() {
		}
		b.Store(true)
	}()
	for !b.Load() {
	}
	a.Store(true)
}

// panicOrCompute fails if the other goroutine comes later, and else does not end.
func panicOrCompute() {
	var isLate atomic.Bool
	go isLate.Store(true)
	if isLate.Load() {
		compute()
	}
	panic("the other goroutine comes later")
}

var computed int

func compute() {
	for {
		computed++
	}
}

// foreign is a context that package context does not know, so that it needs a
// goroutine to watch it.
type foreign struct{ context.Context }

func (foreign) Done() <-chan struct{} { return make(chan struct{}) }

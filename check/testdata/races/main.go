// Command races has small programs with several outcomes. The first argument
// names one; it prints which outcome it had.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"weak"
)

var scenarios = map[string]func(){
	"rwmutex": rwmutex, "pool": pool, "select": selectOfTwo, "select over channels": selectOverChannels,
	"atomic.Value": atomicValue, "context error": contextError, "context after": contextAfter,
	"init": initialised, "timer": timer, "signal": signals,
	"spin": spin, "sync.Map": syncMap, "once": once, "cond": cond, "exit": exits,
	"writer between readers": writerBetweenReaders, "try to lock": tryToLock, "overtaken Add": overtakenAdd,
	"unlocked": unlocked, "collect": collect, "many": many, "once functions": onceFunctions, "main leaves": mainLeaves,
	"threads": threads,
}

func main() { scenarios[os.Args[1]]() }

func rwmutex() {
	var rw sync.RWMutex
	text := ""
	for _, name := range []string{"v", "w"} {
		go func() { rw.Lock(); text += name; rw.Unlock() }()
	}
	rw.RLock()
	fmt.Print(text)
	rw.RUnlock()
}

// pool uses fmt, and with it sync.Pool, between operations that matter.
func pool() {
	var a, b sync.Mutex
	go func() { b.Lock(); _ = fmt.Sprint(1); b.Lock() }()
	go func() {
		b.Lock()
		_ = fmt.Sprint(2)
		b.Unlock()
		if b.TryLock() {
			_ = fmt.Sprint(3)
			if a.TryLock() {
				a.Unlock()
			}
			b.Unlock()
		}
	}()
	if a.TryLock() {
		_ = fmt.Sprint(4)
		a.Unlock()
		fmt.Print("free")
	} else {
		fmt.Print("taken")
	}
}

// selectOfTwo is woken by one of two goroutines that sleep equally long.
func selectOfTwo() {
	a, b := make(chan int, 1), make(chan int, 1)
	go func() { time.Sleep(time.Second); a <- 1 }()
	go func() { time.Sleep(time.Second); b <- 1 }()
	select {
	case <-a:
		fmt.Print("a")
	case <-b:
		fmt.Print("b")
	}
}

// selectOverChannels: who takes part in a select takes its other arms away.
func selectOverChannels() {
	a, b := make(chan int), make(chan int)
	go func() {
		select {
		case <-a:
		case <-b:
		}
	}()
	go func() {
		select {
		case b <- 1:
		default:
		}
	}()
	select {
	case a <- 1:
		fmt.Print("a")
	default:
		fmt.Print("-")
	}
}

func atomicValue() {
	var v atomic.Value
	go v.Store(1)
	fmt.Print(v.Load())
}

func contextError() {
	ctx, cancel := context.WithCancel(context.Background())
	go cancel()
	fmt.Print(ctx.Err())
}

func contextAfter() {
	ctx, cancel := context.WithCancel(context.Background())
	go cancel()
	stop := context.AfterFunc(ctx, func() {})
	fmt.Print(stop())
}

var (
	started atomic.Int32
	passed  = make(chan int, 1)
)

func init() {
	go func() {
		started.Store(1)
		passed <- 1
	}()
}

func initialised() {
	fmt.Print(started.Load())
	<-passed
}

func timer() {
	t := time.AfterFunc(time.Hour, func() {})
	stopped := make(chan bool)
	go func() { stopped <- t.Stop() }()
	fmt.Print(t.Stop(), <-stopped)
}

func signals() {
	c := make(chan os.Signal, 1)
	signal.Notify(c, os.Interrupt)
	defer signal.Stop(c)
	select {
	case <-c:
		fmt.Print("signal")
	case <-time.After(time.Second):
		fmt.Print("none")
	}
}

// spin waits in a loop for another goroutine.
func spin() {
	var ready atomic.Bool
	go ready.Store(true)
	turns := 0
	for !ready.Load() {
		turns = 1
	}
	fmt.Print(turns)
}

func syncMap() {
	var m sync.Map
	go m.LoadOrStore("key", 1)
	fmt.Print(m.LoadOrStore("key", 0))
}

func once() {
	var o sync.Once
	text := ""
	go o.Do(func() { text = "g" })
	o.Do(func() { text = "m" })
	fmt.Print(text)
}

// cond loses the signal if it comes too early.
func cond() {
	var m sync.Mutex
	c := sync.NewCond(&m)
	woken := make(chan bool)
	go func() { m.Lock(); c.Wait(); m.Unlock(); close(woken) }()
	c.Signal()
	select {
	case <-woken:
		fmt.Print("woken")
	case <-time.After(time.Second):
		fmt.Print("lost")
	}
}

func exits() {
	go func() { fmt.Print("x"); os.Exit(0) }()
	fmt.Print("y")
}

// writerBetweenReaders is a deadlock if the writer comes between the readers.
func writerBetweenReaders() {
	var rw sync.RWMutex
	go func() { rw.Lock(); rw.Unlock() }()
	rw.RLock()
	rw.RLock()
	rw.RUnlock()
	rw.RUnlock()
}

func tryToLock() {
	var rw sync.RWMutex
	done := make(chan bool)
	go func() {
		defer close(done)
		if rw.TryLock() {
			fmt.Print("w")
			rw.Unlock()
		}
	}()
	if rw.TryRLock() {
		fmt.Print("r")
		rw.RUnlock()
	}
	<-done
}

func overtakenAdd() {
	var wg sync.WaitGroup
	done := make(chan bool)
	go func() {
		defer close(done)
		defer func() { fmt.Print(recover()) }()
		wg.Done()
	}()
	wg.Add(1)
	<-done
}

func unlocked() {
	var m sync.Mutex
	go m.Unlock()
	m.Lock()
}

type thing struct {
	name string
	_    [64]byte
}

// collect has a finalizer and a cleanup, which run in goroutines of their own.
func collect() {
	said := make(chan string)
	w := forget(said)
	runtime.GC()
	fmt.Print(w.Value() == nil, <-said, <-said)
	var pool sync.Pool
	pool.Put(new(thing))
	runtime.GC() // a pool keeps things for one collection
	runtime.GC()
	fmt.Print(pool.Get())
}

//go:noinline
func forget(said chan string) weak.Pointer[thing] {
	a, b, c := &thing{name: "finalizer"}, new(thing), new(thing)
	runtime.SetFinalizer(a, func(t *thing) { said <- t.name })
	runtime.AddCleanup(b, func(s string) { said <- s }, "cleanup")
	w := weak.Make(c)
	if w.Value() != c {
		panic("a weak pointer has forgotten what it points to")
	}
	return w
}

// many has more goroutines than fit into a word, all there at once.
func many() {
	const n = 2000
	var wg sync.WaitGroup
	var passed atomic.Int32
	gate := make(chan bool)
	for range n {
		wg.Go(func() { <-gate; passed.Add(1) })
	}
	fmt.Print(runtime.NumGoroutine() > n)
	close(gate)
	wg.Wait()
	fmt.Print(passed.Load())
}

// onceFunctions panics again with the same value, however often it is called.
func onceFunctions() {
	f := sync.OnceValue(func() int { panic("no value") })
	for range 2 {
		func() {
			defer func() { fmt.Print(recover()) }()
			f()
		}()
	}
}

// mainLeaves is a deadlock when the other goroutine is done.
func mainLeaves() {
	go fmt.Print("last")
	runtime.Goexit()
}

func threads() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c := make(chan int)
	go func() { runtime.LockOSThread(); c <- 1 }()
	fmt.Print(<-c)
}

package main

import (
	"bufio"
	"context"
	"expvar"
	"io"
	"net"
	"os"
	"reflect"
	"sync"
	"sync/atomic"
	"time"
)

func init() {
	for name, h := range map[string]handover{
		"chan": func() (func(), func() bool) {
			c := make(chan int, 9)
			return sendAll(c), receive(c)
		},
		"chan struct{}": func() (func(), func() bool) {
			c := make(chan struct{})
			return func() { close(c) }, receive(c)
		},
		"chan len":                channelPoll,
		"select":                  selecting,
		"reflect.Select":          reflectSelect,
		"sync.Mutex":              func() (func(), func() bool) { return locked(&sync.Mutex{}) },
		"sync.Mutex.TryLock":      tryLocked,
		"sync.RWMutex":            func() (func(), func() bool) { return locked(&sync.RWMutex{}) },
		"sync.RWMutex.RLock":      readLocked,
		"sync.RWMutex.RLocker":    readLocker,
		"sync.Cond":               condition,
		"sync.WaitGroup":          waitGroup,
		"sync.WaitGroup.Go":       waitGroupGo,
		"sync.Once":               once,
		"sync.Map":                syncMap,
		"sync.Map.LoadOrStore":    syncMapLoadOrStore,
		"sync.Map.Range":          syncMapRange,
		"sync.Map.CompareAndSwap": syncMapSwap,
	} {
		handovers[name] = h
	}
}

// These hand over by package sync/atomic.
func init() {
	for name, h := range map[string]handover{
		"atomic.Bool": func() (func(), func() bool) {
			var b atomic.Bool
			return func() { b.Store(true) }, b.Load
		},
		"atomic.Int32": func() (func(), func() bool) {
			var n atomic.Int32
			return func() { n.Add(1) }, func() bool { return n.Load() > 0 }
		},
		"atomic.Int64": func() (func(), func() bool) {
			var n atomic.Int64
			return func() { n.Swap(1) }, func() bool { return n.Load() > 0 }
		},
		"atomic.Uint32": func() (func(), func() bool) {
			var n atomic.Uint32
			return func() { n.Or(4) }, func() bool { return n.Load() > 0 }
		},
		"atomic.Uint64": func() (func(), func() bool) {
			var n atomic.Uint64
			return func() { n.CompareAndSwap(0, 1) }, func() bool { return n.Load() > 0 }
		},
		"atomic.Uintptr": func() (func(), func() bool) {
			var n atomic.Uintptr
			return func() { n.Store(1) }, func() bool { return n.Add(0) > 0 }
		},
		"atomic.Pointer":     atomicPointer[int],
		"atomic.Pointer any": atomicPointer[any],
		"atomic.Value": func() (func(), func() bool) {
			var v atomic.Value
			return func() { v.Store(1) }, func() bool { return v.Load() != nil }
		},
		"atomic.AddInt32": func() (func(), func() bool) {
			n := new(int32)
			return func() { atomic.AddInt32(n, 1) }, func() bool { return atomic.LoadInt32(n) > 0 }
		},
		"atomic.StoreUint64": func() (func(), func() bool) {
			n := new(uint64)
			return func() { atomic.StoreUint64(n, 1) }, func() bool { return atomic.LoadUint64(n) > 0 }
		},
		"atomic.CompareAndSwap": func() (func(), func() bool) {
			n := new(int64)
			return func() { atomic.CompareAndSwapInt64(n, 0, 1) }, func() bool {
				return atomic.CompareAndSwapInt64(n, 1, 1)
			}
		},
	} {
		handovers[name] = h
	}
}

// These hand over by contexts, timers, pipes and connections.
func init() {
	for name, h := range map[string]handover{
		"context.WithCancel": cancelling,
		"context.AfterFunc":  contextAfterFunc,
		"time.AfterFunc":     afterFunc,
		"time.Timer":         timer,
		"io.Pipe":            ioPipe,
		"os.Pipe":            osPipe,
		"net.Pipe":           netPipe,
		"net TCP":            func() (func(), func() bool) { return connection("tcp", "127.0.0.1:0") },
		"net Unix":           func() (func(), func() bool) { return connection("unix", "@twins") },
		"expvar.Int": func() (func(), func() bool) {
			var v expvar.Int
			return func() { v.Set(1) }, func() bool { return v.Value() > 0 }
		},
		"sync.OnceFunc": onceFunc,
	} {
		handovers[name] = h
	}
}

func sendAll(c chan int) func() {
	return func() {
		for range 3 {
			c <- 1
		}
	}
}

func receive[T any](c chan T) func() bool { return func() bool { <-c; return true } }

func channelPoll() (func(), func() bool) {
	c := make(chan int, 1)
	return func() { c <- 1 }, func() bool {
		select {
		case v := <-c:
			c <- v
			return true
		default:
			return false
		}
	}
}

func selecting() (func(), func() bool) {
	c, never := make(chan int), make(chan int)
	return func() { close(c) }, func() bool {
		select {
		case <-c:
			return true
		case <-never:
			return false
		}
	}
}

func reflectSelect() (func(), func() bool) {
	c := make(chan int)
	return func() { close(c) }, func() bool {
		i, _, _ := reflect.Select([]reflect.SelectCase{{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(c)}})
		return i == 0
	}
}

func locked(l sync.Locker) (func(), func() bool) {
	done := false
	return func() { l.Lock(); defer l.Unlock(); done = true }, func() bool {
		l.Lock()
		defer l.Unlock()
		return done
	}
}

func tryLocked() (func(), func() bool) {
	var mu sync.Mutex
	done := false
	return func() { mu.Lock(); done = true; mu.Unlock() }, func() bool {
		if !mu.TryLock() {
			return false
		}
		defer mu.Unlock()
		return done
	}
}

func readLocked() (func(), func() bool) {
	var mu sync.RWMutex
	done := false
	return func() { mu.Lock(); done = true; mu.Unlock() }, func() bool {
		mu.RLock()
		defer mu.RUnlock()
		return done
	}
}

func readLocker() (func(), func() bool) {
	var mu sync.RWMutex
	done, l := false, mu.RLocker()
	return func() { mu.Lock(); done = true; mu.Unlock() }, func() bool {
		l.Lock()
		defer l.Unlock()
		return done
	}
}

func condition() (func(), func() bool) {
	c, done := sync.NewCond(&sync.Mutex{}), false
	return func() { c.L.Lock(); done = true; c.L.Unlock(); c.Broadcast() }, func() bool {
		c.L.Lock()
		defer c.L.Unlock()
		for !done {
			c.Wait()
		}
		return true
	}
}

func waitGroup() (func(), func() bool) {
	var wg sync.WaitGroup
	wg.Add(1)
	return wg.Done, func() bool { wg.Wait(); return true }
}

func waitGroupGo() (func(), func() bool) {
	var wg sync.WaitGroup
	c := make(chan int)
	wg.Go(func() { <-c })
	return func() { close(c) }, func() bool { wg.Wait(); return true }
}

func once() (func(), func() bool) {
	var o sync.Once
	c := make(chan int)
	return func() { close(c) }, func() bool { o.Do(func() { <-c }); return true }
}

func onceFunc() (func(), func() bool) {
	c := make(chan int)
	f := sync.OnceValue(func() bool { <-c; return true })
	return func() { close(c) }, f
}

func syncMap() (func(), func() bool) {
	var m sync.Map
	return func() { m.Store("k", 1) }, func() bool { _, ok := m.Load("k"); return ok }
}

func syncMapLoadOrStore() (func(), func() bool) {
	var m sync.Map
	return func() { m.LoadOrStore("k", 1) }, func() bool { v, _ := m.LoadOrStore("k", 2); return v == 1 }
}

func syncMapRange() (func(), func() bool) {
	var m sync.Map
	return func() { m.Store("k", 1) }, func() (ok bool) {
		m.Range(func(k, v any) bool { ok = true; return false })
		return ok
	}
}

func syncMapSwap() (func(), func() bool) {
	var m sync.Map
	m.Store("k", 0)
	return func() { m.CompareAndSwap("k", 0, 1) }, func() bool { return m.CompareAndSwap("k", 1, 1) }
}

func atomicPointer[T any]() (func(), func() bool) {
	var p atomic.Pointer[T]
	return func() { p.Store(new(T)) }, func() bool { return p.Load() != nil }
}

func cancelling() (func(), func() bool) {
	ctx, cancel := context.WithCancel(context.Background())
	return cancel, func() bool { <-ctx.Done(); return ctx.Err() != nil }
}

func contextAfterFunc() (func(), func() bool) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan int)
	context.AfterFunc(ctx, func() { close(done) })
	return cancel, receive(done)
}

func afterFunc() (func(), func() bool) {
	done := make(chan int)
	return func() { time.AfterFunc(time.Microsecond, func() { close(done) }) }, receive(done)
}

func timer() (func(), func() bool) {
	started := make(chan (<-chan time.Time), 3)
	return func() {
			for range 3 {
				started <- time.NewTimer(time.Microsecond).C
			}
		}, func() bool {
			<-<-started
			return true
		}
}

// lines hands over by lines of a stream: a reader for each observer would need one each, so they share one.
func lines(w io.Writer, r io.Reader) (func(), func() bool) {
	var mu sync.Mutex
	in := bufio.NewReader(r)
	return func() { io.WriteString(w, "a\nb\nc\n") }, func() bool {
		mu.Lock()
		defer mu.Unlock()
		_, err := in.ReadString('\n')
		return err == nil
	}
}

func ioPipe() (func(), func() bool) {
	r, w := io.Pipe()
	_, observe := lines(nil, r)
	return func() { go io.WriteString(w, "a\nb\nc\n") }, observe
}

func osPipe() (func(), func() bool) {
	r, w, err := os.Pipe()
	check(err)
	return lines(w, r)
}

func netPipe() (func(), func() bool) {
	a, b := net.Pipe()
	_, observe := lines(nil, b)
	return func() { go io.WriteString(a, "a\nb\nc\n") }, observe
}

func connection(network, address string) (func(), func() bool) {
	l := must(net.Listen(network, address))
	c := must(net.Dial(network, l.Addr().String()))
	s := must(l.Accept())
	l.Close()
	return lines(c, s)
}

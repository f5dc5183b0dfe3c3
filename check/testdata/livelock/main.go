// Command live has small programs with loops. The first argument names one.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// live are livelocks.
var live = map[string]func(){
	"closed": func() { c := make(chan int); close(c); drain(c) },
	"load": func() {
		var b atomic.Bool
		for !b.Load() {
		}
	},
	"gosched": func() {
		var b atomic.Bool
		for !b.Load() {
			runtime.Gosched()
		}
	},
	"swap": func() {
		var n atomic.Int32
		n.Store(1)
		for !n.CompareAndSwap(0, 1) {
		}
	},
	"trylock": func() {
		var m sync.Mutex
		m.Lock()
		for !m.TryLock() {
		}
	},
	"default": func() {
		c := make(chan int)
		for {
			select {
			case <-c:
				return
			default:
			}
		}
	},
	"context": func() {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		for ctx.Err() == nil {
		}
	},
	"length": func() {
		c := make(chan int, 1)
		for len(c) == 0 {
		}
	},
	"two": func() {
		var a, b atomic.Bool
		go func() {
			for !a.Load() {
			}
			b.Store(true)
		}()
		for !b.Load() {
			runtime.Gosched()
		}
	},
	"waits": func() {
		c, done := make(chan int), make(chan int)
		close(c)
		go func() { drain(c); close(done) }()
		<-done
	},
	"polled lock": func() {
		var m sync.Mutex
		done := false
		get := func() bool { m.Lock(); defer m.Unlock(); return done }
		var all sync.WaitGroup
		for range 2 {
			all.Go(func() {
				for !get() {
				}
			})
		}
		all.Wait()
	},
	"polled rwlock": func() {
		var m sync.RWMutex
		done := false
		get := func() bool { m.RLock(); defer m.RUnlock(); return done }
		for !get() {
		}
	},
	"end of file": func() {
		a, b := pair()
		b.Close()
		buf := make([]byte, 10)
		for {
			if n, _ := a.Read(buf); n > 0 {
				return
			}
		}
	},
	"closed connection": func() {
		a, _ := pair()
		a.Close()
		buf := make([]byte, 10)
		for {
			if _, err := a.Read(buf); err == nil {
				return
			}
		}
	},
	"allocates": func() {
		var b atomic.Bool
		for !b.Load() {
			sink = make([]byte, 100)
			sink = nil
		}
	},
}

var sink []byte

// ends are none.
var ends = map[string]func(){
	"guarded": func() { // whoever ends the loop waits for the lock most of the time
		var m sync.Mutex
		done := false
		go func() { m.Lock(); done = true; m.Unlock() }()
		for end := false; !end; {
			m.Lock()
			end = done
			m.Unlock()
		}
	},
	"counts": func() {
		n := 0
		var b atomic.Bool
		for !b.Load() {
			if n++; n > 3000 {
				return
			}
		}
	},
	"counts in memory": func() {
		var b atomic.Bool
		for !b.Load() {
			if total++; total > 3000 {
				return
			}
		}
	},
	"counts in the heap": func() {
		p := new(int)
		keep = p
		var b atomic.Bool
		for !b.Load() {
			if *p++; *p > 3000 {
				return
			}
		}
	},
	"deadline": func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		for ctx.Err() == nil {
		}
	},
	"timer": func() {
		var b atomic.Bool
		time.AfterFunc(time.Second, func() { b.Store(true) })
		for !b.Load() {
		}
	},
	"other": func() {
		var b atomic.Bool
		go b.Store(true)
		for !b.Load() {
		}
	},
	"random": func() {
		var b atomic.Bool
		for !b.Load() {
			if rand.Intn(500) == 0 {
				return
			}
		}
	},
	"alternatives": func() {
		a, b := make(chan int), make(chan int)
		close(a)
		close(b)
		for range 100 {
			select {
			case <-a:
			case <-b:
				return
			}
		}
	},
	"main returns": func() {
		var b atomic.Bool
		go func() {
			for !b.Load() {
			}
		}()
	},
	"retries": func() {
		a, _ := pair()
		a.Close()
		for range 500 {
			if _, err := a.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
				return
			}
		}
	},
	"closures": func() {
		var b atomic.Bool
		n := 0
		next := func() bool { n++; return n < 2000 }
		for next() && !b.Load() {
		}
	},
	"linked": func() { // what was allocated since counts, if something leads to it
		var b atomic.Bool
		var list *node
		for !b.Load() {
			list = &node{list}
			if list.length() > 1000 {
				return
			}
		}
	},
	"appends": func() {
		var b atomic.Bool
		for !b.Load() {
			if many = append(many, 1); len(many) > 1000 {
				return
			}
		}
	},
	"map": func() {
		var b atomic.Bool
		m := map[int]bool{}
		for !b.Load() {
			m[len(m)] = true
			if len(m) > 1000 {
				return
			}
		}
	},
	"goroutines": func() {
		var n atomic.Int32
		var b atomic.Bool
		go func() {
			for range 300 {
				n.Add(1)
			}
			b.Store(true)
		}()
		for !b.Load() {
		}
	},
}

type node struct{ next *node }

func (n *node) length() (length int) {
	for ; n != nil; n = n.next {
		length++
	}
	return length
}

var (
	total int
	keep  *int
	many  []int
)

func drain(c chan int) {
	for {
		select {
		case <-c:
		default:
			return
		}
	}
}

func pair() (net.Conn, net.Conn) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	c := make(chan net.Conn, 1)
	go func() { x, _ := l.Accept(); c <- x }()
	a, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		panic(err)
	}
	return a, <-c
}

func main() {
	f := live[os.Args[1]]
	if f == nil {
		f = ends[os.Args[1]]
	}
	f()
	fmt.Fprintln(io.Discard, "end")
}

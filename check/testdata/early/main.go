// Command early has small programs in which it matters whether a timer fires before
// other goroutines are done. The first argument names one.
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"time"
)

var scenarios = map[string]func(){
	"deadline": func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		var x atomic.Int32
		x.Store(1)
		fmt.Print(ctx.Err() != nil)
		x.Store(2)
		fmt.Print(ctx.Err() != nil)
	},
	"sleep": func() {
		var x atomic.Int32
		go func() { time.Sleep(time.Second); x.Store(1) }()
		fmt.Print(x.Load())
		fmt.Print(x.Load())
	},
	"after": func() {
		var x atomic.Int32
		t := time.AfterFunc(time.Second, func() { x.Add(1) })
		fmt.Print(x.Load())
		fmt.Print(t.Stop())
		fmt.Print(x.Load())
	},
	"poll": func() {
		t := time.NewTimer(time.Second)
		for range 2 {
			select {
			case <-t.C:
				fmt.Print("t")
			default:
				fmt.Print("-")
			}
		}
	},
	"since": func() {
		t0 := time.Now()
		go func() { time.Sleep(3 * time.Second) }()
		fmt.Print(time.Since(t0))
		fmt.Print(time.Since(t0))
	},
	"ticker": func() {
		t := time.NewTicker(time.Second)
		c := make(chan int, 1)
		go func() { c <- 1 }()
		select {
		case <-t.C:
			fmt.Print("t")
		case <-c:
			fmt.Print("c")
		}
		t.Stop()
	},
	"deadlock": func() { // nobody waits for these
		_ = time.After(time.Hour)
		time.NewTicker(time.Hour)
		select {}
	},
	"overtaken": func() { // fails if main is slower than a second
		var done atomic.Bool
		go func() {
			time.Sleep(time.Second)
			if !done.Load() {
				panic("main is late")
			}
		}()
		var x atomic.Int32
		x.Store(1)
		x.Store(2)
		done.Store(true)
		time.Sleep(2 * time.Second)
	},
	"second": func() { answered(time.Second) },
	"hour":   func() { answered(time.Hour) },
	"broken": func() { // fails whatever the timer does
		var x, y atomic.Int32
		go func() { time.Sleep(time.Second); y.Store(1) }()
		go func() { x.Store(1) }()
		if x.Load() == 1 {
			panic("main is late")
		}
		time.Sleep(2 * time.Second)
	},
	"net": func() {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			panic(err)
		}
		go func() {
			c, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				panic(err)
			}
			c.Write([]byte("x"))
		}()
		c, err := l.Accept()
		if err != nil {
			panic(err)
		}
		c.SetReadDeadline(time.Now().Add(time.Second))
		var buf [1]byte
		n, err := c.Read(buf[:])
		fmt.Print(n, err != nil)
	},
}

func main() { scenarios[os.Args[1]]() }

// answered fails if a timer fires before the answer has come.
func answered(most time.Duration) {
	answer := make(chan int, 1)
	go func() { answer <- 1 }()
	select {
	case <-answer:
	case <-time.After(most):
		panic("no answer")
	}
}

// Command rendezvous has small programs that hand values over on channels. The
// first argument names one.
package main

import (
	"fmt"
	"os"
	"time"
)

var scenarios = map[string]func(){
	"ping-pong": pingPong, "two senders": func() { senders(2) }, "three senders": func() { senders(3) },
	"pipeline": pipeline, "done": done, "buffer": buffer, "default": withDefault, "either way": eitherWay,
	"time-out": timeout,
}

func main() { scenarios[os.Args[1]]() }

// pingPong leaves nothing to choose.
func pingPong() {
	ping, pong := make(chan int), make(chan int)
	go func() {
		for x := range ping {
			pong <- x + 1
		}
		close(pong)
	}()
	for i := range 5 {
		ping <- i
		<-pong
	}
	close(ping)
	<-pong
}

// senders come in any order.
func senders(n int) {
	c := make(chan int)
	for i := range n {
		go func() { c <- i }()
	}
	for range n {
		fmt.Print(<-c)
	}
}

func pipeline() {
	stage := make(chan int)
	go func() {
		for i := range 3 {
			stage <- i
		}
		close(stage)
	}()
	for range 2 {
		in, out := stage, make(chan int)
		go func() {
			for x := range in {
				out <- x * 2
			}
			close(out)
		}()
		stage = out
	}
	for x := range stage {
		fmt.Print(x)
	}
}

// done has workers that do not depend on each other, though all of them look at
// the same channel again and again.
func done() {
	quit := make(chan struct{})
	var work [3]chan int
	for i := range work {
		work[i] = make(chan int)
		go func() {
			for {
				select {
				case <-work[i]:
				case <-quit:
					return
				}
			}
		}()
	}
	for _, w := range work {
		w <- 1
	}
	close(quit)
}

// buffer keeps what comes until it is asked for.
func buffer() {
	c := make(chan int, 2)
	for i := range 2 {
		go func() { c <- i }()
	}
	fmt.Print(<-c, <-c)
}

// withDefault may come too early.
func withDefault() {
	c := make(chan int)
	go func() { c <- 1 }()
	select {
	case x := <-c:
		fmt.Print(x)
	default:
		fmt.Print("nobody")
	}
}

// eitherWay exchanges a value with another goroutine of the same kind.
func eitherWay() {
	c, end := make(chan int), make(chan string, 2)
	for i := range 2 {
		go func() {
			select {
			case c <- i:
				end <- fmt.Sprint(i, " sent")
			case x := <-c:
				end <- fmt.Sprint(i, " got ", x)
			}
		}()
	}
	a, b := <-end, <-end
	fmt.Print(min(a, b), max(a, b))
}

// timeout has an arm that time makes ready.
func timeout() {
	c := make(chan int)
	go func() {
		time.Sleep(time.Second)
		c <- 1
	}()
	select {
	case <-c:
	case <-time.After(time.Second / 2):
		fmt.Print("late")
		<-c
	}
}

// Command details ends in a deadlock whose channels differ in all that a report says of them.
package main

import (
	"fmt"
	"os"
)

type message struct{ text string }

func main() {
	full := make(chan error, 1)
	full <- nil
	results := make(chan message)
	fmt.Println("made")
	go send(full)
	go func() {
		stop := make(chan struct{})
		select {
		case results <- message{}:
		case <-stop:
		}
	}()
	fmt.Fprint(os.Stderr, "started")
	first := make(chan int, 3)
	second := make(chan int, 3)
	second <- 1
	select {
	case <-first:
	case n := <-second:
		fmt.Println(n)
	}
	select {}
}

func send(c chan error) { c <- nil }

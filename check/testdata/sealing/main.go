// Command sealing interprets a small concurrent program, given as its argument: goroutines
// with slashes in between, the first being main, which starts the others. An operation is a
// name, a comma and 0 or 1. Operations with pluses in between are one call of a function: of the sealed library,
// if there is a dot before them.
package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"

	"example.com/library"
)

// State is shared with the library.
type State = library.State

var (
	state  State
	bodies [][]string
)

func init() {
	state.Channels = [2]chan int{make(chan int), make(chan int, 1)}
	for _, text := range strings.Split(os.Args[1], "/") {
		bodies = append(bodies, strings.Fields(text))
	}
}

func main() {
	for number := range bodies[1:] {
		go run(number + 1)
	}
	run(0)
}

func run(number int) {
	seen := fmt.Sprint(number)
	for _, text := range bodies[number] {
		do := Do
		operations, sealed := strings.CutPrefix(text, ".")
		if sealed {
			do = library.Do
		}
		seen += do(&state, operations)
	}
	syscall.Write(1, []byte(seen+"\n"))
}

// Command endless is a server that gives tickets to clients for ever: a client asks for one, does
// something with it, and gives it back. No execution ends, so a check that looks at executions only
// ends as unknown. With -state the program names its state where a round begins, and the check
// covers all that can ever happen.
//
//	tandem check ./examples/endless
//	tandem check ./examples/endless -- -state
//	tandem check ./examples/endless -- -state -racy
package main

import (
	"flag"

	"github.com/tandem-mc/tandem"
)

var (
	state = flag.Bool("state", false, "name the state where a round begins")
	racy  = flag.Bool("racy", false, "give the last ticket away twice")
)

// office is the server.
type office struct {
	free    int
	holders [2]bool // of the clients
}

func main() {
	flag.Parse()
	asks, returns := make(chan int), make(chan int)
	var granted [2]chan bool
	o := &office{free: 1}
	for c := range granted {
		granted[c] = make(chan bool)
		go client(c, asks, returns, granted[c])
	}
	for {
		if *state {
			// The clients have nothing but where they are, which the checker knows.
			tandem.State(o)
		}
		select {
		case c := <-asks:
			grant := o.free > 0
			if grant || *racy && o.holders[1-c] {
				grant = true
				o.free--
				o.holders[c] = true
			}
			tandem.Assert(!(o.holders[0] && o.holders[1]), "both clients have the ticket")
			granted[c] <- grant
		case c := <-returns:
			o.free++
			o.holders[c] = false
		}
	}
}

// client asks for a ticket until it gets one, and gives it back, for ever.
func client(c int, asks, returns chan<- int, granted <-chan bool) {
	for {
		asks <- c
		if <-granted {
			returns <- c
		}
	}
}

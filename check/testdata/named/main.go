// Command named interprets goroutines that name the whole state of the program: how many rounds
// each goes, 0 for ever, and what each does in a round, separated by slashes.
//
//	2/state swap,0 load,1/state lock store,0 unlock
package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tandem-mc/tandem"
)

// whole is all that what follows depends on.
var whole struct {
	mu     sync.Mutex
	vars   [2]atomic.Int32
	local  [3]int32 // of each goroutine
	kept   [3]int32
	at     [3]int // its instruction
	rounds [3]int // that it has gone
}

var channel = make(chan int32)

func main() {
	parts := strings.Split(os.Args[1], "/")
	rounds, err := strconv.Atoi(parts[0])
	if err != nil {
		panic(err)
	}
	var done sync.WaitGroup
	for g, body := range parts[1:] {
		done.Go(func() { run(g, strings.Fields(body), rounds) })
	}
	done.Wait()
	fmt.Println("0", whole.vars[0].Load(), whole.vars[1].Load(), whole.local)
}

func run(g int, body []string, rounds int) {
	for rounds == 0 || whole.rounds[g] < rounds {
		for i, text := range body {
			whole.at[g] = i
			name, number, _ := strings.Cut(text, ",")
			variable := &whole.vars[0]
			if number == "1" {
				variable = &whole.vars[1]
			}
			execute(g, name, variable)
		}
		if rounds > 0 {
			whole.rounds[g]++
		}
	}
}

func execute(g int, name string, v *atomic.Int32) {
	local := &whole.local[g]
	switch name {
	case "state":
		tandem.State(&whole)
	case "load":
		*local = v.Load()
	case "store":
		v.Store((*local + 1) % 3)
	case "swap":
		*local = v.Swap((*local + 1) % 3)
	case "move": // another may come in between
		whole.kept[g] = v.Load()
		v.Store((whole.kept[g] + 2) % 3)
	case "lock":
		whole.mu.Lock()
	case "unlock":
		whole.mu.Unlock()
	case "send":
		channel <- *local
	case "recv":
		*local = <-channel
	case "poll":
		select {
		case *local = <-channel:
		default:
		}
	case "choose":
		*local = int32(tandem.Choose(2))
	case "sleep":
		time.Sleep(time.Millisecond)
	case "assert":
		tandem.Assert(*local != 2, "goroutine ", g, " has 2")
	}
}

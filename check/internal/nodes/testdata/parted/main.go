// Command parted is a node that follows a script.
//
//	parted CHECK STEPS...
//
//	aN  accept within N milliseconds     dN  connect to the server within N milliseconds
//	sN  sleep for N milliseconds         rN  read within N milliseconds
//	wX  write the letter X               c   close the connection
//	WX  add the letter X to a file       S   make the file durable
//	l   load the letters of the file     iX  do no more if the file has the letter X
//	y   write the last letter of the file to the connection
//	h   publish that it holds a lock     u   publish that it does not
//	z   connect to where nobody is; as the last step, it is done in any case
//
// After a | come the steps of another goroutine, which begins at the same time and gets nothing. The
// node ends after both.
//
// What a node has got are the letters that it has read or loaded, and t for what was too late, e for the end
// of the stream, x for a reset, p for a write that fails, and f for a connect that is refused. A
// node without a connection does no more. CHECK is in:A,B or not:A; what it has got must be so. Or
// it is has:X: then the node publishes whether it has got the letter X.
package main

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tandem-mc/tandem"
)

func main() {
	steps := os.Args[2:]
	var others sync.WaitGroup
	if i := slices.Index(steps, "|"); i >= 0 {
		second := steps[i+1:]
		others.Go(func() { follow(second) })
		steps = steps[:i]
	}
	got := follow(steps)
	others.Wait()
	check(os.Args[1], got)
}

// check fails if what a node has got is not as it must be.
func check(want, got string) {
	how, list, _ := strings.Cut(want, ":")
	if how == "has" {
		tandem.Publish("has "+list, strings.Contains(got, list))
		return
	}
	if slices.Contains(strings.Split(list, ","), got) != (how == "in") {
		tandem.Assert(false, "got="+got+".")
	}
}

// follow does the steps, and returns what was got.
func follow(steps []string) (got string) {
	var s system
	if last := len(steps) - 1; last >= 0 && steps[last] == "z" {
		defer s.connectNowhere()
		steps = steps[:last]
	}
	var c *stream
	for _, step := range steps {
		number, _ := strconv.Atoi(step[1:])
		long := time.Duration(number) * time.Millisecond
		what := ""
		switch step[0] {
		case 's':
			s.sleep(long)
		case 'a':
			c, what = s.accept(long)
		case 'd':
			c, what = s.dial(long)
		case 'w':
			what = c.write(step[1:])
		case 'r':
			what = c.read(long)
		case 'c':
			c.Close()
		case 'h', 'u':
			tandem.Publish("lock", step == "h")
		case 'W':
			add(step[1:])
		case 'S':
			durable()
		case 'l':
			what = load()
		case 'y':
			if letters := load(); letters != "" {
				what = c.write(letters[len(letters)-1:])
			}
		case 'i':
			if strings.Contains(load(), step[1:]) {
				return got
			}
		}
		got += what
		if strings.ContainsAny(step[:1], "ad") && what != "" {
			return got
		}
	}
	return got
}

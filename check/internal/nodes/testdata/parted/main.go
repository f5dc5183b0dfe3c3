// Command parted is a node that follows a script.
//
//	parted CHECK STEPS...
//
//	aN  accept within N milliseconds     dN  connect to the server within N milliseconds
//	sN  sleep for N milliseconds         rN  read within N milliseconds
//	wX  write the letter X               c   close the connection
//
// What a node has got are the letters that it has read, and t for what was too late, e for the end
// of the stream, x for a reset, p for a write that fails, and f for a connect that is refused. A
// node without a connection does no more. CHECK is in:A,B or not:A; what it has got must be so. Or
// it is has:X: then the node publishes whether it has got the letter X.
package main

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tandem-mc/tandem"
)

func main() {
	check(os.Args[1], follow(os.Args[2:]))
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
		}
		got += what
		if strings.ContainsAny(step[:1], "ad") && what != "" {
			return got
		}
	}
	return got
}

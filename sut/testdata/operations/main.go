// Command operations performs the one operation that its first argument names, between
// two calls of runtime.Gosched, which mark its place in the log; with a second argument, after an
// addition to a variable.
package main

import (
	"fmt"
	"maps"
	"os"
	"runtime"
	"sync/atomic"
)

// prepared returns the operation that is to be looked at. What it does before
// that is not.
type prepared func() func()

func just(operation func()) prepared { return func() func() { return operation } }

var before atomic.Int32

func main() {
	all := map[string]prepared{}
	for _, some := range []map[string]prepared{onChannels, ofSync, ofAtomic, ofContext, ofTime} {
		maps.Copy(all, some)
	}
	prepare := all[os.Args[1]]
	if prepare == nil {
		fmt.Fprintln(os.Stderr, "no program for this operation")
		os.Exit(1)
	}
	operation := prepare()
	runtime.Gosched()
	if len(os.Args) > 2 {
		before.Add(1)
	}
	operation()
	runtime.Gosched()
}

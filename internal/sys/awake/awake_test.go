package awake

import (
	"runtime"
	"strings"
	"testing"
)

// TestKeep: there is a timer, until stop is called.
func TestKeep(t *testing.T) {
	stop := Keep()
	keepers := func() int {
		b := make([]byte, 1<<20)
		return strings.Count(string(b[:runtime.Stack(b, true)]), "awake.Keep.func1()\n")
	}
	for keepers() != 1 {
		runtime.Gosched()
	}
	stop()
	for keepers() != 0 {
		runtime.Gosched()
	}
}

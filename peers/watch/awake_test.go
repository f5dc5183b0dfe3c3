package watch

import (
	"runtime"
	"strings"
	"testing"
)

// TestKeepAwake: there is a timer, until stop is called.
func TestKeepAwake(t *testing.T) {
	stop := KeepAwake()
	keepers := func() int {
		b := make([]byte, 1<<20)
		return strings.Count(string(b[:runtime.Stack(b, true)]), "watch.KeepAwake.func1()\n")
	}
	for keepers() != 1 {
		runtime.Gosched()
	}
	stop()
	for keepers() != 0 {
		runtime.Gosched()
	}
}

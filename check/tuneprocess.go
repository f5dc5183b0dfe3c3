package check

import (
	"os"
	"runtime"
	"runtime/debug"

	"github.com/tandem-mc/tandem/internal/sys/awake"
)

// TuneProcess makes the process that is to run checks fast at it. It is called once, before
// anything else; what it returns is called at the end.
//
// Little of what a check allocates is kept, and collecting the rest took a quarter of the time. So
// the collector runs when the heap has grown five-fold, and never below 160 MiB: that is what the
// ballast is for. Nobody touches it, so it takes no physical memory.
func TuneProcess() (end func()) {
	ballast := make([]byte, 32<<20)
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	// A thread that waits for a worker is in a system call. It should go on at once when that
	// returns, even if all processors of the machine have something to do.
	runtime.GOMAXPROCS(2 * runtime.GOMAXPROCS(0))
	awake.Keep()
	return func() { runtime.KeepAlive(ballast) }
}

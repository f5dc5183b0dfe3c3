package peers

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// OnThread runs f on a thread that ends with it, so that f may change the namespaces of
// its thread without harm to anything else.
func OnThread(f func() error) error {
	result := make(chan error)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == os.Getpid() {
			// The first thread never ends, and its namespaces are what others take for
			// those of the process. While it is held here, f gets another one.
			result <- OnThread(f)
			runtime.UnlockOSThread()
			return
		}
		result <- f() // and stays locked: the runtime ends the thread with the goroutine
	}()
	return <-result
}

// Package osthread runs functions on threads of the operating system that are to be like no other:
// in other namespaces, or on one processor.
package osthread

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// Run runs f on a thread that ends with it, so that f may change the namespaces of
// its thread without harm to anything else.
func Run(f func() error) error {
	result := make(chan error)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == os.Getpid() {
			// The first thread never ends, and its namespaces are what others take for
			// those of the process. While it is held here, f gets another one.
			result <- Run(f)
			runtime.UnlockOSThread()
			return
		}
		result <- f() // and stays locked: the runtime ends the thread with the goroutine
	}()
	return <-result
}

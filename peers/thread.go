package peers

import (
	"fmt"
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

// InNetwork runs f in a network namespace, of which this is a descriptor. It takes a tenth of the time of a thread of its own:
// the calling one goes there and comes back.
func InNetwork(namespace int, f func() error) error {
	enter := func() error { return unix.Setns(namespace, unix.CLONE_NEWNET) }
	runtime.LockOSThread() // the runtime starts no thread from one that is locked, which would be in the namespace, too
	defer runtime.UnlockOSThread()
	if unix.Gettid() == os.Getpid() { // see OnThread
		return OnThread(func() error {
			if err := enter(); err != nil {
				return fmt.Errorf("enter a network namespace: %w", err)
			}
			return f()
		})
	}
	home, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open the network namespace of a thread: %w", err)
	}
	defer unix.Close(home)
	if err := enter(); err != nil {
		return fmt.Errorf("enter a network namespace: %w", err)
	}
	defer func() {
		if err := unix.Setns(home, unix.CLONE_NEWNET); err != nil {
			panic(fmt.Sprintf("peers: a thread cannot go back to its network namespace: %v", err))
		}
	}()
	return f()
}

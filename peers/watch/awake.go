package watch

import "time"

// KeepAwake bounds how long a garbage collection of this process may hold up everything else:
// without it, up to a minute, until stop is called.
//
// To collect garbage the runtime of Go stops all goroutines, and takes their processors from
// those that are in a system call. Since Go 1.26 it overlooks one that is just about to enter a
// system call (reentersyscall looks at sched.gcwaiting before it changes the goroutine's state,
// not after it), and goes on only when that call returns, or when the runtime's monitor looks.
// That sleeps meanwhile: for a minute, or until a timer is due. A program that waits in system
// calls for other processes, as the parts of this one do, is hit now and then. So there is always
// a timer.
func KeepAwake() (stop func()) {
	const interval = 50 * time.Millisecond
	tick, stopped := time.NewTicker(interval), make(chan struct{})
	go func() {
		defer tick.Stop()
		for {
			select { // a ticker that nobody waits for is no timer of the runtime's
			case <-tick.C:
			case <-stopped:
				return
			}
		}
	}()
	return func() { close(stopped) }
}

// Package awake keeps the runtime of Go from sleeping where it should not.
package awake

import "time"

// Keep keeps a garbage collection of this process from holding up everything else for up to
// a minute. It has an effect until stop is called.
//
// To collect garbage, the runtime of Go stops all goroutines, and takes their processors from
// those that are in a system call. Since Go 1.26 it overlooks a goroutine that is just about to
// enter a system call: reentersyscall looks at sched.gcwaiting before it changes the goroutine's
// state, and not after it. Then the runtime goes on only when that call returns, or when the
// runtime's monitor looks. But the monitor sleeps for a minute, or until a timer is due. A
// program that waits in system calls for other processes, as those of Tandem do, is hit now
// and then. So Keep keeps a timer running.
func Keep() (stop func()) {
	const interval = 50 * time.Millisecond
	tick, stopped := time.NewTicker(interval), make(chan struct{})
	go func() {
		defer tick.Stop()
		for {
			select { // the runtime ignores a ticker that nobody waits for
			case <-tick.C:
			case <-stopped:
				return
			}
		}
	}()
	return func() { close(stopped) }
}

package process

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys/osthread"
)

// The tracer and what it traces take turns, at each stop. On one processor that is a switch
// between two threads; on two, one is idle each time, and takes long to be woken up.

// fetchTo has a thread run on these processors, and notes on which it may otherwise.
func (t *thread) fetchTo(here *unix.CPUSet) error {
	if err := unix.SchedGetaffinity(t.tid, &t.processors); err != nil {
		return fmt.Errorf("ask for the processors of thread %d: %w", t.tid, err)
	}
	return osthread.SetProcessors(t.tid, here)
}

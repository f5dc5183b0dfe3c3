//go:build amd64

package ckptd

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The tracer and what it traces take turns, at each stop. On one processor that is a switch
// between two threads; on two, one is idle each time, and takes long to be woken up.

// stay has the calling thread stay on the processor that it is on until leave is called.
func stay() (here *unix.CPUSet, leave func(), err error) {
	var before, now unix.CPUSet
	var number uint32
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return nil, nil, fmt.Errorf("ask for the processors of a thread: %w", err)
	}
	if _, _, errno := unix.Syscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&number)), 0, 0); errno != 0 {
		return nil, nil, fmt.Errorf("ask for the processor of a thread: %w", errno)
	}
	now.Set(int(number))
	if err := unix.SchedSetaffinity(0, &now); err != nil {
		return nil, nil, fmt.Errorf("keep a thread on its processor: %w", err)
	}
	// It fails where the processors of all were changed meanwhile, which takes care of it.
	return &now, func() { _ = unix.SchedSetaffinity(0, &before) }, nil
}

// fetchTo has a thread run on these processors, and notes on which it may otherwise.
func (t *thread) fetchTo(here *unix.CPUSet) error {
	if err := unix.SchedGetaffinity(t.tid, &t.processors); err != nil {
		return fmt.Errorf("ask for the processors of thread %d: %w", t.tid, err)
	}
	return setProcessors(t.tid, here)
}

func setProcessors(tid int, to *unix.CPUSet) error {
	if err := unix.SchedSetaffinity(tid, to); err != nil {
		return fmt.Errorf("set the processors of thread %d: %w", tid, err)
	}
	return nil
}

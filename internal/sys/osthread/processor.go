package osthread

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Stay has the calling thread stay on the processor that it is on until leave is called. Here is
// that processor, for SetProcessors: two threads that take turns are faster on one.
func Stay() (here *unix.CPUSet, leave func(), err error) {
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

// SetProcessors says on which processors a thread, which may be of another process, may run.
func SetProcessors(tid int, to *unix.CPUSet) error {
	if err := unix.SchedSetaffinity(tid, to); err != nil {
		return fmt.Errorf("set the processors of thread %d: %w", tid, err)
	}
	return nil
}

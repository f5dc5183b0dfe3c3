// Package sys has what packages that speak to the kernel have in common. The packages below it know
// a part of the kernel each, and none of them knows what a peer or an image is.
package sys

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// Inode is the inode number of what a descriptor leads to: it tells namespaces and sockets apart.
func Inode(fd int) (uint64, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return 0, fmt.Errorf("inode of descriptor %d: %w", fd, err)
	}
	return st.Ino, nil
}

// CloseAll closes descriptors. Errors of close(2) are of no use to who has nothing to write.
// Those of this program are sockets, pipes and files in memory.
func CloseAll(descriptors []int) {
	for _, fd := range descriptors {
		unix.Close(fd)
	}
}

// Retry makes a system call again as long as a signal interrupts it.
func Retry(call func() (int, error)) (int, error) {
	for {
		if n, err := call(); err != unix.EINTR {
			return n, err
		}
	}
}

// Poll waits until a descriptor is ready, for so many milliseconds; a negative number is for ever.
// After a signal, of which the runtime sends some to its threads, the wait begins again.
func Poll(set []unix.PollFd, milliseconds int) (ready int, err error) {
	return Retry(func() (int, error) { return unix.Poll(set, milliseconds) })
}

// AwaitExit waits for the end of a process, of which it gets a pidfd, and tells whether it has
// ended. A negative time is for ever.
func AwaitExit(pidfd int, most time.Duration) bool {
	ended, err := AwaitReadable(pidfd, most)
	return ended || err != nil
}

// AwaitReadable waits until a descriptor can be read, or its other end is closed, and tells whether
// that is so. A negative time is for ever. Signals do not make it longer or shorter.
func AwaitReadable(fd int, most time.Duration) (bool, error) {
	deadline := time.Now().Add(most)
	n, err := Retry(func() (int, error) {
		left := -1
		if most >= 0 {
			const roundUp = time.Millisecond - 1 // poll counts in milliseconds
			left = max(0, int((time.Until(deadline) + roundUp).Milliseconds()))
		}
		return unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, left)
	})
	return n > 0, err
}

// DuplicateOf returns a descriptor of the same description as one of another process has. What is
// done with it, the other process sees.
func DuplicateOf(pid, number int) (int, error) {
	fd := -1
	process, err := unix.PidfdOpen(pid, 0)
	if err == nil {
		defer unix.Close(process)
		fd, err = unix.PidfdGetfd(process, number, 0)
	}
	if err != nil {
		return -1, fmt.Errorf("duplicate descriptor %d of process %d: %w", number, pid, err)
	}
	return fd, nil
}

// MemoryFile makes a file in memory that holds pieces, one after the other. It has no place in any
// directory, so that it can be handed over as a descriptor only, and ends with its last one. The
// name is for people who look into /proc.
func MemoryFile(name string, pieces ...[]byte) (int, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("make a file in memory: %w", err)
	}
	for _, piece := range pieces {
		for len(piece) > 0 {
			n, err := unix.Write(fd, piece)
			if err != nil && err != unix.EINTR {
				unix.Close(fd)
				return -1, fmt.Errorf("write a file in memory: %w", err)
			}
			piece = piece[max(n, 0):]
		}
	}
	return fd, nil
}

// Package sockopt gets and sets options of sockets as bytes, whatever their type.
//
// Who makes a socket like another one need not know what its options mean. What getsockopt(2) has
// returned of the one is what setsockopt(2) takes for the other.
package sockopt

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Get returns an option of at most 32 bytes. The error is a unix.Errno.
func Get(fd, level, name int) ([]byte, error) {
	const most = 32
	return GetSized(fd, level, name, most)
}

// GetSized is Get for one of at most so many bytes. Of a longer one the kernel returns the
// beginning, or an error, as it likes.
func GetSized(fd, level, name, size int) ([]byte, error) {
	b := make([]byte, size)
	n := uint32(len(b))
	_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), uintptr(level), uintptr(name),
		uintptr(unsafe.Pointer(&b[0])), uintptr(unsafe.Pointer(&n)), 0)
	if errno != 0 {
		return nil, errno
	}
	return b[:n], nil
}

// HasFilter tells whether packets for the socket are filtered. It asks for no more than the number
// of instructions, which those of BPF (SO_ATTACH_BPF) do not tell.
func HasFilter(fd int) (bool, error) {
	var count uint32
	_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_SOCKET, unix.SO_GET_FILTER, 0,
		uintptr(unsafe.Pointer(&count)), 0)
	if errno == unix.EACCES {
		return true, nil
	}
	if errno != 0 {
		return false, fmt.Errorf("ask for the filter of a socket: %w", errno)
	}
	return count > 0, nil
}

// Set sets an option. No bytes at all stand for the empty text.
func Set(fd, level, name int, value []byte) error {
	if len(value) == 0 {
		value = []byte{0}
	}
	_, _, errno := unix.Syscall6(unix.SYS_SETSOCKOPT, uintptr(fd), uintptr(level), uintptr(name),
		uintptr(unsafe.Pointer(&value[0])), uintptr(len(value)), 0)
	if errno != 0 {
		return fmt.Errorf("set option %d of level %d of a socket: %w", name, level, errno)
	}
	return nil
}

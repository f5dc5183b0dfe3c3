package sut

import (
	"io"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ring writes a byte to a pipe that has room for it.
func ring(pipe *os.File, b byte) error {
	return again(func() unix.Errno {
		_, _, errno := unix.RawSyscall(unix.SYS_WRITE, pipe.Fd(), uintptr(unsafe.Pointer(&b)), 1)
		return errno
	})
}

// await waits for a byte from a pipe.
//
// Go's runtime is not told of these calls. It would have its monitor look, every 20 us, for calls
// that last that long, in a thread that takes turns with the worker on its processor; an
// execution lasts about as long, so that it always finds one. What is waited in is poll(2), which a
// signal interrupts even if its handler asks for a restart: a goroutine that is to be stopped, to collect
// garbage, gets one again and again until it does, and stops before it waits again.
func await(pipe *os.File) (b byte, err error) {
	poll := unix.PollFd{Fd: int32(pipe.Fd()), Events: unix.POLLIN}
	if err := again(func() unix.Errno {
		_, _, errno := unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&poll)), 1, 0, 0, 0, 0)
		return errno
	}); err != nil {
		return 0, err
	}
	n := uintptr(0)
	err = again(func() (errno unix.Errno) {
		n, _, errno = unix.RawSyscall(unix.SYS_READ, pipe.Fd(), uintptr(unsafe.Pointer(&b)), 1)
		return errno
	})
	if err == nil && n == 0 {
		err = io.EOF
	}
	return b, err
}

// again makes a call until no signal interrupts it. In between the goroutine can be stopped.
func again(call func() unix.Errno) error {
	for {
		switch errno := call(); errno {
		case 0:
			return nil
		case unix.EINTR:
			runtime.Gosched()
		default:
			return errno
		}
	}
}

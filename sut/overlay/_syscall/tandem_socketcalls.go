package syscall

import "unsafe"

// tandemSocketCall serves the system calls whose first argument is a virtual
// socket or pipe. It turns arguments back into pointers before anything that may
// move the stack runs.
//
//go:nosplit
//go:nocheckptr
func tandemSocketCall(trap, a1, a2, a3, a4, a5, a6 uintptr) (r uintptr, e Errno, taken bool) {
	fd := int(a1)
	switch trap {
	case SYS_READ:
		return tandemReturn(tandemReceiveFrom(fd, unsafe.Pointer(a2), int(a3), 0, nil, nil))
	case SYS_RECVFROM:
		return tandemReturn(tandemReceiveFrom(fd, unsafe.Pointer(a2), int(a3), int(a4), unsafe.Pointer(a5),
			unsafe.Pointer(a6)))
	case SYS_WRITE:
		return tandemReturn(tandemSendTo(fd, unsafe.Pointer(a2), int(a3), 0, nil, 0))
	case SYS_SENDTO:
		return tandemReturn(tandemSendTo(fd, unsafe.Pointer(a2), int(a3), int(a4), unsafe.Pointer(a5), a6))
	case SYS_RECVMSG:
		return tandemReturn(tandemReceiveMessage(fd, unsafe.Pointer(a2), int(a3)))
	case SYS_SENDMSG:
		return tandemReturn(tandemSendMessage(fd, unsafe.Pointer(a2), int(a3)))
	case SYS_READV:
		return tandemReturn(tandemReadVector(fd, unsafe.Pointer(a2), int(a3)))
	case SYS_WRITEV:
		return tandemReturn(tandemWriteVector(fd, unsafe.Pointer(a2), int(a3)))
	case tandemRecvmmsg:
		return tandemReturn(tandemMessages(fd, unsafe.Pointer(a2), int(a3), int(a4), tandemReceiveMessage))
	case tandemSendmmsg:
		return tandemReturn(tandemMessages(fd, unsafe.Pointer(a2), int(a3), int(a4), tandemSendMessage))
	case SYS_SENDFILE:
		return tandemReturn(tandemSendFile(fd, int(a2), (*int64)(unsafe.Pointer(a3)), int(a4)))
	case SYS_CONNECT:
		return tandemReturn(0, tandemConnect(fd, unsafe.Pointer(a2), a3))
	case SYS_BIND:
		return tandemReturn(0, tandemBindCall(fd, unsafe.Pointer(a2), a3))
	case SYS_LISTEN:
		return tandemReturn(0, tandemListen(fd, int(a2)))
	case SYS_ACCEPT, SYS_ACCEPT4:
		return tandemReturn(tandemAccept(fd, unsafe.Pointer(a2), (*uint32)(unsafe.Pointer(a3)), int(a4)))
	case SYS_SHUTDOWN:
		return tandemReturn(0, tandemEndpoints[fd].shutdown(fd, int(a2)))
	case SYS_GETSOCKNAME, SYS_GETPEERNAME:
		return tandemReturn(0, tandemName(fd, trap == SYS_GETPEERNAME, unsafe.Pointer(a2),
			unsafe.Pointer(a3)))
	case SYS_CLOSE:
		tandemClose(fd)
		return 0, 0, false // and the placeholder goes too
	case SYS_GETSOCKOPT:
		if a2 == SOL_SOCKET && a3 == SO_ERROR {
			*(*int32)(unsafe.Pointer(a4)) = int32(tandemClearError(fd))
			return 0, 0, true
		}
		return 0, 0, false
	case SYS_DUP, SYS_FCNTL:
		return tandemDuplicateSocket(trap, a1, a2, a3)
	}
	return tandemOtherCall(trap)
}

// tandemOtherCall is for calls that the placeholder answers, and for those that
// programs do without.
//
//go:nosplit
func tandemOtherCall(trap uintptr) (r uintptr, e Errno, taken bool) {
	switch trap {
	case SYS_SETSOCKOPT, SYS_FSTAT, SYS_IOCTL:
		return 0, 0, false
	case SYS_LSEEK, SYS_PREAD64, SYS_PWRITE64:
		return ^uintptr(0), ESPIPE, true
	case SYS_SPLICE, SYS_TEE, tandemCopyRange, SYS_FTRUNCATE, SYS_FSYNC, SYS_FDATASYNC, SYS_FALLOCATE:
		return ^uintptr(0), EINVAL, true // splice and the like: the program then copies
	}
	tandemRefuseCall("a system call on a socket or pipe that is not supported")
	return 0, ENOSYS, true
}

func tandemClearError(fd int) Errno {
	e := tandemEndpoints[fd]
	if e.in != nil {
		tandemTouch(opSocketTry, &e.in.queue, accessWrite)
	}
	if e.alone { // whoever waited has given up
		e.alone = false
		return ETIMEDOUT
	}
	return e.clearFault()
}

//go:nosplit
func tandemDuplicateSocket(trap, a1, a2, a3 uintptr) (uintptr, Errno, bool) {
	if trap == SYS_FCNTL && a2 != F_DUPFD && a2 != F_DUPFD_CLOEXEC {
		return 0, 0, false
	}
	n, _, errno := RawSyscall6(trap, a1, a2, a3, 0, 0, 0)
	if errno == 0 {
		tandemDuplicated(int(a1), int(n))
	}
	return tandemReturn(int(n), errno)
}

func tandemBindCall(fd int, address unsafe.Pointer, length uintptr) Errno {
	e := tandemEndpoints[fd]
	a, errno := tandemReadAddress(e.domain, address, length)
	if errno != 0 {
		return errno
	}
	return tandemBind(fd, e, a)
}

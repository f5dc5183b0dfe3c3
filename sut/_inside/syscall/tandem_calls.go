package syscall

import "unsafe"

const (
	// A call that no kernel has: package tandem asks with it whether the
	// program is being checked.
	tandemTrap = 0x74616e64
	tandemPid  = 1000

	tandemIO_URING = 425
	tandemCLONE3   = 435
	tandemEXECVEAT = 322
)

// tandemSyscall takes over the calls that concern virtual sockets, and refuses
// those that would reach beyond the execution. It turns the arguments back into
// pointers before anything that may move the stack runs.
//
//go:nosplit
//go:norace
//go:nocheckptr
func tandemSyscall(trap, a1, a2, a3, a4, a5, a6 uintptr) (r uintptr, e Errno, taken bool) {
	if !tandemServes() {
		return 0, 0, false
	}
	if !tandemIsSocket(a1) {
		if r, e, taken = tandemFileCall(trap, a1, a2, a3, a4, a5, a6); taken {
			return r, e, true
		}
	}
	if !tandemIsOn() {
		return 0, 0, false
	}
	switch trap {
	case SYS_SOCKET:
		r, e = tandemSocket(a1, a2, a3)
		return tandemReturn(int(r), e)
	case tandemTrap:
		return tandemAsk(a1, a2, unsafe.Pointer(a3))
	case SYS_GETPID:
		return tandemPid, 0, true
	}
	if tandemIsSocket(a1) {
		return tandemSocketCall(trap, a1, a2, a3, a4, a5, a6)
	}
	if what := tandemForbidden(trap); what != "" {
		tandemRefuseCall(what)
	}
	return 0, 0, false
}

//go:nosplit
//go:nocheckptr
func tandemSocketCall(trap, a1, a2, a3, a4, a5, a6 uintptr) (r uintptr, e Errno, taken bool) {
	fd := int(a1)
	switch trap {
	case SYS_READ:
		return tandemReturn(tandemReadSocket(fd, unsafe.Pointer(a2), int(a3), 0))
	case SYS_RECVFROM:
		return tandemReturn(tandemReadSocket(fd, unsafe.Pointer(a2), int(a3), int(a4)))
	case SYS_WRITE, SYS_SENDTO:
		return tandemReturn(tandemWriteSocket(fd, unsafe.Pointer(a2), int(a3)))
	case SYS_RECVMSG:
		return tandemReceiveMessage(fd, unsafe.Pointer(a2), int(a3))
	case SYS_SENDMSG:
		return tandemSendMessage(fd, unsafe.Pointer(a2))
	case SYS_READV:
		return tandemReadVector(fd, unsafe.Pointer(a2), int(a3), 0)
	case SYS_WRITEV:
		return tandemWriteVector(fd, unsafe.Pointer(a2), int(a3))
	case SYS_CONNECT:
		return tandemReturn(0, tandemConnect(fd, unsafe.Pointer(a2), a3))
	case SYS_BIND:
		return 0, 0, true // the local address is the checker's to choose
	case SYS_SHUTDOWN:
		return tandemReturn(0, tandemShutdown(fd, int(a2)))
	case SYS_GETSOCKNAME, SYS_GETPEERNAME:
		return tandemName(fd, trap == SYS_GETPEERNAME, unsafe.Pointer(a2), unsafe.Pointer(a3))
	case SYS_CLOSE:
		tandemClose(fd)
		return 0, 0, false // and the placeholder goes too
	case SYS_DUP, SYS_DUP3:
		tandemRefuseCall("duplicating a socket with dup or dup3")
	case SYS_FCNTL:
		if a2 == F_DUPFD || a2 == F_DUPFD_CLOEXEC {
			n, _, errno := RawSyscall6(SYS_FCNTL, a1, a2, a3, 0, 0, 0)
			if errno == 0 {
				tandemDuplicated(fd, int(n))
			}
			return tandemReturn(int(n), errno)
		}
		return 0, 0, false
	case SYS_SETSOCKOPT, SYS_GETSOCKOPT, SYS_FSTAT, SYS_IOCTL:
		return 0, 0, false // the placeholder answers
	case SYS_LISTEN, SYS_ACCEPT, SYS_ACCEPT4:
		tandemRefuseCall("listening on a socket (only clients can be checked)")
	}
	tandemRefuseCall("a system call on a socket that is not supported")
	return 0, ENOSYS, true
}

//go:nosplit
func tandemReturn(n int, e Errno) (uintptr, Errno, bool) {
	if e != 0 {
		return ^uintptr(0), e, true
	}
	return uintptr(n), 0, true
}

// tandemAsk answers package tandem.
func tandemAsk(what, n uintptr, p unsafe.Pointer) (uintptr, Errno, bool) {
	switch what {
	case 1:
		return uintptr(tandemChooseValue(uint32(n))), 0, true
	case 2:
		tandemAssertFailed(string(unsafe.Slice((*byte)(p), n)))
	}
	return 0, ENOSYS, true
}

// tandemForbidden names what a call would do that later executions, or other
// processes, could notice.
//
//go:nosplit
func tandemForbidden(trap uintptr) string {
	switch trap {
	case SYS_FORK, SYS_VFORK, SYS_CLONE, tandemCLONE3, SYS_EXECVE, tandemEXECVEAT:
		return tandemNoSubprocess
	case SYS_KILL, SYS_TKILL, SYS_TGKILL:
		return "sending a signal"
	case SYS_CHROOT:
		return "changing the root directory"
	case SYS_PIPE, SYS_PIPE2:
		return "a pipe (no process is there to use it)"
	case tandemIO_URING, SYS_EPOLL_CREATE1, SYS_MOUNT, SYS_PTRACE:
		return "a system call that cannot be checked"
	}
	return ""
}

const tandemNoSubprocess = "starting a subprocess"

// tandemRefuseSubprocess is called at the start of forkExec.
func tandemRefuseSubprocess() {
	if tandemIsOn() {
		tandemRefuseCall(tandemNoSubprocess)
	}
}

func tandemName(fd int, peer bool, to, length unsafe.Pointer) (uintptr, Errno, bool) {
	c := tandemConnections[fd]
	a := &c.local
	if peer {
		if !c.connected {
			return tandemReturn(0, ENOTCONN)
		}
		a = &c.remote
	}
	raw := RawSockaddrInet4{Family: AF_INET, Addr: a.Addr, Port: uint16(a.Port)<<8 | uint16(a.Port)>>8}
	n := (*uint32)(length)
	copy(unsafe.Slice((*byte)(to), *n), unsafe.Slice((*byte)(unsafe.Pointer(&raw)), SizeofSockaddrInet4))
	*n = SizeofSockaddrInet4
	return 0, 0, true
}

func tandemReadVector(fd int, iov unsafe.Pointer, n, flags int) (uintptr, Errno, bool) {
	v := unsafe.Slice((*Iovec)(iov), n)
	total := 0
	for _, x := range v {
		total += int(x.Len)
	}
	b := make([]byte, max(total, 1))
	r, e := tandemReadSocket(fd, unsafe.Pointer(&b[0]), total, flags)
	b = b[:r]
	for _, x := range v {
		b = b[copy(unsafe.Slice(x.Base, x.Len), b):]
	}
	return tandemReturn(r, e)
}

func tandemWriteVector(fd int, iov unsafe.Pointer, n int) (uintptr, Errno, bool) {
	var b []byte
	for _, x := range unsafe.Slice((*Iovec)(iov), n) {
		b = append(b, unsafe.Slice(x.Base, x.Len)...)
	}
	return tandemReturn(tandemWriteSocket(fd, unsafe.Pointer(unsafe.SliceData(b)), len(b)))
}

func tandemReceiveMessage(fd int, p unsafe.Pointer, flags int) (uintptr, Errno, bool) {
	m := (*Msghdr)(p)
	m.Namelen, m.Controllen, m.Flags = 0, 0, 0
	return tandemReadVector(fd, unsafe.Pointer(m.Iov), int(m.Iovlen), flags)
}

func tandemSendMessage(fd int, p unsafe.Pointer) (uintptr, Errno, bool) {
	m := (*Msghdr)(p)
	if m.Controllen > 0 {
		tandemRefuseCall("sending control messages over a socket")
	}
	return tandemWriteVector(fd, unsafe.Pointer(m.Iov), int(m.Iovlen))
}

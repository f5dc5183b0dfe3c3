package syscall

import "unsafe"

//go:linkname tandemRefuseCall
func tandemRefuseCall(what string)

//go:linkname tandemAssertFailed
func tandemAssertFailed(what string)

//go:linkname tandemChooseValue
func tandemChooseValue(n uint32) uint32

//go:linkname tandemEstimate
func tandemEstimate(n int64)

//go:linkname tandemStatePoint
func tandemStatePoint() (wanted bool)

//go:linkname tandemStateNamed
func tandemStateNamed(named bool, low, high uint64)

const (
	// A call that no kernel has: package tandem asks with it whether the
	// program is being checked.
	tandemTrap       = 0x74616e64
	tandemToEstimate = 3 // what it asks then
	tandemToPublish  = 4
	tandemToState    = 5 // the state: is it to be hashed?
	tandemToldState  = 6 // it was: the two halves of the hash
	tandemToldNone   = 7 // it cannot be
	tandemPid        = 1000

	tandemCLONE3   = 435
	tandemEXECVEAT = 322

	tandemPidfdSend = 424
	tandemPidfdOpen = 434
)

//go:linkname tandemDisturb
func tandemDisturb()

//go:linkname tandemDetailPrinted
func tandemDetailPrinted(fd int, bytes int64)

//go:linkname tandemKernel
func tandemKernel(trap, a1, a2, a3, a4, a5, a6 uintptr) (r1, r2, e uintptr, done bool)

//go:linkname tandemEndSingleAccess
func tandemEndSingleAccess()

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
	// What is printed, and estimates, nobody but the checker reads.
	if (trap != SYS_WRITE || a1 > 2) && (trap != tandemTrap || a1 != tandemToEstimate) {
		tandemEndSingleAccess()
	}
	if r, e, taken = tandemProbe(trap, a1, a2, a3); taken {
		return r, e, true
	}
	if !tandemIsSocket(a1) {
		if r, e, taken = tandemFileCall(trap, a1, a2, a3, a4, a5, a6); taken {
			return r, e, true
		}
	}
	// Between these two calls the goroutine is not under control.
	if trap == tandemTrap && (a1 == tandemToldState || a1 == tandemToldNone) {
		tandemStateNamed(a1 == tandemToldState, uint64(a2), uint64(a3))
		return 0, 0, true
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
	case SYS_CLOCK_GETTIME, SYS_GETTIMEOFDAY, SYS_GETRUSAGE, SYS_TIMES, SYS_NANOSLEEP:
		e, taken = tandemClockCall(trap, a1, a2)
		return 0, e, taken
	case SYS_KILL, SYS_TKILL:
		return tandemReturn(0, tandemKill(int(int32(a1)), a2))
	case SYS_TGKILL:
		return tandemReturn(0, tandemKill(int(int32(a1)), a3))
	case tandemPidfdOpen, tandemPidfdSend, SYS_WAITID:
		return tandemReturn(0, ENOSYS) // package os then does with process IDs
	case SYS_PIPE2:
		return tandemReturn(0, tandemPipe((*[2]_C_int)(unsafe.Pointer(a1)), a2))
	}
	if (trap == SYS_SPLICE || trap == tandemCopyRange) && tandemIsSocket(a3) || trap == SYS_SENDFILE &&
		tandemIsSocket(a2) {
		return ^uintptr(0), EINVAL, true
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
	case tandemToEstimate:
		tandemEstimate(int64(n))
		return 0, 0, true
	case tandemToState:
		if tandemStatePoint() {
			return 1, 0, true
		}
		return 0, 0, true
	case tandemToPublish:
		tandemPublish(unsafe.Slice((*byte)(p), n))
		return 0, 0, true
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
	case SYS_CHROOT:
		return "changing the root directory"
	case SYS_SELECT, SYS_PSELECT6, SYS_POLL, SYS_PPOLL, SYS_EPOLL_CREATE, SYS_EPOLL_CREATE1:
		return "waiting for descriptors by system calls of its own"
	case SYS_INOTIFY_INIT, SYS_INOTIFY_INIT1, SYS_EVENTFD, SYS_EVENTFD2, SYS_TIMERFD_CREATE, SYS_SIGNALFD,
		SYS_SIGNALFD4:
		return "a descriptor for events (inotify, eventfd, timerfd, signalfd)"
	case SYS_SETPGID, SYS_SETSID, SYS_SETPRIORITY, SYS_SETUID, SYS_SETGID, SYS_SETRESUID, SYS_SETRESGID,
		SYS_SETGROUPS, SYS_UNSHARE:
		return "changing the process that the program runs in"
	case SYS_MOUNT, SYS_UMOUNT2, SYS_PTRACE, SYS_REBOOT, SYS_SETTIMEOFDAY, SYS_SETHOSTNAME, SYS_MREMAP:
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

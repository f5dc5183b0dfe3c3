package syscall

// Calls about the numbers of descriptors, and locks, which belong to descriptions.

// tandemReserved reports whether a descriptor is one of the worker's own, of
// which the program knows nothing.
//
//go:nosplit
func tandemReserved(fd int) bool { return fd >= sharedFD && fd <= answerFD || fd == tandemFiles.null }

func tandemCloseFile(fd int) Errno {
	d := tandemDescribed(fd)
	if d.node.output == 0 {
		tandemFilePoint(opFileWrite, d.number, nil)
	}
	if tandemDescribed(fd) != d {
		return EBADF
	}
	tandemDetach(fd)
	if fd > 2 { // the kernel's own go to the checker, whatever the program does with their numbers
		RawSyscall6(SYS_CLOSE, uintptr(fd), 0, 0, 0, 0, 0)
	}
	return 0
}

// tandemDetach takes a descriptor away from its description.
func tandemDetach(fd int) {
	d := tandemFiles.table[fd]
	tandemFiles.table[fd] = nil
	tandemMarkFile(fd, false)
	if d.refs--; d.refs > 0 {
		return
	}
	if d.lock != 0 {
		tandemFileAccess(opFileWrite, accessWrite, lockObject(d.node), &d.node.lock)
		d.unlock()
	}
	d.node.opened--
	d.node.unused()
}

// tandemDuplicate is dup, and F_DUPFD with the number to begin at.
func tandemDuplicate(fd int, how, from uintptr) (int, Errno) {
	d := tandemDescribed(fd)
	of := fd
	if fd <= 2 {
		of = tandemFiles.null
	}
	n, _, e := RawSyscall6(SYS_FCNTL, uintptr(of), how, from, 0, 0, 0)
	if e != 0 {
		return 0, e
	}
	tandemAttach(int(n), d)
	return int(n), 0
}

// tandemReplace is dup2 and dup3.
func tandemReplace(fd, to int, flags uintptr) (int, Errno) {
	d := tandemDescribed(fd)
	if to < 0 || tandemReserved(to) {
		return 0, EBADF
	}
	if fd == to {
		return to, 0
	}
	if tandemIsSocket(uintptr(to)) {
		tandemRefuseCall("replacing a socket with dup2 or dup3")
	}
	if to > 2 {
		if _, _, e := RawSyscall6(SYS_DUP3, uintptr(tandemFiles.null), uintptr(to), flags, 0, 0, 0); e != 0 {
			return 0, e
		}
	}
	if tandemDescribed(to) != nil {
		tandemDetach(to)
	}
	tandemAttach(to, d)
	return to, 0
}

const (
	tandemGetPosixLock = 5
	tandemSetPosixLock = 6
	tandemPosixWait    = 7
	tandemSetOwner     = 8
	tandemSetSignal    = 10
)

func tandemControl(fd int, what, argument uintptr, lock *Flock_t) (int, Errno) {
	const settable = O_APPEND | O_NONBLOCK | O_DIRECT
	d := tandemDescribed(fd)
	switch what {
	case F_DUPFD, F_DUPFD_CLOEXEC:
		return tandemDuplicate(fd, what, argument)
	case F_GETFL:
		return d.flags | 0x8000, 0 // O_LARGEFILE
	case F_SETFL:
		d.flags = d.flags&^settable | int(argument)&settable
		return 0, 0
	case F_GETFD, F_SETFD:
		if fd <= 2 {
			return 0, 0
		}
		n, _, e := RawSyscall6(SYS_FCNTL, uintptr(fd), what, argument, 0, 0, 0)
		return int(n), e
	case tandemGetPosixLock: // a process does not lock itself out, and there is no other
		lock.Type = F_UNLCK
		return 0, 0
	case tandemSetPosixLock, tandemPosixWait:
		return 0, 0
	case tandemSetOwner, tandemSetSignal:
		tandemRefuseCall("asking for signals about a file (fcntl)")
	}
	// Locks of descriptions, leases, hints, seals: Linux has learned them one by one. Libraries try
	// whether they are there, some when they are initialised, and have another way.
	return 0, EINVAL
}

func lockObject(n *tandemNode) uint64 { return tandemNamed(n.number, "lock") }

// tandemLock is flock. A description that holds a lock gives it up to get another.
func tandemLock(fd int, how int) Errno {
	d := tandemDescribed(fd)
	n := d.node
	waits := how&LOCK_NB == 0
	switch how &^ LOCK_NB {
	case LOCK_UN:
		tandemFilePoint(opFileWrite, lockObject(n), &n.lock)
		d.unlock()
		return 0
	case LOCK_SH, LOCK_EX:
	default:
		return EINVAL
	}
	if d.lock != 0 {
		tandemFilePoint(opFileWrite, lockObject(n), &n.lock)
		d.unlock()
	}
	op := uint8(opFileLock)
	if how&LOCK_SH != 0 {
		op = opFileShare
	}
	if waits {
		tandemFilePoint(op, lockObject(n), &n.lock)
	} else {
		tandemFilePoint(opFileWrite, lockObject(n), &n.lock)
	}
	if n.lock < 0 || n.lock > 0 && op == opFileLock {
		return EAGAIN
	}
	if d.lock = 1; op == opFileLock {
		d.lock = -1
	}
	n.lock += d.lock
	return 0
}

func (d *tandemDescription) unlock() {
	d.node.lock -= d.lock
	d.lock = 0
}

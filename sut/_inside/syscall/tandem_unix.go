package syscall

import "unsafe"

// Names of Unix sockets are kept apart from the file system. A path that has been
// bound stays, also when its socket is closed, until somebody unlinks it.

func (a *tandemAddress) isPath() bool { return a.name != "" && a.name[0] != 0 }

func tandemBindUnix(fd int, e *tandemEndpoint, a tandemAddress) Errno {
	if a.name == "" {
		a.name = tandemAbstractName()
		tandemTouchName(opBind, tandemPlace(e.domain, e.kind, &a), accessWrite)
	} else {
		tandemSocketPoint(opBind, uintptr(fd), tandemPlaceQueue(e, &a), 0)
	}
	if tandemFindName(a.name) != nil || a.isPath() && tandemExists(a.name) {
		return EADDRINUSE
	}
	e.local, e.bound = a, true
	tandemNames = append(tandemNames, e)
	return 0
}

// tandemAbstractName is for a socket that wants any name.
func tandemAbstractName() string {
	const digits = "0123456789abcdef"
	name := [6]byte{}
	for i, x := 1, tandemNewName(); i < len(name); i++ {
		name[i] = digits[x%16]
		x /= 16
	}
	return string(name[:])
}

func tandemPlaceQueue(e *tandemEndpoint, a *tandemAddress) *socketQueue {
	return &socketQueue{object: tandemPlace(e.domain, e.kind, a), readable: true, room: tandemAnyRoom}
}

func tandemFindName(name string) *tandemEndpoint {
	for _, e := range tandemNames {
		if e.domain == AF_UNIX && e.local.name == name {
			return e
		}
	}
	return nil
}

// tandemExists looks for a file of the machine.
func tandemExists(name string) bool {
	path := append([]byte(name), 0)
	_, _, e := RawSyscall6(SYS_FACCESSAT, ^uintptr(99), uintptr(unsafe.Pointer(&path[0])), 0, 0, 0, 0)
	return e == 0
}

// tandemNoUnix says why nobody could be found at the name of a Unix socket.
func tandemNoUnix(kind int, a *tandemAddress) Errno {
	e := tandemFindName(a.name)
	switch {
	case e != nil && e.bound && e.kind != kind:
		return EPROTOTYPE
	case e == nil && a.isPath() && !tandemExists(a.name):
		return ENOENT
	}
	return ECONNREFUSED
}

// tandemPathCall serves the calls about files that are about a bound path.
//
//go:nocheckptr
func tandemPathCall(trap uintptr, path, p unsafe.Pointer) (uintptr, Errno, bool) {
	n := 0
	for *(*byte)(unsafe.Add(path, n)) != 0 {
		n++
	}
	e := tandemFindName(string(unsafe.Slice((*byte)(path), n)))
	if e == nil {
		return 0, 0, false
	}
	switch trap {
	case SYS_UNLINK, SYS_UNLINKAT:
		tandemSocketPoint(opBind, 0, tandemPlaceQueue(e, &e.local), 0)
		for i, b := range tandemNames {
			if b == e {
				tandemNames = append(tandemNames[:i:i], tandemNames[i+1:]...)
				break
			}
		}
	case SYS_NEWFSTATAT, SYS_LSTAT, SYS_STAT:
		*(*Stat_t)(p) = Stat_t{Mode: S_IFSOCK | 0o755, Nlink: 1, Ino: 1, Blksize: 4096}
	}
	return 0, 0, true
}

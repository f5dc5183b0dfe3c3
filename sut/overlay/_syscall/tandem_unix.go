package syscall

// Unix sockets are bound to files, which know them, or to abstract names.

func (a *tandemAddress) isPath() bool { return a.name != "" && a.name[0] != 0 }

func tandemBindUnix(fd int, e *tandemEndpoint, a tandemAddress) Errno {
	if a.isPath() {
		p, errno := tandemLocate(true, false, tandemHereSigned, a.name, tandemLinksNever)
		if errno != 0 {
			return errno
		}
		n, errno := tandemMake(&p, S_IFSOCK|0o777&^tandemFiles.umask)
		if errno == EEXIST {
			return EADDRINUSE
		}
		if errno != 0 {
			return errno
		}
		n.socket, e.local, e.bound = e, a, true
		if e.kind == SOCK_DGRAM {
			e.noteServing()
		}
		if e.toldWhenBound() {
			tandemSocketPoint(opBind, uintptr(fd), nil, 0)
			return e.openDatagrams(opBind, nil)
		}
		return 0
	}
	if a.name == "" {
		a.name = tandemAbstractName()
		tandemTouchName(opBind, tandemAddressName(e.domain, e.kind, &a), accessWrite)
	} else {
		tandemSocketPoint(opBind, uintptr(fd), tandemAddressQueue(e, &a), 0)
	}
	if e.nameTaken(&a) {
		return EADDRINUSE
	}
	e.local, e.bound = a, true
	tandemNames = append(tandemNames, e)
	return 0
}

func (e *tandemEndpoint) nameTaken(a *tandemAddress) bool {
	for _, b := range tandemNames {
		if b.domain == AF_UNIX && b.local.name == a.name && b.kind == e.kind {
			return true
		}
	}
	return false
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

// tandemFindUnix finds who is bound to a name.
func tandemFindUnix(kind int, a *tandemAddress) (*tandemEndpoint, Errno) {
	if !a.isPath() {
		for _, b := range tandemNames {
			if b.domain == AF_UNIX && b.local.name == a.name && b.kind == kind {
				return b, 0
			}
		}
		return nil, ECONNREFUSED
	}
	p, errno := tandemWalkNoted(tandemHereSigned, a.name, tandemLinksAlways)
	switch {
	case errno != 0:
		return nil, errno
	case p.node == nil:
		return nil, ENOENT
	case p.node.socket == nil || !p.node.socket.bound:
		return nil, ECONNREFUSED
	case p.node.socket.kind != kind:
		return nil, EPROTOTYPE
	}
	return p.node.socket, 0
}

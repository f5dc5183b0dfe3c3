package syscall

import "unsafe"

const tandemMaxBacklog = 4096 // as Linux has it

// tandemListen makes a bound socket one that accepts connections.
func tandemListen(fd, backlog int) Errno {
	e := tandemEndpoints[fd]
	before := e.listening
	errno := e.listen(fd, backlog)
	if errno == 0 && !before {
		e.noteServing()
	}
	return errno
}

func (e *tandemEndpoint) listen(fd, backlog int) Errno {
	if e.kind == SOCK_DGRAM {
		return EOPNOTSUPP
	}
	if e.connected {
		return EINVAL
	}
	if !e.bound {
		if e.domain == AF_UNIX {
			return EINVAL
		}
		a := tandemAddress{ip: tandemAnySix}
		if e.domain == AF_INET {
			a.ip = tandemAnyFour
		}
		if errno := tandemBind(fd, e, a); errno != 0 {
			return errno
		}
	}
	place, foreign := tandemAddressQueue(e, &e.local), e.opensToPeers()
	if foreign {
		tandemSocketPoint(opBind, uintptr(fd), nil, 0)
		tandemTouch(opBind, place, accessWrite)
	} else {
		tandemSocketPoint(opBind, uintptr(fd), place, 0)
	}
	for _, b := range tandemNames {
		if b != e && b.listening && e.overlaps(&e.local, b) &&
			(e.option(SOL_SOCKET, tandemREUSEPORT) == 0 || b.option(SOL_SOCKET, tandemREUSEPORT) == 0) {
			return EADDRINUSE
		}
	}
	if e.in == nil {
		e.in = tandemNewFlow(0)
		e.register()
	}
	e.backlog = max(min(backlog, tandemMaxBacklog), 0) + 1
	e.listening = true
	e.refresh()
	if foreign {
		return e.listenForeign()
	}
	return 0
}

// tandemAccept takes the connection that has waited longest.
func tandemAccept(fd int, to unsafe.Pointer, length *uint32, flags int) (int, Errno) {
	l := tandemEndpoints[fd]
	switch {
	case l.kind == SOCK_DGRAM:
		return 0, EOPNOTSUPP
	case !l.listening:
		return 0, EINVAL
	case !tandemWait(opAccept, fd, &l.in.queue, 0, 0):
		return 0, EAGAIN
	case len(l.waiting) == 0:
		return 0, EAGAIN
	}
	s, _, errno := RawSyscall6(SYS_SOCKET, uintptr(l.domain), uintptr(l.kind|flags), 0, 0, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	l.in.queue.awaited = false
	e := l.waiting[0]
	l.waiting = append(l.waiting[:0:0], l.waiting[1:]...)
	l.refresh()
	if len(l.waiting) >= l.backlog {
		l.waiting[l.backlog-1].establishOther()
	}
	e.fds = e.fds[:0]
	tandemAttachSocket(e, int(s))
	e.refresh()
	e.remote.write(e.domain, to, length)
	e.noteTaken(opAccept, exchangeAccept, nil)
	return int(s), 0
}

// establishOther makes a connection usable for the end that has asked for it.
func (e *tandemEndpoint) establishOther() {
	if e.other == nil {
		return
	}
	tandemTouch(opConnect, &e.in.queue, accessWrite)
	e.in.limit = tandemBufferBytes
	e.other.refresh()
}

// closeListener resets the connections that nobody has accepted.
func (e *tandemEndpoint) closeListener() {
	tandemTouch(opDescriptorClose, &e.in.queue, accessWrite)
	e.listening = false
	if e.foreign {
		tandemCloseForeign(e)
	}
	for _, s := range e.waiting {
		if s.foreign {
			tandemCloseForeign(s)
			continue
		}
		client := s.other
		s.closeStream()
		if client != nil {
			client.fault, client.shut = ECONNRESET, true
			client.refresh()
		}
	}
	e.waiting = nil
}

// tandemConnect connects at once, to the program itself or else to a peer.
func tandemConnect(fd int, address unsafe.Pointer, length uintptr) Errno {
	e := tandemEndpoints[fd]
	a, errno := tandemReadAddress(e.domain, address, length)
	if errno != 0 {
		return errno
	}
	if a.isAny() && e.domain != AF_UNIX {
		a.ip = tandemLoopback(a.isFour())
	}
	switch {
	case e.kind == SOCK_DGRAM:
		if errno = e.connectDatagram(fd, a); errno == 0 {
			return 0 // nobody knows yet whether there is anybody
		}
		if e.domain != AF_UNIX {
			return errno // nothing was sent: programs do so to learn their own address
		}
	case e.connected || e.listening:
		return EISCONN
	case e.domain == AF_UNIX:
		errno = e.connectUnix(fd, a)
	default:
		errno = e.connectStream(fd, a)
	}
	e.noteDial(&a, errno)
	return errno
}

// connectStream connects to an IP address.
func (e *tandemEndpoint) connectStream(fd int, a tandemAddress) Errno {
	e.pointConnect(fd, &a)
	l := tandemLookUp(e.kind, &a, isListening)
	switch {
	case l != nil:
		return e.connectTo(l, a)
	case tandemHasPeers():
		if errno := a.unreachable(); errno != 0 {
			return errno
		}
		return e.connectForeign(fd, a)
	case a.isOwn():
		return ECONNREFUSED
	}
	return ENETUNREACH
}

func isListening(e *tandemEndpoint) bool { return e.listening }

// tandemLoopback is the loopback address of a family.
func tandemLoopback(four bool) [16]byte {
	if four {
		return tandemLoopFour
	}
	return tandemLoopSix
}

// pointConnect is the point of a connect. As far as anybody can tell now, it is
// to an address of the program or it is an input to the peers.
func (e *tandemEndpoint) pointConnect(fd int, a *tandemAddress) {
	queue := tandemAddressQueue(e, a)
	if tandemHasPeers() && tandemLookUp(e.kind, a, isListening) == nil {
		tandemSocketPoint(opConnect, uintptr(fd), nil, 0)
		tandemTouch(opConnect, queue, accessRead)
		return
	}
	tandemSocketPoint(opConnect, uintptr(fd), queue, 0)
}

func (e *tandemEndpoint) connectUnix(fd int, a tandemAddress) Errno {
	queue := tandemAddressQueue(e, &a)
	l, errno := tandemFindUnix(e.kind, &a)
	if errno.isNobody() && tandemHasPeers() {
		tandemSocketPoint(opConnect, uintptr(fd), nil, 0)
		tandemTouch(opConnect, queue, accessRead)
	} else {
		tandemSocketPoint(opConnect, uintptr(fd), queue, 0)
	}
	l, errno = tandemFindUnix(e.kind, &a)
	switch {
	case errno.isNobody() && tandemHasPeers():
		return tandemNearer(errno, e.connectForeign(fd, a))
	case errno != 0:
		return errno
	case !l.listening:
		return ECONNREFUSED
	case len(l.waiting) >= l.backlog:
		return EAGAIN
	}
	return e.connectTo(l, a)
}

// connectTo connects to a listener of the program.
func (e *tandemEndpoint) connectTo(l *tandemEndpoint, a tandemAddress) Errno {
	if !e.bound && e.domain != AF_UNIX {
		local := tandemAddress{ip: a.source()}
		tandemChoosePort(e, &local)
		e.local, e.bound = local, true
		tandemNames = append(tandemNames, e)
	} else if e.local.isAny() && e.domain != AF_UNIX {
		e.local.ip = a.source()
	}
	e.in, e.out = tandemNewFlow(tandemBufferBytes), tandemNewFlow(tandemBufferBytes)
	s := &tandemEndpoint{domain: l.domain, kind: l.kind, local: a, remote: e.local, connected: true,
		in: e.out, out: e.in}
	if e.domain == AF_UNIX {
		s.local = l.local
	}
	e.remote, e.connected = a, true
	e.other, s.other = s, e
	tandemTouch(opConnect, &l.in.queue, accessWrite)
	l.waiting = append(l.waiting, s)
	if l.refresh(); len(l.waiting) > l.backlog {
		e.out.limit = 0 // until it is accepted
	}
	e.register()
	e.refreshBoth()
	if len(l.waiting) > l.backlog {
		return EINPROGRESS
	}
	return 0
}

// tandemName answers getsockname and getpeername.
func tandemName(fd int, peer bool, to, length unsafe.Pointer) Errno {
	e := tandemEndpoints[fd]
	if e.domain == 0 {
		return ENOTSOCK
	}
	a := e.local
	if peer {
		if !e.connected {
			return ENOTCONN
		}
		a = e.remote
	} else if !e.bound && !e.connected && e.domain == AF_INET {
		a.ip = tandemAnyFour
	}
	a.write(e.domain, to, (*uint32)(length))
	return 0
}

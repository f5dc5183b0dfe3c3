package syscall

import "unsafe"

// tandemMessage is a datagram, or a message of a socket that keeps their bounds.
type tandemMessage struct {
	data   []byte
	from   tandemAddress
	beyond bool // a peer has sent it
}

const (
	tandemMaxDatagram  = 65507
	tandemMessageCost  = 512 // bytes of a buffer that a message takes beside its own
	tandemUnixMessages = 11  // that wait at most at a Unix socket
)

// isMessages reports whether what is written at once is read at once.
func (e *tandemEndpoint) isMessages() bool {
	return e.kind != SOCK_STREAM && e.domain != 0
}

// putMessage leaves a message to be read at the end that f leads to.
func (f *tandemFlow) putMessage(p []byte, from tandemAddress) {
	f.messages = append(f.messages, tandemMessage{append([]byte(nil), p...), from, false})
	f.queued += len(p) + tandemMessageCost
}

// receiveMessage waits for a message, and returns how long it was and who sent
// it. With no error and no sender it is the end of a connection.
func (e *tandemEndpoint) receiveMessage(
	fd int, p []byte, flags int,
) (n, length int, from *tandemAddress, errno Errno) {
	switch {
	case e.in == nil || e.listening:
		return 0, 0, nil, ENOTCONN
	case !tandemWait(opSocketRead, fd, &e.in.queue, 0, flags):
		return 0, 0, nil, EAGAIN
	}
	e.in.queue.awaited = false
	if e.kind == SOCK_DGRAM && e.fault != 0 || len(e.in.messages) == 0 {
		return 0, 0, nil, e.clearFault()
	}
	if flags&MSG_PEEK == 0 && !e.suffers() {
		return e.receiveMessage(fd, p, flags)
	}
	m := &e.in.messages[0]
	n = copy(p, m.data)
	if flags&MSG_PEEK == 0 {
		e.dropFirst()
		e.arriveNext()
		e.refreshBoth()
		if m.beyond {
			e.noteTaken(opSocketRead, exchangeReceive, tandemMessageTo(m.data, &m.from, e.domain))
		}
	}
	return n, len(m.data), &m.from, 0
}

// sendMessage sends a message over a connection.
func (e *tandemEndpoint) sendMessage(fd int, p []byte, flags int) (int, Errno) {
	switch {
	case e.out == nil:
		return 0, ENOTCONN
	case e.foreign:
		return e.writeForeign(fd, p)
	case len(p)+tandemMessageCost > tandemBufferBytes:
		return 0, EMSGSIZE
	case !tandemWait(opBufferWrite, fd, &e.out.queue, len(p)+tandemMessageCost, flags):
		return 0, EAGAIN
	case e.shut || e.out.broken:
		if e.kind == SOCK_DGRAM { // a pair
			return 0, ECONNREFUSED
		}
		return 0, EPIPE
	}
	e.out.putMessage(p, e.local)
	e.refreshBoth()
	return len(p), 0
}

// sendDatagram sends to an address, or to the one that it is connected to.
func (e *tandemEndpoint) sendDatagram(fd int, p []byte, flags int, to *tandemAddress) (int, Errno) {
	switch {
	case to == nil && !e.connected && e.domain == AF_UNIX:
		return 0, ENOTCONN
	case to == nil && !e.connected:
		return 0, EDESTADDRREQ
	case to == nil:
		to = &e.remote
	}
	if e.domain == AF_UNIX {
		return e.sendUnixDatagram(fd, p, flags, to)
	}
	if to.isAny() {
		to.ip = tandemLoopback(to.isFour())
	}
	switch {
	case len(p) > tandemMaxDatagram:
		return 0, EMSGSIZE
	case to.port == 0:
		return 0, EINVAL
	case to.isMulticast() && tandemHasPeers():
		tandemRefuseCall("a datagram to several receivers (multicast, broadcast)")
	case !to.isRouted():
		e.noteDial(to, ENETUNREACH)
		return 0, ENETUNREACH
	}
	e.bindAny()
	return e.sendOver(fd, p, to)
}

// sendOver sends a datagram to whoever is at an address when its turn comes.
func (e *tandemEndpoint) sendOver(fd int, p []byte, to *tandemAddress) (int, Errno) {
	from := e.local
	if from.isAny() {
		from.ip = to.source()
	}
	find := func() *tandemEndpoint {
		return tandemLookUp(e.kind, to, func(d *tandemEndpoint) bool {
			return !d.connected || d.remote.port == from.port && d.remote.ip == from.ip
		})
	}
	fault := uint32(0)
	if d := find(); d == nil && to.maybeOfPeers() {
		fault = tandemFault(faultsSent, datagramFaults, e.sparesDatagram(to), nil)
		e.pointSendForeign(fd, to)
	} else {
		e.pointSend(fd, to, d)
	}
	tandemTouch(opSendTo, &e.in.queue, accessRead)
	switch {
	case tandemExpired(uintptr(fd), true):
		return 0, EAGAIN
	case e.fault != 0:
		tandemTouch(opSendTo, &e.in.queue, accessWrite)
		return 0, e.clearFault()
	case e.shut:
		return 0, EPIPE
	}
	switch d := find(); {
	case d != nil:
		if !e.reached {
			e.reached = true
			e.noteDial(to, 0)
		}
		d.deliver(p, from)
	case to.maybeOfPeers():
		return e.sendForeign(p, to, fault)
	default:
		e.undeliverable(p, to)
	}
	return len(p), 0
}

// pointSend is the point of sending a datagram to whom it would reach now.
func (e *tandemEndpoint) pointSend(fd int, to *tandemAddress, d *tandemEndpoint) {
	name := tandemAddressQueue(e, to)
	if d == nil {
		tandemSocketPoint(opSendTo, uintptr(fd), name, 0)
		return
	}
	tandemSocketPoint(opSendTo, uintptr(fd), &d.in.queue, 0)
	tandemTouch(opSendTo, name, accessRead)
}

// deliver leaves a datagram at a socket that has room for it; otherwise it is lost.
func (d *tandemEndpoint) deliver(p []byte, from tandemAddress) {
	tandemTouch(opSendTo, &d.in.queue, accessWrite)
	if d.in.queued+len(p)+tandemMessageCost <= tandemBufferBytes && !d.deaf {
		d.in.putMessage(p, from)
		d.refresh()
	}
}

// undeliverable is for a datagram to where nobody is. Who is connected learns it;
// a question to a name server has its answer.
func (e *tandemEndpoint) undeliverable(p []byte, to *tandemAddress) {
	if e.connected && e.remote.port == tandemDomainPort {
		if answer := tandemNoSuchName(p); answer != nil {
			tandemNoteQuestion(p)
			e.deliver(answer, e.remote)
			return
		}
	}
	e.noteDial(to, ECONNREFUSED)
	if e.connected {
		tandemTouch(opSendTo, &e.in.queue, accessWrite)
		e.fault = ECONNREFUSED
		e.refresh()
	}
}

// bindAny gives a socket a port of its own, if it has none yet.
func (e *tandemEndpoint) bindAny() {
	if e.bound {
		return
	}
	a := tandemAddress{ip: tandemAnyFour}
	if e.domain == AF_INET6 {
		a.ip = tandemAnySix
	}
	tandemChoosePort(e, &a)
	e.local, e.bound = a, true
	tandemNames = append(tandemNames, e)
}

func (e *tandemEndpoint) sendUnixDatagram(fd int, p []byte, flags int, to *tandemAddress) (int, Errno) {
	if len(p)+tandemMessageCost > tandemBufferBytes {
		return 0, EMSGSIZE
	}
	if e.foreign {
		return e.sendUnixForeign(fd, p, to)
	}
	d, errno := tandemFindUnix(e.kind, to)
	if errno.isNobody() && tandemHasPeers() {
		tandemRefuseCall("sending datagrams to a Unix socket of the peers without connecting to it")
	}
	if errno == 0 {
		if !tandemWait(opBufferWrite, fd, &d.in.queue, 1, flags) {
			return 0, EAGAIN
		}
	} else {
		tandemSocketPoint(opSendTo, uintptr(fd), tandemAddressQueue(e, to), 0)
	}
	if d, errno = tandemFindUnix(e.kind, to); errno != 0 {
		e.noteDial(to, errno)
		return 0, errno
	}
	if !e.reached {
		e.reached = true
		e.noteDial(to, 0)
	}
	d.deliver(p, e.local)
	return len(p), 0
}

// connectDatagram sets whom a datagram socket talks to.
func (e *tandemEndpoint) connectDatagram(fd int, a tandemAddress) Errno {
	if e.domain == AF_UNIX {
		_, errno := tandemFindUnix(e.kind, &a)
		if errno.isNobody() && tandemHasPeers() {
			return tandemNearer(errno, e.connectUnixDatagrams(fd, a))
		}
		if errno != 0 {
			return errno
		}
		e.remote, e.connected = a, true
		return 0
	}
	if a.isMulticast() && tandemHasPeers() {
		tandemRefuseCall("datagrams to several receivers (multicast, broadcast)")
	}
	if !a.isRouted() {
		return ENETUNREACH
	}
	e.bindAny()
	// Who sends to it may find it or not.
	tandemSocketPoint(opBind, uintptr(fd), tandemAddressQueue(e, &e.local), 0)
	tandemTouch(opConnect, &e.in.queue, accessWrite)
	if e.local.isAny() {
		e.local.ip = a.source()
	}
	tandemSetServing(uintptr(fd), false)
	e.remote, e.connected = a, true
	return 0
}

// receive serves all calls that read. length is that of a message before it was cut.
func (e *tandemEndpoint) receive(
	fd int, p []byte, flags int,
) (n, length int, from *tandemAddress, errno Errno) {
	if e.isMessages() {
		return e.receiveMessage(fd, p, flags)
	}
	n, errno = e.readStream(fd, p, flags)
	return n, n, nil, errno
}

// send serves all calls that write.
func (e *tandemEndpoint) send(fd int, p []byte, flags int, to *tandemAddress) (int, Errno) {
	switch {
	case e.domain == AF_NETLINK:
		return e.sendNetlink(p)
	case e.kind == SOCK_DGRAM && e.out == nil:
		return e.sendDatagram(fd, p, flags, to)
	case e.isMessages():
		return e.sendMessage(fd, p, flags)
	}
	return e.writeStream(fd, p, flags)
}

// writeFrom stores who sent a message; nobody is an empty address.
func (e *tandemEndpoint) writeFrom(from *tandemAddress, to, length unsafe.Pointer) {
	switch {
	case length == nil:
	case from == nil || e.kind != SOCK_DGRAM || e.domain == AF_UNIX && from.name == "":
		*(*uint32)(length) = 0
	default:
		from.write(e.domain, to, (*uint32)(length))
	}
}

func tandemReceiveFrom(
	fd int, p unsafe.Pointer, size, flags int, from, fromLength unsafe.Pointer,
) (int, Errno) {
	e := tandemEndpoints[fd]
	n, length, sender, errno := e.receive(fd, unsafe.Slice((*byte)(p), size), flags)
	if errno != 0 {
		return 0, errno
	}
	e.writeFrom(sender, from, fromLength)
	if flags&MSG_TRUNC != 0 && e.isMessages() {
		n = length
	}
	return n, 0
}

func tandemSendTo(fd int, p unsafe.Pointer, n, flags int, to unsafe.Pointer, length uintptr) (int, Errno) {
	e := tandemEndpoints[fd]
	b := unsafe.Slice((*byte)(p), n)
	if to == nil || length == 0 {
		return e.send(fd, b, flags, nil)
	}
	a, errno := tandemReadAddress(e.domain, to, length)
	if errno != 0 {
		return 0, errno
	}
	return e.send(fd, b, flags, &a)
}

package syscall

// Datagrams and messages between the program and its peers. A datagram socket is made known to the
// peers when it first sends to them; where they may send first, when it is bound.

// maybeOfPeers reports whether a peer may be at an address that nobody in the program has.
// Questions to name servers have their answer unless there are peers that serve names.
func (a *tandemAddress) maybeOfPeers() bool {
	return tandemHasPeers() && (a.port != tandemDomainPort || tandemHasNameServers())
}

func (a *tandemAddress) isMulticast() bool {
	if a.isFour() {
		return a.ip[12]&0xf0 == 224 || a.ip == [16]byte{10: 255, 11: 255, 12: 255, 13: 255, 14: 255, 15: 255}
	}
	return a.ip[0] == 0xff
}

// unreachable says why no network leads to an address that is not the machine's.
func (a *tandemAddress) unreachable() Errno {
	switch {
	case a.isFour() || a.isRouted():
		return 0 // the peers' network answers
	case a.ip[0] == 0xfe && a.ip[1]&0xc0 == 0x80 && a.zone == 0: // of a link, without the link
		return EINVAL
	}
	return ENETUNREACH
}

// isNobody reports whether looking for a Unix socket has found that there is none.
func (e Errno) isNobody() bool { return e == ENOENT || e == ECONNREFUSED || e == ENOTDIR }

// tandemNearer is the error of who looks for a Unix socket first in the program's files and then in
// those of the peers: there may be a file here, and none there.
func tandemNearer(here, there Errno) Errno {
	if there == ENOENT {
		return here
	}
	return there
}

// toldWhenBound reports whether the peers notice when a datagram socket gets an address: clients
// may send to it.
func (e *tandemEndpoint) toldWhenBound() bool {
	return tandemHasClients() && e.kind == SOCK_DGRAM &&
		(e.domain == AF_INET || e.domain == AF_INET6 || e.domain == AF_UNIX)
}

// toldOfAny reports whether that is also so where the program does not choose the port: other
// programs that are checked with it may learn of that.
func (e *tandemEndpoint) toldOfAny() bool {
	return e.toldWhenBound() && e.domain != AF_UNIX && tandemTellsTaken()
}

// outside describes a socket to the checker: what it talks to or listens at, and where it is
// itself. Either may be nil. The names of Unix sockets follow, one after the other.
func (e *tandemEndpoint) outside(to, from *tandemAddress) (a exchangeAddress, names []byte) {
	switch {
	case e.domain == AF_UNIX && e.kind == SOCK_STREAM:
		a.network = networkUnix
	case e.domain == AF_UNIX && e.kind == SOCK_DGRAM:
		a.network = networkUnixgram
	case e.domain == AF_UNIX:
		a.network = networkUnixpacket
	case e.kind == SOCK_DGRAM:
		a.network = networkUDP
	}
	if to != nil {
		a.flags |= addressAt
		a.ip, a.port = to.ip, uint32(to.port)
	}
	if from != nil {
		a.flags |= addressFrom
		a.from, a.fromPort = from.ip, uint32(from.port)
	}
	if e.domain == AF_UNIX {
		if to != nil {
			names = append(names, to.whole()...)
			a.port = uint32(len(names))
		}
		if from != nil {
			names = append(names, from.whole()...)
			a.fromPort = uint32(len(names)) - a.port
		}
		return a, names
	}
	four := to != nil && to.isFour() || from != nil && from.isFour()
	if !four && e.domain == AF_INET6 && e.option(IPPROTO_IPV6, IPV6_V6ONLY) != 0 {
		a.flags |= addressOnlySix
	}
	return a, nil
}

// whole is the name of a Unix socket, the path from the root.
func (a *tandemAddress) whole() string {
	if !a.isPath() || a.name[0] == '/' {
		return a.name
	}
	directory, ok := tandemWorking().path()
	if !ok {
		return a.name
	}
	if directory == "/" {
		directory = ""
	}
	return directory + "/" + a.name
}

// openDatagrams makes a datagram socket known to the peers: as one that talks to an address, or to
// any if that is nil.
func (e *tandemEndpoint) openDatagrams(op uint8, to *tandemAddress) Errno {
	from := &e.local
	switch {
	case e.domain == AF_UNIX && !e.bound:
		from = nil
	case e.domain != AF_UNIX && tandemTellsTaken(): // who it is, and each datagram says where it goes
		to = nil
	case e.domain != AF_UNIX && !e.chosen:
		if from = nil; to == nil {
			from = &tandemAddress{ip: e.local.ip}
		}
	}
	beyond := tandemNewFlow(0)
	beyond.queue.room = tandemAnyRoom
	address, names := e.outside(to, from)
	tandemTouchPeers(op, &beyond.queue)
	errno, number, deliveries, data := tandemExchange(exchangeConnect, tandemBehaviour(), &address,
		beyond.queue.object, names)
	tandemInput(op, number, nil)
	tandemPeersHear(tandemPass)
	if errno == 0 {
		e.beyond, e.open = beyond, to == nil
		e.setForeign(number)
		e.register()
	} else if e.domain == AF_UNIX && to == nil { // the peers do not have the directory
		errno = 0
	}
	tandemDeliver(op, deliveries, data)
	return Errno(errno)
}

// pointSendForeign is the point of sending a datagram to a peer.
func (e *tandemEndpoint) pointSendForeign(fd int, to *tandemAddress) {
	op := uint8(opSocketWrite)
	if !e.foreign {
		op = opConnect
	}
	tandemSocketPoint(op, uintptr(fd), nil, 0)
	tandemTouch(op, tandemAddressQueue(e, to), accessRead)
}

// sendForeign sends a datagram to a peer, on whose way a fault of the network waits if it is not 0.
func (e *tandemEndpoint) sendForeign(p []byte, to *tandemAddress, fault uint32) (int, Errno) {
	if !e.foreign {
		only := to
		if !e.connected {
			only = nil
		}
		if errno := e.openDatagrams(opConnect, only); errno != 0 {
			return 0, errno
		}
	}
	if !e.open {
		if to.ip != e.remote.ip || to.port != e.remote.port {
			tandemRefuseCall("sending to another address over a UDP socket that is connected to a peer")
		}
		to = nil
	}
	if errno := e.sendWith(fault, tandemMessageTo(p, to, e.domain)); errno != 0 {
		return 0, errno
	}
	return len(p), 0
}

func tandemInputMessage(e *tandemEndpoint, message []byte) {
	tandemTouchPeers(opSocketWrite, e.outQueue())
	_, _, deliveries, data := tandemExchange(exchangeSend, e.number, nil, 0, message)
	tandemInput(opSocketWrite, e.number, message)
	tandemDeliver(opSocketWrite, deliveries, data)
}

// connectUnixDatagrams connects a socket to one of the peers.
func (e *tandemEndpoint) connectUnixDatagrams(fd int, a tandemAddress) Errno {
	if e.foreign {
		tandemRefuseCall("connecting a Unix datagram socket that the peers know already")
	}
	tandemSocketPoint(opConnect, uintptr(fd), nil, 0)
	errno := e.openDatagrams(opConnect, &a)
	if errno == 0 {
		e.remote, e.connected = a, true
	}
	return errno
}

func (e *tandemEndpoint) sendUnixForeign(fd int, p []byte, to *tandemAddress) (int, Errno) {
	if e.open || to.name != e.remote.name {
		tandemRefuseCall("sending datagrams to a Unix socket of the peers without connecting to it")
	}
	tandemSocketPoint(opSocketWrite, uintptr(fd), nil, 0)
	switch {
	case tandemExpired(uintptr(fd), true):
		return 0, EAGAIN
	case e.fault != 0:
		return 0, e.clearFault()
	case e.shut:
		return 0, EPIPE
	}
	tandemInputMessage(e, tandemMessageTo(p, nil, e.domain))
	if errno := e.clearFailed(); errno != 0 {
		return 0, errno
	}
	return len(p), 0
}

// clearFailed returns the error of what was sent last, once.
func (e *tandemEndpoint) clearFailed() Errno {
	failed := e.failed
	e.failed = 0
	return failed
}

// tandemMessageTo is a message as it goes to the checker, with the address of its receiver if that
// is not nil.
func tandemMessageTo(p []byte, to *tandemAddress, domain int) []byte {
	b := make([]byte, messageHeader, messageHeader+messageIPSize+len(p))
	n := len(p)
	b[0], b[2], b[3], b[4], b[5] = messagePlain, byte(n>>24), byte(n>>16), byte(n>>8), byte(n)
	switch {
	case to == nil:
	case domain == AF_UNIX:
		b[0], b[1] = messagePath, byte(len(to.name))
		b = append(b, to.name...)
	default:
		b[0], b[1] = messageIP, messageIPSize
		b = append(b, to.ip[:]...)
		b = append(b, byte(to.port>>8), byte(to.port))
	}
	return append(b, p...)
}

// queueMessages leaves what has come from a peer to be read, as far as it is whole.
func (e *tandemEndpoint) queueMessages(p []byte) {
	b := append(e.partial, p...)
	for len(b) >= messageHeader {
		kind, named := b[0], int(b[1])
		length := int(b[2])<<24 | int(b[3])<<16 | int(b[4])<<8 | int(b[5])
		errno := Errno(length)
		if kind == messageError || kind == messageFailed {
			length = 0
		}
		if len(b) < messageHeader+named+length {
			break
		}
		name := b[messageHeader : messageHeader+named]
		data := b[messageHeader+named : messageHeader+named+length]
		switch kind {
		case messageError:
			if e.open && !e.connected {
				break // Linux tells nobody of it
			}
			e.fault = errno
			if e.connected {
				e.noteDial(&e.remote, errno)
			}
		case messageFailed:
			e.failed = errno
		default:
			e.queueMessage(data, tandemSender(kind, name, e))
		}
		b = b[messageHeader+named+length:]
	}
	e.partial = append([]byte(nil), b...)
	e.refresh()
}

// queueMessage leaves a message to be read, if there is room for it: else it is lost, as the kernel
// has it.
func (e *tandemEndpoint) queueMessage(p []byte, from tandemAddress) {
	switch {
	case e.kind != SOCK_DGRAM:
		e.in.putMessage(p, from)
	case e.connected && e.open && (from.ip != e.remote.ip || from.port != e.remote.port ||
		from.name != e.remote.name):
	case e.in.queued+len(p)+tandemMessageCost <= tandemBufferBytes && !e.deaf:
		e.in.putMessage(p, from)
		e.in.messages[len(e.in.messages)-1].beyond = true
	}
}

// tandemSender is who has sent a message.
func tandemSender(kind byte, name []byte, e *tandemEndpoint) (a tandemAddress) {
	switch {
	case kind == messageIP && len(name) == messageIPSize:
		return tandemReadIP(name)
	case kind == messagePath:
		a.name = string(name)
	default:
		a = e.remote
	}
	return a
}

// tandemReadIP is the address at the beginning of some bytes, as a message has it.
func tandemReadIP(b []byte) tandemAddress {
	return tandemAddress{ip: [16]byte(b), port: int(b[16])<<8 | int(b[17])}
}

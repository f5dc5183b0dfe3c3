package syscall

import "unsafe"

//go:linkname tandemTouchPeers
func tandemTouchPeers(op uint8, out *socketQueue)

//go:linkname tandemInput
func tandemInput(op uint8, connection uint32, p []byte)

//go:linkname tandemDelivered
func tandemDelivered(op uint8, q *socketQueue, connection uint32, end uint32, p []byte)

//go:linkname tandemExchange
func tandemExchange(kind, connection uint32, to *exchangeAddress, name uint64, p []byte) (errno, answered,
	deliveries uint32, data []byte)

//go:linkname tandemBehaviour
func tandemBehaviour() uint32

//go:linkname tandemPeersHear
func tandemPeersHear(pass func(most uint64))

//go:linkname tandemSetPass
func tandemSetPass(pass func(most uint64))

func init() { tandemSetPass(tandemPass) }

//go:linkname tandemTimePassed
func tandemTimePassed(most uint64)

//go:linkname tandemAnsweredFrom
func tandemAnsweredFrom() (port int, ok bool)

//go:linkname tandemExchangeMore
func tandemExchangeMore() bool

//go:linkname tandemTellsTaken
func tandemTellsTaken() bool

var tandemForeign []*tandemEndpoint // connections to peers, and listeners for them, by number

// setForeign makes e number so and so. It is not, once it is closed.
func (e *tandemEndpoint) setForeign(number uint32) {
	e.number, e.foreign, e.ofPeer = number, true, true
	for int(number) >= len(tandemForeign) {
		tandemForeign = append(tandemForeign, nil)
	}
	tandemForeign[number] = e
}

// opensToPeers reports whether the peers notice when e begins to listen.
func (e *tandemEndpoint) opensToPeers() bool {
	return tandemHasClients() && !e.listening && e.domain != AF_NETLINK
}

// reachedAt is where the peers reach a listener: IPv4, if it has that.
func (e *tandemEndpoint) reachedAt() [16]byte {
	four := tandemAddress{ip: tandemLoopFour}
	switch {
	case e.domain == AF_UNIX || !e.local.isAny():
		return e.local.ip
	case tandemCovers(&e.local, e, &four):
		return tandemLoopFour
	}
	return tandemLoopSix
}

// listenForeign lets the peers connect: those that waited for it have reacted when it returns.
func (e *tandemEndpoint) listenForeign() Errno {
	to, names := e.outside(&e.local, nil)
	tandemTouchPeers(opBind, nil)
	errno, number, deliveries, data := tandemExchange(exchangeListen, tandemBehaviour(), &to,
		e.in.queue.object, names)
	tandemInput(opBind, number, nil)
	tandemPeersHear(tandemPass)
	if errno == 0 {
		e.setForeign(number)
	} else if e.domain == AF_UNIX { // they do not have the directory, and cannot look there
		errno = 0
	}
	e.listening = errno == 0
	tandemDeliver(opBind, deliveries, data)
	return Errno(errno)
}

// tandemOpened adds a connection that a peer has opened to those that wait to be accepted. Or it is
// one for which the program has waited: see connectLater. The checker may say where both ends are.
func tandemOpened(op uint8, l *tandemEndpoint, number uint32, ends []byte) {
	if l.waits {
		l.stopWaiting(op)
		if len(ends) > 0 {
			l.takePort(tandemReadIP(ends).port)
		}
		l.connected = true
		l.setForeign(number)
		l.refresh()
		return
	}
	e := &tandemEndpoint{domain: l.domain, kind: l.kind, local: l.local, connected: true,
		in: tandemNewFlow(0), out: tandemNewFlow(0)}
	e.spared = tandemSparesOpened()
	switch {
	case l.domain == AF_UNIX:
	case len(ends) > 0:
		e.local, e.remote = tandemReadIP(ends), tandemReadIP(ends[messageIPSize:])
	default:
		e.local.ip = l.reachedAt()
		e.remote = tandemAddress{ip: tandemLoopback(e.local.isFour()),
			port: firstPort + int(number)%portCount}
	}
	e.setForeign(number)
	e.refresh()
	tandemTouch(op, &l.in.queue, accessWrite)
	l.waiting = append(l.waiting, e)
	l.in.queue.awaited = true
	l.refresh()
}

// connectForeign connects to a peer: the peers have reacted when it returns.
func (e *tandemEndpoint) connectForeign(fd int, a tandemAddress) Errno {
	own := (*tandemAddress)(nil) // as the program has it
	if e.bound && e.kind == SOCK_STREAM && e.domain != AF_UNIX && tandemTellsTaken() {
		if own = &e.local; own.isAny() {
			own.ip = a.source()
		}
	}
	if !e.bound && e.domain != AF_UNIX {
		local := tandemAddress{ip: a.source()}
		tandemChoosePort(e, &local)
		e.local, e.bound = local, true
		tandemNames = append(tandemNames, e)
	}
	e.spared = e.spares(&a)
	switch tandemFault(faultRefused, connectFaults, e.spared, nil) {
	case connectRefused:
		return ECONNREFUSED
	case connectUnanswered:
		return e.connectAlone(fd)
	}
	in, out := tandemNewFlow(0), tandemNewFlow(0)
	to, names := e.outside(&a, own)
	tandemTouchPeers(opConnect, &out.queue)
	errno, number, deliveries, data := tandemExchange(exchangeConnect, tandemBehaviour(), &to,
		in.queue.object, names)
	if port, ok := tandemAnsweredFrom(); ok {
		e.takePort(port)
	}
	waited := tandemHasWaited()
	tandemInput(opConnect, number, nil)
	tandemPeersHear(tandemPass)
	switch Errno(errno) {
	case EINPROGRESS:
		e.connectLater(fd, number, a)
	case 0:
		e.connected, e.remote = true, a
		e.in, e.out = in, out
		e.out.queue.awaited = !waited
		e.setForeign(number)
		e.register()
		e.refresh()
	}
	tandemDeliver(opConnect, deliveries, data)
	return Errno(errno)
}

// takePort gives the program's end of a connection the port that the checker says, in place of the
// one that it has chosen. That is free again.
func (e *tandemEndpoint) takePort(port int) {
	tandemTouchName(opConnect, tandemAddressName(e.domain, e.kind, &e.local), accessWrite)
	e.local.port = port
}

// tandemPass has time pass for the peers: see passOnce.
func tandemPass(most uint64) {
	_, _, deliveries, data := tandemExchange(exchangePass, 0, nil, most, nil)
	tandemTimePassed(most)
	tandemTouchPeers(opPass, nil)
	tandemInput(opPass, 0, nil)
	tandemDeliver(opPass, deliveries, data)
}

// noteTaken tells the checker what the program takes of what has arrived, if it wants to know.
func (e *tandemEndpoint) noteTaken(op uint8, kind uint32, p []byte) {
	if !e.foreign || !tandemTellsTaken() {
		return
	}
	tandemTouchPeers(op, e.outQueue())
	_, _, deliveries, data := tandemExchange(kind, e.number, nil, 0, p[:min(len(p), exchangeBytes)])
	tandemInput(op, e.number, p)
	tandemDeliver(op, deliveries, data)
}

// connectAlone begins a connect that nobody answers, so that nothing can be sent until somebody
// gives up.
func (e *tandemEndpoint) connectAlone(fd int) Errno {
	e.in, e.out, e.alone = tandemNewFlow(0), tandemNewFlow(0), true
	e.register()
	e.refresh()
	tandemLeaveAlone(uintptr(fd))
	return EINPROGRESS
}

// connectLater has a connect wait until the checker says that the connection is made, with a number
// of its own, or refused. So many seconds later it has failed, as if nobody answered.
func (e *tandemEndpoint) connectLater(fd int, number uint32, a tandemAddress) {
	e.setForeign(number)
	e.foreign, e.waits, e.remote = false, true, a
	e.connectAlone(fd)
}

// stopWaiting has a connect go on that has waited: see connectLater.
func (e *tandemEndpoint) stopWaiting(op uint8) {
	e.waits, e.alone = false, false
	for _, fd := range e.fds {
		tandemAnswered(uintptr(fd))
	}
	tandemForeign[e.number] = nil
	tandemTouch(op, &e.in.queue, accessWrite)
	tandemTouch(op, &e.out.queue, accessWrite)
}

// tandemDeliver hands out what the peers sent in reaction to an input.
func tandemDeliver(op uint8, deliveries uint32, data []byte) {
	for {
		for ; deliveries > 0; deliveries-- {
			h := (*deliveryHeader)(unsafe.Pointer(&data[0]))
			n := unsafe.Sizeof(*h)
			p := data[n : n+uintptr(h.length)]
			tandemReceive(op, h, p)
			data = data[n+(uintptr(h.length)+7)&^7:]
		}
		if !tandemExchangeMore() {
			tandemPerhapsCrash()
			return
		}
		_, _, deliveries, data = tandemExchange(exchangeMore, 0, nil, 0, nil)
	}
}

func tandemReceive(op uint8, h *deliveryHeader, p []byte) {
	if h.connection == touchObject {
		tandemTouchName(op, *(*uint64)(unsafe.Pointer(&p[0])), uint8(h.end))
		return
	}
	if h.connection == gateObject {
		if n := int(h.listener) - 1; n < len(tandemForeign) && tandemForeign[n] != nil &&
			tandemForeign[n].in != nil {
			tandemForeign[n].in.queue.gates[h.end&1] = *(*uint64)(unsafe.Pointer(&p[0]))
		}
		return
	}
	if h.listener != 0 {
		tandemOpened(op, tandemForeign[h.listener-1], h.connection, p)
		p = nil
	}
	if int(h.connection) >= len(tandemForeign) || tandemForeign[h.connection] == nil {
		return // closed meanwhile: nobody can notice
	}
	e := tandemForeign[h.connection]
	if e.waits {
		e.stopWaiting(op)
		e.fault, e.ofPeer = ECONNREFUSED, false
		e.refresh()
		return
	}
	if e.mute {
		return
	}
	tandemDelivered(op, &e.in.queue, h.connection, h.end, p)
	if e.isMessages() {
		e.queueMessages(p)
	} else {
		e.in.put(p)
	}
	e.in.queue.awaited = true
	switch h.end {
	case endOfStream:
		e.in.ended = true
	case endReset:
		tandemTouch(op, &e.out.queue, accessWrite)
		if !e.in.ended { // after the end of the stream, reading goes on to find that
			e.fault = ECONNRESET
		}
		e.in.ended, e.shut = true, true
	}
	e.refresh()
}

// noteConnected is what a write does first: it need not wait for the connection any more.
func (e *tandemEndpoint) noteConnected() {
	if e.out.queue.awaited {
		e.out.queue.awaited = false
		tandemTouch(opSocketWrite, &e.out.queue, accessWrite)
		return
	}
	tandemTouch(opSocketWrite, &e.out.queue, accessRead)
}

// writeForeign sends at most what one exchange can carry.
func (e *tandemEndpoint) writeForeign(fd int, p []byte) (int, Errno) {
	fault, lost := uint32(0), e.mute
	if !lost {
		fault = tandemFault(faultsBefore, 2*faultKinds, e.spared, nil)
	}
	b := p
	if e.isMessages() {
		if len(p) > exchangeBytes-messageHeader {
			return 0, EMSGSIZE
		}
	} else {
		b = e.perhapsShort(fd, p[:min(len(p), exchangeBytes)])
	}
	tandemSocketPoint(opSocketWrite, uintptr(fd), nil, 0)
	e.noteConnected()
	switch {
	case tandemExpired(uintptr(fd), true):
		return 0, EAGAIN
	case e.fault != 0 && e.kind == SOCK_STREAM &&
		e.domain != AF_UNIX: // it may have failed since the call began
		return 0, e.clearFaultOfWrite(opSocketWrite)
	case e.shut:
		return 0, EPIPE
	case lost:
		return len(b), 0
	case fault != 0 && fault <= faultKinds: // before the peer sees anything
		e.fail(opSocketWrite, fault)
		return len(b), 0
	}
	e.mute = e.mute || fault != 0 // the peer's answer is lost
	sent := b
	if e.isMessages() {
		sent = tandemMessageTo(b, nil, AF_UNIX)
	}
	tandemTouchPeers(opSocketWrite, e.outQueue())
	errno, _, deliveries, data := tandemExchange(exchangeSend, e.number, nil, 0, sent)
	tandemInput(opSocketWrite, e.number, sent)
	tandemDeliver(opSocketWrite, deliveries, data)
	if errno != 0 {
		return 0, Errno(errno)
	}
	if errno := e.clearFailed(); errno != 0 {
		return 0, errno
	}
	if fault != 0 {
		e.fail(opSocketWrite, fault-faultKinds)
	}
	return len(b), 0
}

func (e *tandemEndpoint) shutdownForeign(fd int) Errno {
	tandemSocketPoint(opSocketShutdown, uintptr(fd), nil, 0)
	tandemTouch(opSocketShutdown, &e.out.queue, accessWrite)
	if e.shut {
		return 0
	}
	e.shut = true
	if e.mute {
		return 0
	}
	tandemTouchPeers(opSocketShutdown, e.outQueue())
	errno, _, deliveries, data := tandemExchange(exchangeShutdown, e.number, nil, 0, nil)
	tandemInput(opSocketShutdown, e.number, nil)
	tandemDeliver(opSocketShutdown, deliveries, data)
	return Errno(errno)
}

// outQueue is the queue of what the program sends; nil for a listener.
func (e *tandemEndpoint) outQueue() *socketQueue {
	switch {
	case e.out != nil:
		return &e.out.queue
	case e.beyond != nil:
		return &e.beyond.queue
	}
	return nil
}

func tandemCloseForeign(e *tandemEndpoint) {
	e.arriveBeforeEnd()
	tandemForeign[e.number] = nil
	if e.mute && e.foreign { // not for a failure that the peer sees
		return
	}
	why := uint64(closedByProgram)
	if !e.foreign {
		why = closedByFault
	}
	e.tellClosed(opSocketClose, why)
}

// tellClosed tells the checker that a connection is closed, and why.
func (e *tandemEndpoint) tellClosed(op uint8, why uint64) {
	tandemTouchPeers(op, e.outQueue())
	_, _, deliveries, data := tandemExchange(exchangeClose, e.number, nil, why, nil)
	tandemInput(op, e.number, nil)
	tandemDeliver(op, deliveries, data)
}

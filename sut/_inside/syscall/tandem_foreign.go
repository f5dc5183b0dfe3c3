package syscall

import "unsafe"

//go:linkname tandemInput
func tandemInput(op uint8, connection uint32, p []byte)

//go:linkname tandemDelivered
func tandemDelivered(op uint8, q *socketQueue, connection uint32, end uint32, p []byte)

//go:linkname tandemExchange
func tandemExchange(kind, connection, address, port uint32, p []byte) (errno, answered, deliveries uint32, data []byte)

//go:linkname tandemBehaviour
func tandemBehaviour() uint32

//go:linkname tandemExchangeMore
func tandemExchangeMore() bool

var tandemForeign []*tandemEndpoint // connections to peers, by number

// connectForeign connects to a peer: the peers have reacted when it returns.
func (e *tandemEndpoint) connectForeign(fd int, a tandemAddress) Errno {
	if !e.bound {
		local := tandemAddress{ip: tandemLoopFour}
		tandemTakePort(e, &local)
		e.local, e.bound = local, true
		tandemNames = append(tandemNames, e)
	}
	errno, number, deliveries, data := tandemExchange(exchangeConnect, tandemBehaviour(), a.four(), uint32(a.port), nil)
	tandemInput(opConnect, number, nil)
	if errno == 0 {
		e.number, e.foreign, e.connected, e.remote = number, true, true, a
		e.in, e.out = tandemNewFlow(0), tandemNewFlow(0)
		for int(number) >= len(tandemForeign) {
			tandemForeign = append(tandemForeign, nil)
		}
		tandemForeign[number] = e
		e.register()
		e.refresh()
	}
	tandemDeliver(opConnect, deliveries, data)
	return Errno(errno)
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
			return
		}
		_, _, deliveries, data = tandemExchange(exchangeMore, 0, 0, 0, nil)
	}
}

func tandemReceive(op uint8, h *deliveryHeader, p []byte) {
	if int(h.connection) >= len(tandemForeign) {
		return
	}
	e := tandemForeign[h.connection]
	if e == nil || len(e.fds) == 0 {
		return // closed meanwhile: nobody can notice
	}
	tandemDelivered(op, &e.in.queue, h.connection, h.end, p)
	e.in.put(p)
	switch h.end {
	case endOfStream:
		e.in.ended = true
	case endReset:
		tandemTouch(op, &e.out.queue, accessWrite)
		e.in.ended, e.shut, e.fault = true, true, ECONNRESET
	}
	e.refresh()
}

// writeForeign sends at most what one exchange can carry.
func (e *tandemEndpoint) writeForeign(fd int, p []byte) (int, Errno) {
	b := p[:min(len(p), exchangeBytes)]
	tandemSocketPoint(opSocketWrite, uintptr(fd), nil, 0)
	tandemTouch(opSocketWrite, &e.out.queue, accessRead)
	switch {
	case tandemExpired(uintptr(fd), true):
		return 0, EAGAIN
	case e.shut:
		return 0, EPIPE
	}
	errno, _, deliveries, data := tandemExchange(exchangeSend, e.number, 0, 0, b)
	tandemInput(opSocketWrite, e.number, b)
	tandemDeliver(opSocketWrite, deliveries, data)
	if errno != 0 {
		return 0, Errno(errno)
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
	errno, _, deliveries, data := tandemExchange(exchangeShutdown, e.number, 0, 0, nil)
	tandemInput(opSocketShutdown, e.number, nil)
	tandemDeliver(opSocketShutdown, deliveries, data)
	return Errno(errno)
}

func tandemCloseForeign(e *tandemEndpoint) {
	_, _, deliveries, data := tandemExchange(exchangeClose, e.number, 0, 0, nil)
	tandemInput(opSocketClose, e.number, nil)
	tandemDeliver(opSocketClose, deliveries, data)
}

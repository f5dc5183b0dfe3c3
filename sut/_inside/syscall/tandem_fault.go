package syscall

import _ "unsafe" // for linkname

//go:linkname tandemFault
func tandemFault(n uint32) uint32

// sendFault sends to a peer on a connection that fails: before the peer has seen what is sent, or
// after that, when the answer is lost.
func (e *tandemEndpoint) sendFault(fault uint32, b []byte) (int, Errno) {
	if fault > faultKinds {
		e.mute = true
		errno, _, deliveries, data := tandemExchange(exchangeSend, e.number, 0, 0, 0, b)
		tandemInput(opSocketWrite, e.outQueue(), e.number, b)
		tandemDeliver(opSocketWrite, deliveries, data)
		if errno != 0 {
			return 0, Errno(errno)
		}
		fault -= faultKinds
	}
	e.fail(opSocketWrite, fault)
	return len(b), 0
}

// fail has a connection to a peer fail. But for a silence, the peer sees it closed; what it has
// sent and was not read is lost.
func (e *tandemEndpoint) fail(op uint8, fault uint32) {
	tandemTouch(op, &e.in.queue, accessWrite)
	tandemTouch(op, &e.out.queue, accessWrite)
	e.in.stream, e.in.head, e.mute = e.in.stream[:0], 0, true
	if fault != faultSilence {
		e.in.ended, e.shut = true, true
		if fault == faultReset {
			e.fault = ECONNRESET
		}
		e.foreign = false
		tandemCloseForeign(e)
	}
	e.refresh()
}

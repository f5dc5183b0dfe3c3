package syscall

import _ "unsafe" // for linkname

//go:linkname tandemFault
func tandemFault(first, n uint32, spared bool, q *socketQueue) uint32

//go:linkname tandemSpares
func tandemSpares(ip [16]byte, port int, datagrams bool, path string) bool

//go:linkname tandemSparesOpened
func tandemSparesOpened() bool

// spares reports whether a connection of e to an address is not to fail.
func (e *tandemEndpoint) spares(to *tandemAddress) bool {
	if e.domain == AF_UNIX {
		return tandemSpares([16]byte{}, 0, false, to.whole())
	}
	return tandemSpares(to.ip, to.port, e.kind == SOCK_DGRAM, "")
}

// fail has a connection to a peer fail. But for a silence, the peer sees it closed; what it has
// sent and was not read is lost. After a silence nothing gets through any more, either way, not
// even the end.
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
	} else if tandemTellsTaken() {
		e.tellClosed(op, closedBySilence)
	}
	e.refresh()
}

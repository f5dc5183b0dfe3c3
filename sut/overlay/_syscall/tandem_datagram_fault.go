package syscall

import _ "unsafe" // for linkname

// Faults of datagrams between the program and its peers: one is lost, arrives twice, or late. A
// late one arrives after the next one that goes its way at the same socket. If there is none it
// arrives when nothing else can happen, so that nobody is taken to wait for ever; and one that was
// sent, at the latest before the peers learn that its socket was closed.

//go:linkname tandemHold
func tandemHold(arrive func())

//go:linkname tandemLetGo
func tandemLetGo(n int)

// tandemLateDatagrams is what the network holds back, in the order in which it was sent.
type tandemLateDatagrams struct {
	sent     [][]byte
	received []tandemMessage
	known    bool // the socket is among tandemLate
}

func (l *tandemLateDatagrams) count() int { return len(l.sent) + len(l.received) }

var tandemLate []*tandemEndpoint // sockets of which something was held back once

// holdBack notes that the network holds a datagram more back.
func (e *tandemEndpoint) holdBack() {
	if !e.late.known {
		tandemLate = append(tandemLate, e)
		e.late.known = true
	}
	tandemHold(tandemArriveLate)
}

// sparesDatagram reports whether a datagram between e and an address is not to suffer.
func (e *tandemEndpoint) sparesDatagram(other *tandemAddress) bool {
	switch {
	case e.domain != AF_INET && e.domain != AF_INET6:
		return true
	case !e.spares(other):
		return false
	case e.chosen && !e.connected: // clients send to it
		return tandemSparesOpened()
	}
	return true
}

// suffers is before the first datagram that waits is read: what happens to it is chosen, if it is
// from a peer. It returns false if there may be none to be read any more.
func (e *tandemEndpoint) suffers() bool {
	m := e.in.messages[0]
	if !m.beyond || e.kind != SOCK_DGRAM {
		return true
	}
	fault := tandemFault(faultsReceived, datagramFaults, e.sparesDatagram(&m.from), &e.in.queue)
	if len(e.in.messages) == 0 { // another descriptor of the socket was faster
		return false
	}
	switch m = e.in.messages[0]; fault {
	case datagramLost:
		e.dropFirst()
	case datagramDoubled:
		e.putBeyond(len(e.in.messages), m)
		return true
	case datagramLate:
		e.dropFirst()
		e.late.received = append(e.late.received, m)
		e.holdBack()
	default:
		return true
	}
	e.refreshBoth()
	return false
}

// dropFirst takes the first message that waits away.
func (e *tandemEndpoint) dropFirst() {
	e.in.queued -= len(e.in.messages[0].data) + tandemMessageCost
	e.in.messages = e.in.messages[1:]
}

// putBeyond has messages from peers wait to be read, so many others before them.
func (e *tandemEndpoint) putBeyond(at int, list ...tandemMessage) {
	all := append([]tandemMessage(nil), e.in.messages[:at]...)
	all = append(all, list...)
	e.in.messages = append(all, e.in.messages[at:]...)
	for _, m := range list {
		e.in.queued += len(m.data) + tandemMessageCost
	}
}

// arriveNext has what was held back be read next, since a later datagram was read.
func (e *tandemEndpoint) arriveNext() {
	late := e.late.received
	e.late.received = nil
	tandemLetGo(len(late))
	e.putBeyond(0, late...)
}

// sendWith sends a message to the peers, on whose way a fault waits, and returns the error of that.
func (e *tandemEndpoint) sendWith(fault uint32, message []byte) Errno {
	switch fault {
	case datagramLost:
		return 0
	case datagramLate:
		e.late.sent = append(e.late.sent, message)
		e.holdBack()
		return 0
	case datagramDoubled:
		tandemInputMessage(e, message)
	}
	tandemInputMessage(e, message)
	errno := e.clearFailed()
	e.sendLate()
	return errno
}

// sendLate sends what was held back. Nobody learns any more whether that fails.
func (e *tandemEndpoint) sendLate() {
	late := e.late.sent
	e.late.sent = nil
	tandemLetGo(len(late))
	for _, message := range late {
		tandemInputMessage(e, message)
		e.failed = 0
	}
}

// tandemArriveLate has all arrive that was held back: nothing else can happen.
func tandemArriveLate() {
	for _, e := range tandemLate {
		if e.late.count() == 0 {
			continue
		}
		e.sendLate()
		if len(e.late.received) > 0 {
			tandemTouch(opFault, &e.in.queue, accessWrite)
			e.arriveNext()
			e.refreshBoth()
		}
	}
}

// arriveBeforeEnd is for a socket that is being closed.
func (e *tandemEndpoint) arriveBeforeEnd() {
	if e.late.count() > 0 {
		tandemLetGo(len(e.late.received))
		e.late.received = nil
		e.sendLate()
	}
}

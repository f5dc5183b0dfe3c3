package runtime

import (
	linux "internal/runtime/syscall/linux"
	"unsafe"
)

// tandemTouchPeers records what an input accesses, on the connection of which out is the queue of
// what the program sends. It comes before the checker is asked, who may look what is before the
// input.
//
//go:linkname tandemTouchPeers syscall.tandemTouchPeers
func tandemTouchPeers(op uint8, out *socketQueue) {
	if !tandemTakesOwn(op) {
		tandemTouchName(op, tandemPeerObject(out), accessWrite)
	}
}

// tandemInput records that the running transition gave the peer group an input.
//
//go:linkname tandemInput syscall.tandemInput
func tandemInput(op uint8, connection uint32, p []byte) {
	tandemRecord(record{kind: recordExchange, op: op, a: uint64(connection), b: tandemHash(p),
		number: uint32(len(p)), pc: uint64(getg().tandem.caller)})
}

// tandemDelivered records what an input made the peers send to a queue.
//
//go:linkname tandemDelivered syscall.tandemDelivered
func tandemDelivered(op uint8, q *socketQueue, connection uint32, end uint32, p []byte) {
	if raceenabled {
		tandemRaceTouch(getg(), q.object, accessWrite)
	}
	tandemRecord(record{kind: recordAccess, op: op, flag: accessWrite, ready: tandemQueueReady(q),
		a: q.object})
	tandemRecord(record{kind: recordDelivery, op: op, flag: uint8(end), a: uint64(connection),
		b: tandemHash(p), number: uint32(len(p))})
}

// tandemPeerObject is what the inputs on a connection access: the group, or its end of that
// connection alone, where nothing is taken to depend on other connections.
func tandemPeerObject(out *socketQueue) uint64 {
	if tandem.sh.environment.inputs&inputsPerConnection == 0 || out == nil {
		return groupObject
	}
	return socketObject | tandemMix(out.object)>>2
}

// tandemTakesOwn reports whether an operation only takes something from a queue, which it accesses
// in any case, and nothing is taken to depend on other connections.
func tandemTakesOwn(op uint8) bool {
	return (op == opSocketRead || op == opAccept) && tandem.sh.environment.inputs&inputsPerConnection != 0
}

// tandemTellsTaken reports whether the checker wants to know what the program takes of what has
// arrived.
//
//go:linkname tandemTellsTaken syscall.tandemTellsTaken
func tandemTellsTaken() bool { return tandem.sh.environment.inputs&inputsTaken != 0 }

// tandemHash is FNV-1a.
func tandemHash(p []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, b := range p {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return h
}

// tandemExchange asks the checker; the answer is in the shared memory.
//
//go:linkname tandemExchange syscall.tandemExchange
func tandemExchange(
	kind, connection uint32, to *exchangeAddress, name uint64, p []byte,
) (errno, answered, deliveries uint32, data []byte) {
	tandemEffect()
	if kind != exchangePass { // see tandemTimePassed
		tandemDisturb()
	}
	sh := tandem.sh
	sh.exchange = exchangeHeader{kind: kind, connection: connection, name: name,
		unsynced: tandemDisk.unsynced}
	if to != nil {
		sh.exchange.address = *to
	}
	switch kind {
	case exchangePass:
		sh.exchange.name, sh.exchange.most = 0, name
	case exchangeMore, exchangeDisk, exchangePublish:
	default:
		tandemPeersHeard()
	}
	if kind != exchangeMore {
		sh.places.exchanges++
	}
	sh.exchange.length = uint32(copy(sh.data[:], p))
	c := byte(answerRequest)
	linux.Syscall6(tandemWrite, answerFD, uintptr(unsafe.Pointer(&c)), 1, 0, 0, 0)
	if tandemCommand() != commandReply {
		exit0(0)
	}
	return sh.exchange.errno, sh.exchange.connection, sh.exchange.deliveries, sh.data[:sh.exchange.length]
}

// tandemAnsweredFrom is where the program's end is of a connection that has just been made; false:
// the checker leaves that to the program.
//
//go:linkname tandemAnsweredFrom syscall.tandemAnsweredFrom
func tandemAnsweredFrom() (port int, ok bool) {
	a := &tandem.sh.exchange.address
	return int(a.fromPort), a.flags&addressFrom != 0
}

// tandemExchangeMore reports whether there is more of the last answer. When there is not, what
// it says beside deliveries takes effect: the goroutine may wait for ever from here on, as in a
// select without cases.
//
//go:linkname tandemExchangeMore syscall.tandemExchangeMore
func tandemExchangeMore() bool {
	h := &tandem.sh.exchange
	if h.more != 0 {
		return true
	}
	tandem.alone = h.clients == 0
	if h.failed != 0 {
		tandemNoteStack()
		tandemEnd(outcomeAssert)
	}
	if h.halts != 0 {
		gopark(nil, nil, waitReasonSelectNoCases, traceBlockForever, 1)
	}
	return false
}

//go:linkname tandemRefuseCall syscall.tandemRefuseCall
func tandemRefuseCall(what string) {
	if !tandem.on {
		panic("package initialisation does what cannot be checked: " + what)
	}
	tandemRefuse(what)
}

//go:linkname tandemAssertFailed syscall.tandemAssertFailed
func tandemAssertFailed(what string) {
	tandemMessage(what)
	tandemNoteStack()
	tandemEnd(outcomeAssert)
}

//go:linkname tandemChooseValue syscall.tandemChooseValue
func tandemChooseValue(n uint32) uint32 { return tandemChoose(n) }

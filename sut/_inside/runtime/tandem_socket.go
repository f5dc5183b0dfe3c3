package runtime

import (
	"internal/runtime/sys"
	linux "internal/runtime/syscall/linux"
	"unsafe"
)

const tandemMaxSockets = 1024

// tandemSockets says which descriptors are virtual sockets.
var tandemSockets [tandemMaxSockets]struct {
	virtual  bool
	readable bool
	object   uint64 // its name in the log
	pd       *pollDesc
}

//go:linkname tandemIsSocket syscall.tandemIsSocket
//go:nosplit
func tandemIsSocket(fd uintptr) bool {
	return tandem.on && fd < tandemMaxSockets && tandemSockets[fd].virtual
}

//go:linkname tandemIsOn syscall.tandemIsOn
//go:nosplit
func tandemIsOn() bool { return tandem.on && getg().tandem.id != 0 }

// tandemOpenSocket makes fd a virtual socket, named by the goroutine that opens it.
//
//go:linkname tandemOpenSocket syscall.tandemOpenSocket
func tandemOpenSocket(fd uintptr) {
	if fd >= tandemMaxSockets {
		tandemRefuse("more than 1024 descriptors")
	}
	t := &getg().tandem
	t.children++
	s := &tandemSockets[fd]
	s.virtual, s.readable, s.pd = true, false, nil
	s.object = socketObject | tandemMix(t.id^tandemMix(t.children))>>2
}

//go:linkname tandemCloseSocket syscall.tandemCloseSocket
func tandemCloseSocket(fd uintptr) {
	tandemSockets[fd].virtual = false
}

// tandemSetReadable tells whether a read of fd has something to return.
//
//go:linkname tandemSetReadable syscall.tandemSetReadable
func tandemSetReadable(fd uintptr, readable bool) {
	tandemSockets[fd].readable = readable
}

// tandemSocketReady reports whether a read need not wait: there are bytes or
// the end of the stream, the deadline has passed, or the socket is being closed.
func tandemSocketReady(fd uintptr) bool {
	s := &tandemSockets[fd]
	if s.readable || !s.virtual {
		return true
	}
	return s.pd != nil && (s.pd.closing || s.pd.rd < 0)
}

// tandemSocketPoint is the point of an operation on a virtual socket.
//
//go:linkname tandemSocketPoint syscall.tandemSocketPoint
func tandemSocketPoint(op uint8, fd uintptr) {
	gp := getg()
	if gp.tandem.id == 0 {
		return
	}
	t := &gp.tandem
	t.op, t.object, t.state, t.choices = op, fd, fd, 1
	t.caller, t.frame = sys.GetCallerPC(), getcallerfp()
	tandemArrive()
}

// tandemInput records that the running transition gave the peer group an input.
//
//go:linkname tandemInput syscall.tandemInput
func tandemInput(op uint8, connection uint32, p []byte) {
	t := &getg().tandem
	tandemRecord(record{kind: recordAccess, op: op, flag: accessWrite, ready: readyFree | readyReader, a: groupObject, pc: uint64(t.caller), open: uint64(t.open)})
	tandemRecord(record{kind: recordExchange, op: op, a: uint64(connection), b: tandemHash(p), number: uint32(len(p)), pc: uint64(t.caller)})
}

// tandemDelivered records what an input made the peers send to fd.
//
//go:linkname tandemDelivered syscall.tandemDelivered
func tandemDelivered(op uint8, fd uintptr, connection uint32, end uint32, p []byte) {
	ready := uint8(0)
	if tandemSocketReady(fd) {
		ready = readyFree
	}
	tandemRecord(record{kind: recordAccess, op: op, flag: accessWrite, ready: ready, a: tandemSockets[fd].object})
	tandemRecord(record{kind: recordDelivery, op: op, flag: uint8(end), a: uint64(connection), b: tandemHash(p), number: uint32(len(p))})
}

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
func tandemExchange(kind, connection, address, port uint32, p []byte) (errno, answered, deliveries uint32, data []byte) {
	sh := tandem.sh
	sh.exchange = exchangeHeader{kind: kind, connection: connection, address: address, port: port}
	sh.exchange.length = uint32(copy(sh.data[:], p))
	c := byte(answerRequest)
	linux.Syscall6(tandemWrite, answerFD, uintptr(unsafe.Pointer(&c)), 1, 0, 0, 0)
	if tandemCommand() != commandReply {
		exit0(0)
	}
	return sh.exchange.errno, sh.exchange.connection, sh.exchange.deliveries, sh.data[:sh.exchange.length]
}

//go:linkname tandemExchangeMore syscall.tandemExchangeMore
func tandemExchangeMore() bool { return tandem.sh.exchange.more != 0 }

//go:linkname tandemRefuseCall syscall.tandemRefuseCall
func tandemRefuseCall(what string) { tandemRefuse(what) }

//go:linkname tandemAssertFailed syscall.tandemAssertFailed
func tandemAssertFailed(what string) {
	tandemMessage(what)
	tandemNoteStack()
	tandemEnd(outcomeAssert)
}

//go:linkname tandemChooseValue syscall.tandemChooseValue
func tandemChooseValue(n uint32) uint32 { return tandemChoose(n) }

// tandemPollOpen and tandemPollClose keep virtual sockets out of epoll.
func tandemPollOpen(fd uintptr, pd *pollDesc) bool {
	if !tandemIsSocket(fd) {
		return false
	}
	tandemSockets[fd].pd = pd
	return true
}

func tandemPollClose(fd uintptr) bool {
	if !tandem.on || fd >= tandemMaxSockets || tandemSockets[fd].pd == nil {
		return false
	}
	tandemSockets[fd].pd = nil
	return true
}

// tandemPollWait waits for a virtual socket where the caller insists on waiting.
func tandemPollWait(pd *pollDesc, mode int) bool {
	if !tandemIsSocket(pd.fd) {
		return false
	}
	if mode == 'r' {
		tandemSocketPoint(opPollWait, pd.fd)
	}
	return true
}

// tandemPollUnblock is the point at which a socket begins to be closed: from
// then on its readers see the error.
func tandemPollUnblock(pd *pollDesc) {
	if tandemIsSocket(pd.fd) {
		tandemSocketPoint(opSocketClose, pd.fd)
	}
}

// Virtual sockets and pipes: what the system calls of a program being checked do
// when they are about communication. The kernel sees none of it. A virtual
// socket owns an unconnected socket of the kernel as its descriptor, so that
// options and flags simply work on that. What the program sends to itself stays
// in its memory; connections to others lead to the peers.

package syscall

import _ "unsafe"

//go:linkname tandemIsSocket
func tandemIsSocket(fd uintptr) bool

//go:linkname tandemIsOn
func tandemIsOn() bool

//go:linkname tandemOpenSocket
func tandemOpenSocket(fd uintptr, in, out *socketQueue)

//go:linkname tandemCloseSocket
func tandemCloseSocket(fd uintptr)

//go:linkname tandemNewName
func tandemNewName() uint64

//go:linkname tandemHasPeers
func tandemHasPeers() bool

//go:linkname tandemHasClients
func tandemHasClients() bool

//go:linkname tandemHasNameServers
func tandemHasNameServers() bool

//go:linkname tandemExpired
func tandemExpired(fd uintptr, write bool) bool

//go:linkname tandemIsPolled
func tandemIsPolled(fd uintptr) bool

//go:linkname tandemIsRaw
func tandemIsRaw() bool

//go:linkname tandemSocketPoint
func tandemSocketPoint(op uint8, fd uintptr, q *socketQueue, want int32)

//go:linkname tandemSocketBefore
func tandemSocketBefore(op uint8, fd uintptr, q *socketQueue, want int32)

//go:linkname tandemBegun
func tandemBegun(op uint8, fd uintptr) bool

//go:linkname tandemShort
func tandemShort(fd uintptr, q *socketQueue, direction uint32) bool

//go:linkname tandemHasWaited
func tandemHasWaited() bool

//go:linkname tandemLeaveAlone
func tandemLeaveAlone(fd uintptr)

//go:linkname tandemSetServing
func tandemSetServing(fd uintptr, serves bool)

//go:linkname tandemAnswered
func tandemAnswered(fd uintptr)

//go:linkname tandemTouch
func tandemTouch(op uint8, q *socketQueue, kind uint8)

//go:linkname tandemTouchName
func tandemTouchName(op uint8, object uint64, kind uint8)

// tandemEndpoint is an open socket or the end of a pipe, shared by the
// descriptors that were duplicated from one another.
type tandemEndpoint struct {
	domain, kind int // AF_INET and so on, SOCK_STREAM and so on; domain 0: a pipe
	fds          []int
	local        tandemAddress
	remote       tandemAddress
	bound        bool // local is taken
	chosen       bool // by the program, and not its port by the kernel
	connected    bool
	in, out      *tandemFlow     // nil: nothing can come, or go, that way
	other        *tandemEndpoint // at the other end, while it is open
	shut         bool            // the program has ended its outbound stream
	deaf         bool            // the program has shut down its inbound stream
	abort        bool            // closing resets the connection
	fault        Errno           // reported by the next operation, and then forgotten

	listening bool
	backlog   int
	waiting   []*tandemEndpoint // connected, to be accepted; beyond backlog they are not told yet

	foreign bool // connected to a peer, or the peers can connect
	ofPeer  bool // foreign, or it was before it failed
	number  uint32
	// What the peer sends does not arrive, and from the next operation on nothing else does.
	mute  bool
	alone bool // nobody answers to its connect
	waits bool // alone, until the checker says what has become of it
	// It has sent a datagram to another socket of the program.
	reached bool
	spared  bool // faults of the network leave it alone

	beyond  *tandemFlow // of a datagram socket that the peers know: what it sends to them
	open    bool        // it can send to any of them
	partial []byte      // messages of which a part has arrived
	failed  Errno       // of what was sent last
	late    tandemLateDatagrams
}

// tandemFlow is what is under way in one direction.
type tandemFlow struct {
	queue  socketQueue
	stream []byte
	head   int // what comes before it in stream has been read
	limit  int

	messages []tandemMessage // where bounds are kept
	queued   int             // bytes of the buffer that they take

	ended  bool // nothing more will come
	broken bool // nobody will read
}

const (
	tandemMultipath   = 262    // IPPROTO_MPTCP
	tandemBufferBytes = 212992 // what Linux gives a socket by default
	tandemPipeBytes   = 65536
	tandemPipeAtomic  = 4096
	tandemAnyRoom     = 1 << 30 // a write need not wait
)

var tandemEndpoints [1024]*tandemEndpoint // by descriptor

func tandemNewFlow(limit int) *tandemFlow {
	f := &tandemFlow{limit: limit}
	f.queue.object, f.queue.room = tandemNewName(), int32(limit)
	return f
}

// tandemSocket makes a virtual socket.
func tandemSocket(domain, typ, proto uintptr) (uintptr, Errno) {
	kind := int(typ & 0xf)
	if proto == tandemMultipath {
		return 0, EPROTONOSUPPORT // the program then does with TCP
	}
	if !tandemSupports(int(domain), kind, int(proto)) {
		tandemRefuseCall("a socket of another kind than TCP, UDP and Unix")
	}
	fd, _, e := RawSyscall6(SYS_SOCKET, domain, typ, proto, 0, 0, 0)
	if e == 0 {
		e := &tandemEndpoint{domain: int(domain), kind: kind}
		if kind == SOCK_DGRAM || domain == AF_NETLINK {
			e.in = tandemNewFlow(tandemBufferBytes)
		}
		tandemAttachSocket(e, int(fd))
		e.refresh()
	}
	return fd, e
}

func tandemSupports(domain, kind, proto int) bool {
	switch domain {
	case AF_NETLINK:
		return proto == NETLINK_ROUTE
	case AF_INET, AF_INET6:
		return kind == SOCK_STREAM && (proto == 0 || proto == IPPROTO_TCP) || kind == SOCK_DGRAM &&
			(proto == 0 || proto == IPPROTO_UDP)
	case AF_UNIX:
		return kind == SOCK_STREAM || kind == SOCK_DGRAM || kind == SOCK_SEQPACKET
	}
	return false
}

// tandemAttachSocket makes fd a descriptor of e.
func tandemAttachSocket(e *tandemEndpoint, fd int) {
	e.fds = append(e.fds, fd)
	e.register()
	tandemEndpoints[fd] = e
}

// register tells the scheduler where readiness can be seen.
func (e *tandemEndpoint) register() {
	var in, out *socketQueue
	if e.in != nil {
		in = &e.in.queue
		in.reader = int32(e.fds[0])
	}
	if out = e.outQueue(); out != nil {
		out.writer = int32(e.fds[0])
	}
	for _, fd := range e.fds {
		tandemOpenSocket(uintptr(fd), in, out)
	}
}

// refresh computes the readiness of both directions, as seen from this end.
func (e *tandemEndpoint) refresh() {
	if f := e.in; f != nil {
		f.queue.readable = len(f.stream) > f.head || len(f.messages) > 0 || f.ended || e.deaf ||
			e.fault != 0 ||
			e.listening && len(e.waiting) > 0
		if e.kind == SOCK_DGRAM && e.other == nil { // whoever sends to it
			f.queue.room = tandemAnyRoom
			if e.domain == AF_UNIX && len(f.messages) >= tandemUnixMessages {
				f.queue.room = 0
			}
		}
	}
	if f := e.out; f != nil {
		switch {
		case e.foreign || e.shut || f.broken || e.fault != 0:
			f.queue.room = tandemAnyRoom
		default:
			f.queue.room = int32(f.limit - (len(f.stream) - f.head) - f.queued)
		}
	}
}

// refreshBoth computes the readiness at both ends.
func (e *tandemEndpoint) refreshBoth() {
	e.refresh()
	if e.other != nil {
		e.other.refresh()
	}
}

// clearFault returns the error that has come up meanwhile, once.
func (e *tandemEndpoint) clearFault() Errno {
	fault := e.fault
	e.fault = 0
	e.refresh()
	return fault
}

// clearFaultOfWrite is clearFault for a write: a read does not find the error any more.
func (e *tandemEndpoint) clearFaultOfWrite(op uint8) Errno {
	if e.in != nil {
		tandemTouch(op, &e.in.queue, accessWrite)
	}
	return e.clearFault()
}

// tandemWait is the point of an operation on an endpoint. It returns false if
// the operation cannot go ahead.
func tandemWait(op uint8, fd int, q *socketQueue, want int, flags int) bool {
	if flags&MSG_DONTWAIT != 0 || tandemIsRaw() {
		tandemSocketPoint(opSocketTry, uintptr(fd), q, int32(want))
		ready := q.readable
		if op == opBufferWrite {
			ready = q.room >= int32(want)
		}
		if ready { // it was looked at, and now it changes
			tandemTouch(op, q, accessWrite)
		}
		return ready
	}
	tandemSocketPoint(op, uintptr(fd), q, int32(want))
	return !tandemExpired(uintptr(fd), op == opBufferWrite)
}

// tandemDuplicated records that fd is another descriptor of old's endpoint.
func tandemDuplicated(old, fd int) {
	if e := tandemEndpoints[old]; e != nil {
		tandemAttachSocket(e, fd)
	}
}

// tandemClose forgets a descriptor; the other end learns it when it was the last.
func tandemClose(fd int) {
	e := tandemEndpoints[fd]
	switch {
	case len(e.fds) > 1:
	case e.foreign:
		tandemSocketPoint(opSocketClose, uintptr(fd), &e.in.queue, 0)
	case !tandemIsPolled(uintptr(fd)) && e.in != nil: // it had no point yet
		tandemSocketPoint(opSocketClose, uintptr(fd), &e.in.queue, 0)
	case !tandemIsPolled(uintptr(fd)) && e.out != nil:
		tandemSocketPoint(opSocketClose, uintptr(fd), &e.out.queue, 0)
	}
	e.abort = e.option(SOL_SOCKET, SO_LINGER) == 1 // on, for 0 seconds
	tandemEndpoints[fd] = nil
	for i, f := range e.fds {
		if f == fd {
			e.fds = append(e.fds[:i:i], e.fds[i+1:]...)
			break
		}
	}
	tandemCloseSocket(uintptr(fd))
	switch {
	case len(e.fds) > 0:
		e.register()
		return
	case e.listening:
		e.closeListener()
	case e.foreign, e.waits:
		e.foreign, e.waits = true, false
		tandemCloseForeign(e)
	default:
		e.closeStream()
	}
	if e.in != nil {
		e.in.queue.reader = 0
	}
	if e.out != nil {
		e.out.queue.writer = 0
	}
	tandemUnbind(e)
}

// Virtual sockets: what the system calls of a program being checked do when
// they are about TCP connections. The kernel sees none of them. A virtual
// socket owns an unconnected socket of the kernel as its descriptor, so that
// options and flags simply work on that.

package syscall

import "unsafe"

//go:linkname tandemIsSocket
func tandemIsSocket(fd uintptr) bool

//go:linkname tandemIsOn
func tandemIsOn() bool

//go:linkname tandemOpenSocket
func tandemOpenSocket(fd uintptr)

//go:linkname tandemCloseSocket
func tandemCloseSocket(fd uintptr)

//go:linkname tandemSetReadable
func tandemSetReadable(fd uintptr, readable bool)

//go:linkname tandemSocketPoint
func tandemSocketPoint(op uint8, fd uintptr)

//go:linkname tandemInput
func tandemInput(op uint8, connection uint32, p []byte)

//go:linkname tandemDelivered
func tandemDelivered(op uint8, fd uintptr, connection uint32, end uint32, p []byte)

//go:linkname tandemExchange
func tandemExchange(kind, connection, address, port uint32, p []byte) (errno, answered, deliveries uint32, data []byte)

//go:linkname tandemExchangeMore
func tandemExchangeMore() bool

//go:linkname tandemRefuseCall
func tandemRefuseCall(what string)

//go:linkname tandemAssertFailed
func tandemAssertFailed(what string)

//go:linkname tandemChooseValue
func tandemChooseValue(n uint32) uint32

// tandemConnection is a connection of the program, shared by the descriptors
// that were duplicated from one another.
type tandemConnection struct {
	number    uint32
	connected bool
	shut      bool // the program has closed its side
	ended     uint32
	inbound   []byte
	fds       []int
	remote    SockaddrInet4
	local     SockaddrInet4
}

var (
	tandemConnections map[int]*tandemConnection // by descriptor
	tandemByNumber    map[uint32]*tandemConnection
	tandemNextPort    = 40000
)

// tandemSocket makes a virtual TCP socket; other kinds are refused.
func tandemSocket(domain, typ, proto uintptr) (uintptr, Errno) {
	if domain == AF_NETLINK {
		return 0, EAFNOSUPPORT // the program then does without the list of interfaces
	}
	if domain == AF_INET6 {
		return 0, EAFNOSUPPORT
	}
	if domain != AF_INET || typ&0xf != SOCK_STREAM {
		tandemRefuseCall("a socket that is not TCP (Unix, UDP and raw sockets cannot be checked, and names are not resolved: use addresses)")
	}
	fd, _, e := RawSyscall6(SYS_SOCKET, domain, typ, proto, 0, 0, 0)
	if e != 0 {
		return 0, e
	}
	if tandemConnections == nil {
		tandemConnections = map[int]*tandemConnection{}
		tandemByNumber = map[uint32]*tandemConnection{}
	}
	tandemOpenSocket(fd)
	tandemConnections[int(fd)] = &tandemConnection{fds: []int{int(fd)}}
	return fd, 0
}

// tandemConnect connects at once: the peers have reacted when it returns.
func tandemConnect(fd int, address unsafe.Pointer, length uintptr) Errno {
	c := tandemConnections[fd]
	if length < SizeofSockaddrInet4 {
		return EINVAL
	}
	raw := (*RawSockaddrInet4)(address)
	if raw.Family != AF_INET {
		return EAFNOSUPPORT
	}
	if c.connected {
		return EISCONN
	}
	tandemSocketPoint(opConnect, uintptr(fd))
	port := uint32(raw.Port>>8 | raw.Port<<8)
	host := uint32(raw.Addr[0])<<24 | uint32(raw.Addr[1])<<16 | uint32(raw.Addr[2])<<8 | uint32(raw.Addr[3])
	c.remote = SockaddrInet4{Port: int(port), Addr: raw.Addr}
	c.local = SockaddrInet4{Port: tandemNextPort, Addr: [4]byte{127, 0, 0, 1}}
	tandemNextPort++
	errno, number, deliveries, data := tandemExchange(exchangeConnect, 0, host, port, nil)
	tandemInput(opConnect, number, nil)
	if errno == 0 {
		c.number, c.connected = number, true
		tandemByNumber[number] = c
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
	c := tandemByNumber[h.connection]
	if c == nil || len(c.fds) == 0 {
		return // closed meanwhile: nobody can notice
	}
	tandemDelivered(op, uintptr(c.fds[0]), h.connection, h.end, p)
	c.inbound = append(c.inbound, p...)
	if h.end != 0 {
		c.ended = h.end
	}
	for _, fd := range c.fds {
		tandemSetReadable(uintptr(fd), true)
	}
}

// tandemReadSocket serves a read of n bytes to p.
func tandemReadSocket(fd int, p unsafe.Pointer, n int, flags int) (int, Errno) {
	c := tandemConnections[fd]
	if !c.connected {
		return 0, ENOTCONN
	}
	tandemSocketPoint(opSocketRead, uintptr(fd))
	switch {
	case len(c.inbound) > 0:
		n = copy(unsafe.Slice((*byte)(p), n), c.inbound)
		if flags&MSG_PEEK == 0 {
			c.inbound = c.inbound[n:]
		}
	case c.ended == endReset:
		return 0, ECONNRESET
	case c.ended != 0:
		return 0, 0
	default:
		return 0, EAGAIN
	}
	for _, fd := range c.fds {
		tandemSetReadable(uintptr(fd), len(c.inbound) > 0 || c.ended != 0)
	}
	return n, 0
}

// tandemWriteSocket sends at most what one exchange can carry.
func tandemWriteSocket(fd int, p unsafe.Pointer, n int) (int, Errno) {
	c := tandemConnections[fd]
	switch {
	case !c.connected:
		return 0, ENOTCONN
	case c.shut || c.ended == endReset:
		return 0, EPIPE
	}
	b := unsafe.Slice((*byte)(p), min(n, exchangeBytes))
	tandemSocketPoint(opSocketWrite, uintptr(fd))
	errno, _, deliveries, data := tandemExchange(exchangeSend, c.number, 0, 0, b)
	tandemInput(opSocketWrite, c.number, b)
	tandemDeliver(opSocketWrite, deliveries, data)
	if errno != 0 {
		return 0, Errno(errno)
	}
	return len(b), 0
}

func tandemShutdown(fd, how int) Errno {
	c := tandemConnections[fd]
	if !c.connected {
		return ENOTCONN
	}
	if how == SHUT_RD || c.shut {
		return 0
	}
	tandemSocketPoint(opSocketShutdown, uintptr(fd))
	c.shut = true
	errno, _, deliveries, data := tandemExchange(exchangeShutdown, c.number, 0, 0, nil)
	tandemInput(opSocketShutdown, c.number, nil)
	tandemDeliver(opSocketShutdown, deliveries, data)
	return Errno(errno)
}

// tandemClose forgets a descriptor; the peers learn it when it was the last.
func tandemClose(fd int) {
	c := tandemConnections[fd]
	if c.connected && len(c.fds) == 1 {
		tandemSocketPoint(opSocketClose, uintptr(fd))
	}
	delete(tandemConnections, fd)
	tandemCloseSocket(uintptr(fd))
	for i, f := range c.fds {
		if f == fd {
			c.fds = append(c.fds[:i:i], c.fds[i+1:]...)
			break
		}
	}
	if !c.connected || len(c.fds) > 0 {
		return
	}
	_, _, deliveries, data := tandemExchange(exchangeClose, c.number, 0, 0, nil)
	tandemInput(opSocketClose, c.number, nil)
	tandemDeliver(opSocketClose, deliveries, data)
}

// tandemDuplicated records that fd is another descriptor of old's connection.
//
//go:linkname tandemDuplicated
func tandemDuplicated(old, fd int) {
	if c := tandemConnections[old]; c != nil {
		tandemOpenSocket(uintptr(fd))
		tandemConnections[fd] = c
		c.fds = append(c.fds, fd)
		tandemSetReadable(uintptr(fd), len(c.inbound) > 0 || c.ended != 0)
	}
}

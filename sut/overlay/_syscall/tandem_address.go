package syscall

import "unsafe"

// tandemAddress is where a socket is: an IP address, IPv4 in its mapped form, and
// a port; or the name of a Unix socket.
type tandemAddress struct {
	ip   [16]byte
	port int
	zone uint32
	name string // begins with a zero byte if it is abstract
}

var (
	tandemMapped   = [12]byte{10: 0xff, 11: 0xff}
	tandemAnyFour  = [16]byte{10: 0xff, 11: 0xff}
	tandemAnySix   = [16]byte{}
	tandemLoopFour = [16]byte{10: 0xff, 11: 0xff, 12: 127, 15: 1}
	tandemLoopSix  = [16]byte{15: 1}
)

func (a *tandemAddress) isFour() bool { return [12]byte(a.ip[:12]) == tandemMapped }

func (a *tandemAddress) isAny() bool { return a.ip == tandemAnyFour || a.ip == tandemAnySix }

//go:linkname tandemAddressOf
func tandemAddressOf(i int) (ip [16]byte, ok bool)

//go:linkname tandemOwnPorts
func tandemOwnPorts() (first, n int)

// isOwn reports whether the address is one of the machine that the program sees,
// which has a loopback interface, and perhaps addresses beside that.
func (a *tandemAddress) isOwn() bool {
	if a.isAny() || a.isLoopback() {
		return true
	}
	for i := 0; ; i++ {
		if ip, ok := tandemAddressOf(i); !ok || ip == a.ip {
			return ok
		}
	}
}

func (a *tandemAddress) isLoopback() bool {
	return a.ip == tandemLoopSix || a.isFour() && a.ip[12] == 127
}

// isRouted reports whether a network leads to the address: it is the machine's own, or the machine
// has one of its family that others have, too.
func (a *tandemAddress) isRouted() bool {
	if a.isOwn() {
		return true
	}
	_, ok := tandemFirstOwn(a.isFour())
	return ok
}

// tandemFirstOwn is the machine's first address of a family beside loopback.
func tandemFirstOwn(four bool) (ip [16]byte, found bool) {
	for i := 0; ; i++ {
		ip, ok := tandemAddressOf(i)
		if !ok {
			return ip, false
		}
		if a := (tandemAddress{ip: ip}); a.isFour() == four {
			return ip, true
		}
	}
}

// source is the address of the machine from which something goes to this one, unless the program
// says otherwise.
func (a *tandemAddress) source() [16]byte {
	switch {
	case a.isLoopback() || a.isAny():
	case a.isOwn():
		return a.ip
	default:
		if ip, ok := tandemFirstOwn(a.isFour()); ok {
			return ip
		}
	}
	return tandemLoopback(a.isFour())
}

// four is an IPv4 address as a number.
func (a *tandemAddress) four() uint32 {
	return uint32(a.ip[12])<<24 | uint32(a.ip[13])<<16 | uint32(a.ip[14])<<8 | uint32(a.ip[15])
}

// tandemReadAddress reads a sockaddr for a socket of a domain.
func tandemReadAddress(domain int, p unsafe.Pointer, n uintptr) (a tandemAddress, e Errno) {
	if n < 2 {
		return a, EINVAL
	}
	switch family := int(*(*uint16)(p)); {
	case family == AF_INET && n >= SizeofSockaddrInet4 && domain != AF_UNIX:
		raw := (*RawSockaddrInet4)(p)
		copy(a.ip[:], tandemMapped[:])
		copy(a.ip[12:], raw.Addr[:])
		a.port = tandemSwap(raw.Port)
	case family == AF_INET6 && n >= SizeofSockaddrInet6 && domain == AF_INET6:
		raw := (*RawSockaddrInet6)(p)
		a.ip, a.zone, a.port = raw.Addr, raw.Scope_id, tandemSwap(raw.Port)
	case family == AF_UNIX && domain == AF_UNIX:
		raw := unsafe.Slice((*byte)(p), n)[2:]
		if len(raw) > 0 && raw[0] != 0 { // a path ends at its first zero byte
			for i, c := range raw {
				if c == 0 {
					raw = raw[:i]
					break
				}
			}
		}
		a.name = string(raw)
	case family == AF_NETLINK && domain == AF_NETLINK:
	case family == AF_INET || family == AF_INET6 || family == AF_UNIX:
		if domain == family {
			return a, EINVAL
		}
		return a, EAFNOSUPPORT
	default:
		return a, EAFNOSUPPORT
	}
	return a, 0
}

func tandemSwap(port uint16) int { return int(port>>8 | port<<8) }

// write stores the address as a sockaddr of a domain where the caller wants it,
// cut off at the length that he has room for.
func (a *tandemAddress) write(domain int, to unsafe.Pointer, length *uint32) {
	if to == nil || length == nil {
		return
	}
	var raw RawSockaddrAny
	n := 2
	raw.Addr.Family = uint16(domain)
	switch domain {
	case AF_INET:
		four := (*RawSockaddrInet4)(unsafe.Pointer(&raw))
		four.Port = uint16(tandemSwap(uint16(a.port)))
		copy(four.Addr[:], a.ip[12:])
		n = SizeofSockaddrInet4
	case AF_INET6:
		six := (*RawSockaddrInet6)(unsafe.Pointer(&raw))
		six.Port = uint16(tandemSwap(uint16(a.port)))
		six.Addr, six.Scope_id = a.ip, a.zone
		n = SizeofSockaddrInet6
	case AF_NETLINK:
		(*RawSockaddrNetlink)(unsafe.Pointer(&raw)).Pid = tandemPid
		n = SizeofSockaddrNetlink
	case AF_UNIX:
		unix := (*RawSockaddrUnix)(unsafe.Pointer(&raw))
		for i := range len(a.name) {
			unix.Path[i] = int8(a.name[i])
		}
		if n += len(a.name); a.name != "" && a.name[0] != 0 {
			n++
		}
	}
	copy(unsafe.Slice((*byte)(to), *length), unsafe.Slice((*byte)(unsafe.Pointer(&raw)), n))
	*length = uint32(n)
}

// tandemNames are the endpoints whose local address is taken.
var tandemNames []*tandemEndpoint

// tandemAddressName names, in the log, a port or the name of a Unix socket: who takes
// it, looks it up or gives it back uses this object.
func tandemAddressName(domain, kind int, a *tandemAddress) uint64 {
	h := uint64(14695981039346656037)
	mix := func(x uint64) { h = (h ^ x) * 1099511628211; h ^= h >> 29 }
	if domain == AF_UNIX {
		for i := range len(a.name) {
			mix(uint64(a.name[i]))
		}
	} else {
		mix(uint64(kind)<<32 | uint64(a.port))
	}
	mix(uint64(domain&^AF_INET6 | AF_INET))
	return socketObject | h>>2
}

// tandemAddressQueue is an address as something that an operation can be on.
func tandemAddressQueue(e *tandemEndpoint, a *tandemAddress) *socketQueue {
	return &socketQueue{object: tandemAddressName(e.domain, e.kind, a), readable: true, room: tandemAnyRoom}
}

// overlaps reports whether two sockets of a kind cannot both have their addresses.
func (e *tandemEndpoint) overlaps(a *tandemAddress, b *tandemEndpoint) bool {
	if e.kind != b.kind || b.domain == AF_UNIX || a.port != b.local.port {
		return false
	}
	return tandemCovers(a, e, &b.local) || tandemCovers(&b.local, b, a)
}

// tandemCovers reports whether a socket bound to a gets what is sent to b.
func tandemCovers(a *tandemAddress, e *tandemEndpoint, b *tandemAddress) bool {
	switch a.ip {
	case b.ip, tandemAnyFour:
		return a.ip == b.ip || b.isFour()
	case tandemAnySix:
		return !b.isFour() || e.option(IPPROTO_IPV6, IPV6_V6ONLY) == 0
	}
	return false
}

// tandemLookUp finds who is at an address: the most specific, and of several the
// one that came last. What is bound to all addresses is not at those of others.
func tandemLookUp(kind int, a *tandemAddress, accept func(*tandemEndpoint) bool) *tandemEndpoint {
	var found *tandemEndpoint
	if !a.isOwn() {
		return nil
	}
	for _, e := range tandemNames {
		if e.kind != kind || e.domain == AF_UNIX || e.local.port != a.port || !accept(e) ||
			!tandemCovers(&e.local, e, a) {
			continue
		}
		if found == nil || found.local.isAny() || !e.local.isAny() {
			found = e
		}
	}
	return found
}

// tandemBind gives an endpoint its address.
func tandemBind(fd int, e *tandemEndpoint, a tandemAddress) Errno {
	switch {
	case e.bound:
		return EINVAL
	case e.domain == AF_UNIX:
		return tandemBindUnix(fd, e, a)
	case e.domain == AF_NETLINK:
		return 0
	case !a.isOwn():
		return EADDRNOTAVAIL
	case e.domain == AF_INET6 && a.isFour() && e.option(IPPROTO_IPV6, IPV6_V6ONLY) != 0:
		return EINVAL
	case a.port == 0:
		if e.toldOfAny() {
			tandemSocketPoint(opBind, uintptr(fd), nil, 0)
		}
		tandemChoosePort(e, &a)
	default:
		place := tandemAddressQueue(e, &a)
		e.pointBind(fd, place)
		if !e.mayBind(&a) {
			return EADDRINUSE
		}
		e.chosen = true
	}
	e.local, e.bound = a, true
	tandemNames = append(tandemNames, e)
	if e.chosen && e.kind == SOCK_DGRAM {
		e.noteServing()
		tandemSetServing(uintptr(fd), e.toldOfAny())
	}
	if e.chosen && e.toldWhenBound() || e.toldOfAny() {
		return e.openDatagrams(opBind, nil)
	}
	return 0
}

// pointBind is the point of taking an address, which the peers may notice.
func (e *tandemEndpoint) pointBind(fd int, place *socketQueue) {
	if e.toldWhenBound() {
		tandemSocketPoint(opBind, uintptr(fd), nil, 0)
		tandemTouch(opBind, place, accessWrite)
		return
	}
	tandemSocketPoint(opBind, uintptr(fd), place, 0)
}

// tandemChoosePort chooses a port for a, by the goroutine that asks.
func tandemChoosePort(e *tandemEndpoint, a *tandemAddress) {
	first, n := tandemOwnPorts()
	from := int(tandemNewName() % uint64(n))
	for i := range n {
		a.port = first + (from+i)%n
		tandemTouchName(opBind, tandemAddressName(e.domain, e.kind, a), accessWrite)
		free := true
		for _, b := range tandemNames {
			free = free && !e.overlaps(a, b)
		}
		if free {
			return
		}
	}
	tandemRefuseCall("more sockets than there are ports")
}

// mayBind reports whether nobody has the address who does not want to share it.
func (e *tandemEndpoint) mayBind(a *tandemAddress) bool {
	for _, b := range tandemNames {
		if !e.overlaps(a, b) {
			continue
		}
		share := func(option int) bool {
			return e.option(SOL_SOCKET, option) != 0 && b.option(SOL_SOCKET, option) != 0
		}
		if !share(tandemREUSEPORT) && (!share(SO_REUSEADDR) || b.listening) {
			return false
		}
	}
	return true
}

const tandemREUSEPORT = 15

// option reads an integer option of the descriptor.
func (e *tandemEndpoint) option(level, name int) int {
	var value [2]int32 // SO_LINGER has two
	if e.domain == 0 || len(e.fds) == 0 {
		return 0
	}
	size := uint32(8)
	_, _, errno := RawSyscall6(SYS_GETSOCKOPT, uintptr(e.fds[0]), uintptr(level), uintptr(name),
		uintptr(unsafe.Pointer(&value)), uintptr(unsafe.Pointer(&size)), 0)
	if errno != 0 {
		return 0
	}
	if level == SOL_SOCKET && name == SO_LINGER && value[0] != 0 && value[1] != 0 {
		return 2
	}
	return int(value[0])
}

// tandemUnbind gives an address back.
func tandemUnbind(e *tandemEndpoint) {
	if !e.bound {
		return
	}
	tandemTouchName(opDescriptorClose, tandemAddressName(e.domain, e.kind, &e.local), accessWrite)
	e.bound = false
	for i, b := range tandemNames {
		if b == e {
			tandemNames = append(tandemNames[:i:i], tandemNames[i+1:]...)
			return
		}
	}
}

package syscall

import "unsafe"

const (
	tandemLevelUDP    = 17
	tandemSegment     = 103 // UDP_SEGMENT
	tandemMaxSegments = 64
)

// tandemAncillary is what the control messages of a datagram ask for. Marks, such as those for
// congestion (ECN), are not in it: they are lost on the way, as they are in many networks.
type tandemAncillary struct {
	segment int      // the kernel cuts the datagram into parts of so many bytes; zero: it does not
	source  [16]byte // where the datagram is to come from, if sourced
	sourced bool
}

// tandemReadAncillary reads control messages. Only datagrams over IP can have any: descriptors and
// credentials, which a Unix socket passes, are refused.
func tandemReadAncillary(e *tandemEndpoint, b []byte) (c tandemAncillary, errno Errno) {
	for len(b) >= SizeofCmsghdr {
		h := (*Cmsghdr)(unsafe.Pointer(&b[0]))
		if h.Len < SizeofCmsghdr || h.Len > uint64(len(b)) {
			return c, EINVAL
		}
		if e.kind != SOCK_DGRAM || e.domain != AF_INET && e.domain != AF_INET6 {
			tandemRefuseCall("sending control messages (descriptors, credentials) over a socket")
		}
		if errno := c.read(int(h.Level), int(h.Type), b[SizeofCmsghdr:h.Len]); errno != 0 {
			return c, errno
		}
		b = b[min(cmsgAlignOf(int(h.Len)), len(b)):]
	}
	return c, 0
}

// read reads one control message.
func (c *tandemAncillary) read(level, kind int, data []byte) Errno {
	switch {
	case level == IPPROTO_IP && kind == IP_TOS && len(data) == 1:
	case level == IPPROTO_IP && (kind == IP_TOS || kind == IP_TTL),
		level == IPPROTO_IPV6 && (kind == IPV6_TCLASS || kind == IPV6_HOPLIMIT):
		if len(data) != 4 {
			return EINVAL
		}
	case level == IPPROTO_IP && kind == IP_PKTINFO:
		if len(data) != SizeofInet4Pktinfo {
			return EINVAL
		}
		if source := (*Inet4Pktinfo)(unsafe.Pointer(&data[0])).Spec_dst; source != [4]byte{} {
			copy(c.source[:], tandemMapped[:])
			copy(c.source[12:], source[:])
			c.sourced = true
		}
	case level == IPPROTO_IPV6 && kind == IPV6_PKTINFO:
		if len(data) != SizeofInet6Pktinfo {
			return EINVAL
		}
		c.source = (*Inet6Pktinfo)(unsafe.Pointer(&data[0])).Addr
		c.sourced = c.source != tandemAnySix
	case level == tandemLevelUDP && kind == tandemSegment:
		if len(data) != 2 {
			return EINVAL
		}
		c.segment = int(*(*uint16)(unsafe.Pointer(&data[0])))
	default:
		tandemRefuseCall("sending a control message with a datagram that is none of IP_TOS, IP_TTL, " +
			"IP_PKTINFO, their like of IPv6, and UDP_SEGMENT")
	}
	return 0
}

// tandemSendAncillary sends a datagram with the control messages of m.
func tandemSendAncillary(fd int, p []byte, flags int, m *Msghdr) (int, Errno) {
	e := tandemEndpoints[fd]
	c, errno := tandemReadAncillary(e, unsafe.Slice(m.Control, m.Controllen))
	if errno != 0 {
		return 0, errno
	}
	var to *tandemAddress
	if m.Namelen > 0 {
		a, errno := tandemReadAddress(e.domain, unsafe.Pointer(m.Name), uintptr(m.Namelen))
		if errno != 0 {
			return 0, errno
		}
		to = &a
	}
	if c.sourced && c.source != e.sourceOf(to) {
		tandemRefuseCall("sending a datagram from another address than that of its socket (IP_PKTINFO)")
	}
	if c.segment == 0 || len(p) <= c.segment {
		return e.send(fd, p, flags, to)
	}
	if len(p) > tandemMaxSegments*c.segment {
		return 0, EINVAL
	}
	if len(p) > tandemMaxDatagram {
		return 0, EMSGSIZE
	}
	for sent := 0; sent < len(p); {
		n, errno := e.send(fd, p[sent:min(sent+c.segment, len(p))], flags, to)
		if errno != 0 && sent > 0 {
			break // what is lost behind the first part is lost on the way
		}
		if errno != 0 {
			return 0, errno
		}
		sent += n
	}
	return len(p), 0
}

// sourceOf is where a datagram to an address comes from.
func (e *tandemEndpoint) sourceOf(to *tandemAddress) [16]byte {
	if e.bound && !e.local.isAny() {
		return e.local.ip
	}
	if to == nil {
		to = &e.remote
	}
	return to.source()
}

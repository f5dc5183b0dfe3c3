package syscall

import "unsafe"

// The program's machine has one network interface, loopback. Who asks for the list
// over a netlink socket is told so.

// sendNetlink answers a request for interfaces or addresses.
func (e *tandemEndpoint) sendNetlink(p []byte) (int, Errno) {
	if len(p) < NLMSG_HDRLEN {
		return 0, EINVAL
	}
	var answer []byte
	switch h := (*NlMsghdr)(unsafe.Pointer(&p[0])); h.Type {
	case RTM_GETLINK:
		answer = tandemInterface(h.Seq)
	case RTM_GETADDR:
		answer = append(tandemInterfaceAddress(h.Seq, AF_INET), tandemInterfaceAddress(h.Seq, AF_INET6)...)
	default:
		tandemRefuseCall("a netlink request other than for the lists of interfaces and addresses")
	}
	answer = append(answer, tandemNetlinkMessage(NLMSG_DONE, (*NlMsghdr)(unsafe.Pointer(&p[0])).Seq,
		make([]byte, 4))...)
	e.in.putMessage(answer, tandemAddress{})
	e.refresh()
	return len(p), 0
}

// tandemNetlinkMessage puts the header before a message, one of several.
func tandemNetlinkMessage(kind uint16, sequence uint32, body []byte) []byte {
	h := NlMsghdr{Len: uint32(NLMSG_HDRLEN + len(body)), Type: kind, Flags: NLM_F_MULTI, Seq: sequence,
		Pid: tandemPid}
	return append(append([]byte(nil), unsafe.Slice((*byte)(unsafe.Pointer(&h)), NLMSG_HDRLEN)...), body...)
}

// tandemAttribute appends an attribute, padded to four bytes.
func tandemAttribute(b []byte, kind uint16, value []byte) []byte {
	a := RtAttr{Len: uint16(SizeofRtAttr + len(value)), Type: kind}
	b = append(append(b, unsafe.Slice((*byte)(unsafe.Pointer(&a)), SizeofRtAttr)...), value...)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}

// tandemInterface describes the interface.
func tandemInterface(sequence uint32) []byte {
	const arphrdLoopback = 772
	info := IfInfomsg{Type: arphrdLoopback, Index: 1, Flags: IFF_UP | IFF_LOOPBACK | IFF_RUNNING}
	mtu := uint32(65536)
	b := append([]byte(nil), unsafe.Slice((*byte)(unsafe.Pointer(&info)), SizeofIfInfomsg)...)
	b = tandemAttribute(b, IFLA_IFNAME, []byte("lo\x00"))
	b = tandemAttribute(b, IFLA_MTU, unsafe.Slice((*byte)(unsafe.Pointer(&mtu)), 4))
	b = tandemAttribute(b, IFLA_ADDRESS, make([]byte, 6))
	return tandemNetlinkMessage(RTM_NEWLINK, sequence, b)
}

// tandemInterfaceAddress describes its address of a family.
func tandemInterfaceAddress(sequence uint32, family uint8) []byte {
	const hostScope = 254
	info := IfAddrmsg{Family: family, Prefixlen: 8, Scope: hostScope, Index: 1}
	ip := tandemLoopFour[12:]
	if family == AF_INET6 {
		info.Prefixlen, ip = 128, tandemLoopSix[:]
	}
	b := append([]byte(nil), unsafe.Slice((*byte)(unsafe.Pointer(&info)), SizeofIfAddrmsg)...)
	b = tandemAttribute(b, IFA_ADDRESS, ip)
	if family == AF_INET {
		b = tandemAttribute(b, IFA_LOCAL, ip)
		b = tandemAttribute(b, IFA_LABEL, []byte("lo\x00"))
	}
	return tandemNetlinkMessage(RTM_NEWADDR, sequence, b)
}

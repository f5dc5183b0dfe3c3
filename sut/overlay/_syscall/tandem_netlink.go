package syscall

import "unsafe"

// The program's machine has the network interface lo, and eth0 if it has addresses beside loopback.
// Who asks for the list over a netlink socket is told so.

// sendNetlink answers a request for interfaces or addresses.
func (e *tandemEndpoint) sendNetlink(p []byte) (int, Errno) {
	if len(p) < NLMSG_HDRLEN {
		return 0, EINVAL
	}
	var answer []byte
	switch h := (*NlMsghdr)(unsafe.Pointer(&p[0])); h.Type {
	case RTM_GETLINK:
		answer = tandemInterfaces(h.Seq)
	case RTM_GETADDR:
		answer = append(tandemLoopbackAddress(h.Seq, AF_INET), tandemLoopbackAddress(h.Seq, AF_INET6)...)
		answer = append(answer, tandemOtherAddresses(h.Seq)...)
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

// tandemInterfaces describes the interfaces.
func tandemInterfaces(sequence uint32) []byte {
	const arphrdLoopback, arphrdEther = 772, 1
	up := uint32(IFF_UP | IFF_RUNNING)
	b := tandemInterface(sequence, IfInfomsg{Type: arphrdLoopback, Index: 1, Flags: up | IFF_LOOPBACK},
		"lo\x00", 65536, make([]byte, 6))
	if ip, ok := tandemAddressOf(0); ok {
		// An address that is made by hand, and no other machine has.
		hardware := append([]byte{2, 0}, ip[12:]...)
		b = append(b, tandemInterface(sequence, IfInfomsg{Type: arphrdEther, Index: 2,
			Flags: up | IFF_BROADCAST | IFF_MULTICAST}, "eth0\x00", 1500, hardware)...)
	}
	return b
}

func tandemInterface(sequence uint32, info IfInfomsg, name string, mtu uint32, hardware []byte) []byte {
	b := append([]byte(nil), unsafe.Slice((*byte)(unsafe.Pointer(&info)), SizeofIfInfomsg)...)
	b = tandemAttribute(b, IFLA_IFNAME, []byte(name))
	b = tandemAttribute(b, IFLA_MTU, unsafe.Slice((*byte)(unsafe.Pointer(&mtu)), 4))
	b = tandemAttribute(b, IFLA_ADDRESS, hardware)
	return tandemNetlinkMessage(RTM_NEWLINK, sequence, b)
}

// tandemLoopbackAddress describes the address of lo of a family.
func tandemLoopbackAddress(sequence uint32, family uint8) []byte {
	const hostScope = 254
	info := IfAddrmsg{Family: family, Prefixlen: 8, Scope: hostScope, Index: 1}
	ip := tandemLoopFour[12:]
	if family == AF_INET6 {
		info.Prefixlen, ip = 128, tandemLoopSix[:]
	}
	return tandemInterfaceAddress(sequence, info, ip, "lo\x00")
}

// tandemOtherAddresses describes those of eth0. Networks are of the usual sizes.
func tandemOtherAddresses(sequence uint32) (b []byte) {
	for i := 0; ; i++ {
		ip, ok := tandemAddressOf(i)
		if !ok {
			return b
		}
		info := IfAddrmsg{Family: AF_INET6, Prefixlen: 64, Index: 2}
		bytes := ip[:]
		if a := (tandemAddress{ip: ip}); a.isFour() {
			info.Family, info.Prefixlen, bytes = AF_INET, 24, ip[12:]
		}
		b = append(b, tandemInterfaceAddress(sequence, info, bytes, "eth0\x00")...)
	}
}

func tandemInterfaceAddress(sequence uint32, info IfAddrmsg, ip []byte, label string) []byte {
	b := append([]byte(nil), unsafe.Slice((*byte)(unsafe.Pointer(&info)), SizeofIfAddrmsg)...)
	b = tandemAttribute(b, IFA_ADDRESS, ip)
	if info.Family == AF_INET {
		b = tandemAttribute(b, IFA_LOCAL, ip)
		b = tandemAttribute(b, IFA_LABEL, []byte(label))
	}
	return tandemNetlinkMessage(RTM_NEWADDR, sequence, b)
}

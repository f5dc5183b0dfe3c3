package syscall

import _ "unsafe"

// Whom the program dials, with what result, and where it waits for others goes into the log: a
// verdict says what it found nobody at, and for whom nobody came.

//go:linkname tandemRecordDial
func tandemRecordDial(flags uint8, number uint32, a, b, object uint64)

// tandemServed are the sockets at whose addresses the program has waited for others, open or not.
var tandemServed []*tandemEndpoint

// network is that of an address of the endpoint.
func (e *tandemEndpoint) network() uint8 {
	switch {
	case e.domain == AF_UNIX && e.kind == SOCK_STREAM:
		return networkUnix
	case e.domain == AF_UNIX && e.kind == SOCK_DGRAM:
		return networkUnixgram
	case e.domain == AF_UNIX:
		return networkUnixpacket
	case e.kind == SOCK_DGRAM:
		return networkUDP
	}
	return networkTCP
}

// noteDial records that the program has dialled an address.
func (e *tandemEndpoint) noteDial(a *tandemAddress, errno Errno) {
	if e.domain == AF_NETLINK {
		return
	}
	flags := e.network()
	if e.hasServed(a) {
		flags |= dialOwn
	}
	e.noteAddress(flags, a, errno, 0)
}

// noteServing records that others can reach the endpoint at its address now.
func (e *tandemEndpoint) noteServing() {
	if e.domain == AF_NETLINK {
		return
	}
	tandemServed = append(tandemServed, e)
	flags := e.network() | dialServes
	if e.chosen || e.domain == AF_UNIX {
		flags |= dialOwn
	}
	e.noteAddress(flags, &e.local, 0, e.in.queue.object)
}

// hasServed reports whether the program waits for others at an address, or has done so.
func (e *tandemEndpoint) hasServed(a *tandemAddress) bool {
	for _, s := range tandemServed {
		if s.kind != e.kind || (s.domain == AF_UNIX) != (e.domain == AF_UNIX) {
			continue
		}
		if e.domain == AF_UNIX && s.local.name == a.name ||
			e.domain != AF_UNIX && s.local.port == a.port && a.isOwn() && tandemCovers(&s.local, s, a) {
			return true
		}
	}
	return false
}

func (e *tandemEndpoint) noteAddress(flags uint8, a *tandemAddress, errno Errno, object uint64) {
	if e.domain == AF_UNIX {
		tandemNoteName(flags, a.whole(), errno, object)
		return
	}
	tandemRecordDial(flags, uint32(errno)<<16|uint32(a.port), tandemEight(a.ip[:8]), tandemEight(a.ip[8:]),
		object)
}

// tandemNoteName records a name, in as many records as it takes.
func tandemNoteName(flags uint8, name string, errno Errno, object uint64) {
	const each = 16 // bytes of a record
	b := make([]byte, (len(name)+each-1)/each*each+each)
	copy(b, name)
	number := uint32(errno)<<16 | uint32(len(name))
	for at := 0; at == 0 || at < len(name); at += each {
		tandemRecordDial(flags, number, tandemEight(b[at:]), tandemEight(b[at+8:]), object)
		flags |= dialMore
	}
}

// tandemEight is eight bytes as a number, big endian.
func tandemEight(b []byte) (n uint64) {
	for _, c := range b[:8] {
		n = n<<8 | uint64(c)
	}
	return n
}

// tandemNoteQuestion records that the name in a question of the domain name system is not known.
func tandemNoteQuestion(question []byte) {
	const header = 12
	name := []byte(nil)
	for at := header; at < len(question) && question[at] != 0; {
		n := int(question[at])
		if at++; at+n > len(question) {
			break
		}
		if len(name) > 0 {
			name = append(name, '.')
		}
		name = append(name, question[at:at+n]...)
		at += n
	}
	tandemNoteName(dialName, string(name), ENOENT, 0)
}

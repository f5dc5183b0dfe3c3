package syscall

import "unsafe"

// put appends to a stream, reusing the space of what has been read.
func (f *tandemFlow) put(p []byte) {
	if f.head > 0 && len(f.stream)+len(p) > cap(f.stream) {
		f.stream = f.stream[:copy(f.stream, f.stream[f.head:])]
		f.head = 0
	}
	f.stream = append(f.stream, p...)
}

// read reads from a stream; with peek set, what is read stays.
func (f *tandemFlow) read(p []byte, peek bool) int {
	n := copy(p, f.stream[f.head:])
	if !peek {
		if f.head += n; f.head == len(f.stream) {
			f.stream, f.head = f.stream[:0], 0
		}
	}
	return n
}

// tandemBefore has the point of a read or write of n bytes, which package internal/poll is asked
// for, where the descriptor is not yet locked: else whoever writes twice would keep
// others, who wait for the lock, from writing in between.
//
//go:linkname tandemBefore
func tandemBefore(fd int, write bool, n int) {
	e := tandemEndpoints[fd]
	switch {
	case e.isMessages() || tandemIsRaw():
	case !write && e.in != nil && !e.listening:
		e.mayFail()
		tandemSocketBefore(opSocketRead, uintptr(fd), &e.in.queue, 0)
	case write && e.foreign:
		tandemSocketBefore(opSocketWrite, uintptr(fd), nil, 0)
	case write && e.out != nil:
		tandemSocketBefore(opBufferWrite, uintptr(fd), &e.out.queue, int32(e.roomFor(n)))
	}
}

// mayFail chooses whether a connection to a peer fails at a read, and how. It can fail while
// nothing is under way, so there is such a choice before each read. A connection that has failed
// has it too: whether it has is not to change which transitions there are.
func (e *tandemEndpoint) mayFail() (fault uint32) {
	if !e.ofPeer {
		return 0
	}
	fault = tandemFault(faultsOfRead, faultKinds, e.spared, nil) // what goes well commutes with all else
	if fault == 0 || !e.foreign || e.mute {
		return 0
	}
	e.fail(opFault, fault)
	return fault
}

// roomFor is how much room a write of n bytes waits for.
func (e *tandemEndpoint) roomFor(n int) int {
	if e.domain == 0 && n <= tandemPipeAtomic {
		return n
	}
	return min(n, 1)
}

// readStream serves a read from a connection or pipe.
func (e *tandemEndpoint) readStream(fd int, p []byte, flags int) (int, Errno) {
	// Whether the connection fails is chosen before the read waits. A try does not wait: then it is
	// chosen only where there is something to read.
	asked := flags&MSG_PEEK != 0 || tandemBegun(opSocketRead, uintptr(fd))
	tries := flags&MSG_DONTWAIT != 0 || tandemIsRaw()
	switch {
	case e.in == nil && e.domain == 0:
		return 0, EBADF
	case e.in == nil || e.listening:
		return 0, ENOTCONN
	case !asked && !tries:
		e.mayFail()
	}
	if !tandemWait(opSocketRead, fd, &e.in.queue, 0, flags) {
		return 0, EAGAIN
	}
	e.in.queue.awaited = false
	if !asked && tries && len(e.in.stream) > e.in.head && e.mayFail() == faultSilence {
		return 0, EAGAIN
	}
	if len(p) > 1 && len(e.in.stream)-e.in.head > 1 && tandemShort(uintptr(fd), &e.in.queue, 0) {
		p = p[:1]
	}
	if len(e.in.stream) > e.in.head {
		n := e.in.read(p, flags&MSG_PEEK != 0)
		e.refreshBoth()
		if flags&MSG_PEEK == 0 {
			e.noteTaken(opSocketRead, exchangeReceive, p[:n])
		}
		return n, 0
	}
	e.noteTaken(opSocketRead, exchangeReceive, nil)
	if e.fault != 0 && e.out != nil { // a write does not find it any more
		tandemTouch(opSocketRead, &e.out.queue, accessWrite)
	}
	return 0, e.clearFault()
}

// writeStream takes as much as there is room for.
func (e *tandemEndpoint) writeStream(fd int, p []byte, flags int) (int, Errno) {
	if e.foreign {
		return e.writeForeign(fd, p)
	}
	if e.out == nil {
		return 0, e.cannotWrite()
	}
	p = e.perhapsShort(fd, p)
	if !tandemWait(opBufferWrite, fd, &e.out.queue, e.roomFor(len(p)), flags) {
		return 0, EAGAIN
	}
	internet := e.domain == AF_INET || e.domain == AF_INET6
	switch {
	case internet && e.fault != 0:
		return 0, e.clearFaultOfWrite(opBufferWrite)
	case e.shut || e.out.broken && !internet:
		return 0, EPIPE
	case e.out.broken: // it is sent, and the other end answers with a reset
		e.shut = true
		return len(p), 0
	}
	n := min(len(p), e.out.limit-(len(e.out.stream)-e.out.head))
	e.out.put(p[:n])
	e.refreshBoth()
	return n, 0
}

// perhapsShort is what a write begins with: all, or one byte if that is chosen. Pipes take
// as much as there is room for.
func (e *tandemEndpoint) perhapsShort(fd int, p []byte) []byte {
	if e.domain != 0 && len(p) > 1 && tandemShort(uintptr(fd), &e.out.queue, 1) {
		return p[:1]
	}
	return p
}

func (e *tandemEndpoint) cannotWrite() Errno {
	switch e.domain {
	case 0:
		return EBADF
	case AF_UNIX:
		return ENOTCONN
	}
	return EPIPE
}

func (e *tandemEndpoint) shutdown(fd, how int) Errno {
	if !e.connected {
		return ENOTCONN
	}
	if how != SHUT_WR {
		tandemSocketPoint(opSocketShutdown, uintptr(fd), &e.in.queue, 0)
		e.deaf = true
		if e.domain == AF_UNIX && e.kind != SOCK_DGRAM {
			e.in.broken = true
		}
		e.refreshBoth()
	}
	switch {
	case how == SHUT_RD:
		return 0
	case e.foreign && e.out != nil:
		return e.shutdownForeign(fd)
	case e.out == nil: // datagrams
		tandemSocketPoint(opSocketShutdown, uintptr(fd), &e.in.queue, 0)
		e.shut = true
		return 0
	}
	tandemSocketPoint(opSocketShutdown, uintptr(fd), &e.out.queue, 0)
	e.shut = true
	e.out.ended = true
	e.refreshBoth()
	return 0
}

// closeStream tells the other end. What had arrived and was not read makes a
// close a reset.
func (e *tandemEndpoint) closeStream() {
	other := e.other
	unread := false
	if e.out != nil {
		tandemTouch(opDescriptorClose, &e.out.queue, accessWrite)
		e.out.ended = true
	}
	if e.in != nil {
		tandemTouch(opDescriptorClose, &e.in.queue, accessWrite)
		e.in.broken = true
		unread = len(e.in.stream) > e.in.head || len(e.in.messages) > 0 && e.kind != SOCK_DGRAM
	}
	if other == nil {
		return
	}
	if e.domain != 0 && (unread || e.abort) {
		other.fault, other.shut = ECONNRESET, true
	}
	e.other, other.other = nil, nil
	other.refresh()
}

// tandemPipe makes a pipe: the descriptors are those of a real one, which stays empty.
func tandemPipe(fds *[2]_C_int, flags uintptr) Errno {
	if _, _, errno := RawSyscall6(SYS_PIPE2, uintptr(unsafe.Pointer(fds)), flags, 0, 0, 0, 0); errno != 0 {
		return errno
	}
	flow := tandemNewFlow(tandemPipeBytes)
	r := &tandemEndpoint{in: flow, connected: true}
	w := &tandemEndpoint{out: flow, connected: true, other: r}
	r.other = w
	tandemAttachSocket(r, int(fds[0]))
	tandemAttachSocket(w, int(fds[1]))
	return 0
}

// tandemSocketPair makes two sockets that are connected to each other.
func tandemSocketPair(domain, typ, proto int, fds *[2]int32) error {
	kind := typ & 0xf
	if domain != AF_UNIX {
		return EOPNOTSUPP
	}
	_, _, errno := RawSyscall6(SYS_SOCKETPAIR, uintptr(domain), uintptr(typ), uintptr(proto),
		uintptr(unsafe.Pointer(fds)), 0, 0)
	if errno != 0 {
		return errno
	}
	one := &tandemEndpoint{domain: domain, kind: kind, connected: true,
		in: tandemNewFlow(tandemBufferBytes), out: tandemNewFlow(tandemBufferBytes)}
	two := &tandemEndpoint{domain: domain, kind: kind, connected: true, in: one.out, out: one.in, other: one}
	one.other = two
	tandemAttachSocket(one, int(fds[0]))
	tandemAttachSocket(two, int(fds[1]))
	return nil
}

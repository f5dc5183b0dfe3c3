package syscall

import "unsafe"

// tandemGather copies what a list of buffers holds, up to a limit, and
// tandemScatter fills one.
func tandemGather(list []Iovec, limit int) []byte {
	b := make([]byte, 0, min(tandemLength(list), limit))
	for _, x := range list {
		b = append(b, unsafe.Slice(x.Base, min(int(x.Len), cap(b)-len(b)))...)
	}
	return b
}

func tandemScatter(list []Iovec, b []byte) {
	for _, x := range list {
		b = b[copy(unsafe.Slice(x.Base, x.Len), b):]
	}
}

func tandemLength(list []Iovec) (n int) {
	for _, x := range list {
		n += int(x.Len)
	}
	return n
}

func tandemReadVector(fd int, iov unsafe.Pointer, n int) (int, Errno) {
	list := unsafe.Slice((*Iovec)(iov), n)
	b := make([]byte, tandemLength(list))
	n, _, _, errno := tandemEndpoints[fd].receive(fd, b, 0)
	tandemScatter(list, b[:n])
	return n, errno
}

func tandemWriteVector(fd int, iov unsafe.Pointer, n int) (int, Errno) {
	e := tandemEndpoints[fd]
	return e.send(fd, tandemGather(unsafe.Slice((*Iovec)(iov), n), e.atOnce()), 0, nil)
}

func tandemReceiveMessage(fd int, p unsafe.Pointer, flags int) (int, Errno) {
	m := (*Msghdr)(p)
	e := tandemEndpoints[fd]
	list := unsafe.Slice(m.Iov, m.Iovlen)
	b := make([]byte, tandemLength(list))
	n, length, from, errno := e.receive(fd, b, flags)
	if errno != 0 {
		return 0, errno
	}
	tandemScatter(list, b[:n])
	m.Controllen, m.Flags = 0, 0
	if length > n {
		m.Flags = MSG_TRUNC
	}
	e.writeFrom(from, unsafe.Pointer(m.Name), unsafe.Pointer(&m.Namelen))
	return n, 0
}

func tandemSendMessage(fd int, p unsafe.Pointer, flags int) (int, Errno) {
	m := (*Msghdr)(p)
	b := tandemGather(unsafe.Slice(m.Iov, m.Iovlen), tandemEndpoints[fd].atOnce())
	if m.Controllen > 0 {
		return tandemSendAncillary(fd, b, flags, m)
	}
	return tandemSendTo(fd, unsafe.Pointer(unsafe.SliceData(b)), len(b), flags, unsafe.Pointer(m.Name),
		uintptr(m.Namelen))
}

// atOnce is more than what one call can write, or all of a message.
func (e *tandemEndpoint) atOnce() int {
	if e.isMessages() {
		return tandemAnyRoom
	}
	return max(tandemBufferBytes, exchangeBytes)
}

// tandemSendFile writes from a file to a socket or pipe.
func tandemSendFile(fd, from int, offset *int64, size int) (int, Errno) {
	e := tandemEndpoints[fd]
	if tandemDescribed(from) == nil {
		return 0, EINVAL // the program then copies by itself
	}
	at := int64(-1)
	if offset != nil {
		at = *offset
	}
	b := make([]byte, min(size, tandemPipeBytes))
	n, errno := tandemReadFile(from, unsafe.Pointer(unsafe.SliceData(b)), len(b), at)
	if n == 0 || errno != 0 {
		return 0, errno
	}
	sent, errno := e.send(fd, b[:n], 0, nil)
	if offset != nil {
		*offset += int64(sent)
	} else if sent < n {
		tandemSeek(from, int64(sent-n), tandemFromHere)
	}
	return sent, errno
}

// tandemMultiple is an element of what recvmmsg and sendmmsg take.
type tandemMultiple struct {
	header Msghdr
	length uint32
}

const (
	tandemRecvmmsg = 299
	tandemSendmmsg = 307
)

// tandemMessages receives or sends several messages; only for the first it waits.
func tandemMessages(
	fd int, p unsafe.Pointer, n, flags int, one func(int, unsafe.Pointer, int) (int, Errno),
) (int, Errno) {
	list := unsafe.Slice((*tandemMultiple)(p), n)
	for i := range list {
		length, errno := one(fd, unsafe.Pointer(&list[i].header), flags)
		if errno != 0 && i > 0 {
			return i, 0
		}
		if errno != 0 {
			return 0, errno
		}
		list[i].length = uint32(length)
		flags |= MSG_DONTWAIT
	}
	return n, 0
}

package syscall

import "unsafe"

// tandemGather copies what a list of buffers holds, and tandemScatter fills one.
func tandemGather(list []Iovec) []byte {
	var b []byte
	for _, x := range list {
		b = append(b, unsafe.Slice(x.Base, x.Len)...)
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
	return tandemEndpoints[fd].send(fd, tandemGather(unsafe.Slice((*Iovec)(iov), n)), 0, nil)
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
	if m.Controllen > 0 {
		tandemRefuseCall("sending control messages (descriptors, credentials, packet information) over a socket")
	}
	b := tandemGather(unsafe.Slice(m.Iov, m.Iovlen))
	return tandemSendTo(fd, unsafe.Pointer(unsafe.SliceData(b)), len(b), flags, unsafe.Pointer(m.Name), uintptr(m.Namelen))
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
func tandemMessages(fd int, p unsafe.Pointer, n, flags int, one func(int, unsafe.Pointer, int) (int, Errno)) (int, Errno) {
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

//go:build amd64

package ckptd

import (
	"encoding/binary"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Programs wake themselves by a pair of Unix sockets: libcurl does. Such a pair is made again like
// a pipe.

// describeUnix knows the ends of a socketpair(2) that is empty, and whose ends are both of
// the peers: see checkPairs.
func (m *memoryImage) describeUnix(d *descriptor, f openFile, fd int) error {
	kind, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	if err != nil {
		return err
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		return err
	}
	if _, err := unix.Getpeername(fd); err == unix.ENOTCONN {
		return m.describeLonely(d, f, fd, kind)
	}
	number, err := inode(fd)
	if err != nil {
		return err
	}
	passes, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PASSCRED)
	if err != nil {
		return err
	}
	unread, err1 := unix.IoctlGetInt(fd, unix.TIOCINQ)
	unsent, err2 := unix.IoctlGetInt(fd, unix.TIOCOUTQ)
	const unnamed = "@" // so x/sys has it
	if a, ok := name.(*unix.SockaddrUnix); !ok || a.Name != "" && a.Name != unnamed || kind != unix.SOCK_STREAM || passes != 0 || err1 != nil || err2 != nil || unread+unsent > 0 {
		return refuse("descriptor %d of process %d is a Unix socket, and not an end of an empty pair of streams", f.number, f.pid)
	}
	peer, err := unixPeer(m.group.network, number)
	if err != nil {
		return fmt.Errorf("%w: descriptor %d of process %d, a Unix socket: %w", errRefused, f.number, f.pid, err)
	}
	d.pair = [2]uint64{number, peer}
	key, end := fmt.Sprintf("socketpair %d", min(number, peer)), 0
	if number > peer {
		end = 1
	}
	d.make = func(of *revival) (int, error) { return of.pairEnd(key, end, f.flags) }
	return nil
}

// checkPairs refuses a pair of which somebody else may have an end.
func checkPairs(all []*process) error {
	own := map[uint64]bool{}
	for _, p := range all {
		for _, d := range p.descriptors {
			own[d.pair[0]] = true
		}
	}
	for _, p := range all {
		for _, d := range p.descriptors {
			if d.pair[0] != 0 && !own[d.pair[1]] {
				return refuse("descriptor %d of process %d is an end of a pair of Unix sockets whose other end no peer has", d.number, p.pid)
			}
		}
	}
	return nil
}

// pairEnd makes the pair at the first of its two ends, in the network of the group: there the next
// checkpoint looks for it.
func (of *revival) pairEnd(key string, end, flags int) (int, error) {
	ends, ok := of.pipes[key]
	if !ok {
		err := inNetwork(of.network, func() (err error) {
			ends, err = unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			return err
		})
		if err != nil {
			return -1, err
		}
		of.keep(ends[0], ends[1])
		of.pipes[key] = ends
	}
	if _, err := unix.FcntlInt(uintptr(ends[end]), unix.F_SETFL, flags&unix.O_NONBLOCK); err != nil {
		return -1, err
	}
	return unix.FcntlInt(uintptr(ends[end]), unix.F_DUPFD_CLOEXEC, 0)
}

// Of sock_diag(7) for Unix sockets.
const (
	diagByFamily  = 20 // SOCK_DIAG_BY_FAMILY
	diagShowPeer  = 4  // UDIAG_SHOW_PEER
	diagPeer      = 2  // UNIX_DIAG_PEER
	diagShutdown  = 6  // UNIX_DIAG_SHUTDOWN
	diagHeader    = 16 // of a netlink message
	diagUnixSize  = 16 // of struct unix_diag_msg
	diagAttribute = 4  // header of an attribute
)

// unixPeer asks for the inode of the socket at the other end of one that is in a network.
func unixPeer(network *os.File, number uint64) (peer uint64, err error) {
	answer, err := askUnix(network, number, diagShowPeer)
	if err != nil {
		return 0, err
	}
	return parseUnixPeer(answer)
}

// askUnix asks the kernel for some of what it knows of a Unix socket in a network.
func askUnix(network *os.File, number uint64, what uint32) (answer []byte, err error) {
	fd := -1
	err = inNetwork(network, func() (err error) {
		fd, err = unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_INET_DIAG)
		return err
	})
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	b := binary.NativeEndian.AppendUint32(nil, diagHeader+24)
	b = binary.NativeEndian.AppendUint16(b, diagByFamily)
	b = binary.NativeEndian.AppendUint16(b, unix.NLM_F_REQUEST)
	b = append(b, make([]byte, 8)...) // sequence number, port
	b = append(b, unix.AF_UNIX, 0, 0, 0)
	for _, word := range []uint32{^uint32(0), uint32(number), what, ^uint32(0), ^uint32(0)} { // states, inode, what, any cookie
		b = binary.NativeEndian.AppendUint32(b, word)
	}
	if err := unix.Sendto(fd, b, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return nil, err
	}
	answer = make([]byte, 4096)
	n, err := unix.Read(fd, answer)
	return answer[:max(n, 0)], err
}

// parseUnixPeer reads the answer: one message, and in it attributes.
func parseUnixPeer(b []byte) (peer uint64, err error) {
	if len(b) < diagHeader+4 {
		return 0, fmt.Errorf("an answer of %d bytes about its other end", len(b))
	}
	if kind := binary.NativeEndian.Uint16(b[4:]); kind != diagByFamily {
		return 0, fmt.Errorf("its other end is not known: %w", unix.Errno(-int32(binary.NativeEndian.Uint32(b[diagHeader:]))))
	}
	length := int(min(uint64(binary.NativeEndian.Uint32(b)), uint64(len(b))))
	for at := diagHeader + diagUnixSize; at+diagAttribute <= length; {
		size, kind := int(binary.NativeEndian.Uint16(b[at:])), binary.NativeEndian.Uint16(b[at+2:])
		if size < diagAttribute || at+size > length {
			break
		}
		value := b[at+diagAttribute : at+size]
		switch {
		case kind == diagPeer && len(value) >= 4:
			peer = uint64(binary.NativeEndian.Uint32(value))
		case kind == diagShutdown && len(value) >= 1 && value[0] != 0:
			return 0, fmt.Errorf("it was shut down")
		}
		at += (size + 3) &^ 3
	}
	if peer == 0 {
		return 0, fmt.Errorf("it has no other end")
	}
	return peer, nil
}

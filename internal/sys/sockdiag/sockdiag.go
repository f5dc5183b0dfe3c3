// Package sockdiag asks the kernel for what it knows of sockets by sock_diag(7).
//
// A request names a socket by its inode number, and an answer is one netlink message: the header of
// netlink, a struct unix_diag_msg, and then attributes. An attribute begins with its length and its
// kind, two bytes each, and is filled up to a multiple of four bytes.
package sockdiag

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys/netns"
)

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

// UnixPeer asks for the inode of the socket at the other end of one that is in a network. There is
// an error for a socket that has no other end any more, and for one that was shut down: nobody
// could make either of them again.
func UnixPeer(network *os.File, number uint64) (peer uint64, err error) {
	answer, err := askUnix(network, number, diagShowPeer)
	if err != nil {
		return 0, err
	}
	return parseUnixPeer(answer)
}

// Open opens a socket that asks about the sockets of a network, wherever it is used.
func Open(network *os.File) (fd int, err error) {
	err = netns.InFile(network, func() (err error) {
		fd, err = unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_INET_DIAG)
		return err
	})
	if err != nil {
		return -1, err
	}
	return fd, nil
}

// askUnix asks the kernel for some of what it knows of a Unix socket, from inside its network,
// since the kernel looks nowhere else. The question is a set of UDIAG_SHOW flags.
func askUnix(network *os.File, number uint64, what uint32) (answer []byte, err error) {
	fd, err := Open(network)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	b := binary.NativeEndian.AppendUint32(nil, diagHeader+24)
	b = binary.NativeEndian.AppendUint16(b, diagByFamily)
	b = binary.NativeEndian.AppendUint16(b, unix.NLM_F_REQUEST)
	b = append(b, make([]byte, 8)...) // sequence number, port
	b = append(b, unix.AF_UNIX, 0, 0, 0)
	// states, inode, what, any cookie
	for _, word := range []uint32{^uint32(0), uint32(number), what, ^uint32(0), ^uint32(0)} {
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
		return 0, fmt.Errorf("its other end is not known: %w",
			unix.Errno(-int32(binary.NativeEndian.Uint32(b[diagHeader:]))))
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

// Of sock_diag(7) for the queue of a Unix socket that listens.
const (
	diagShowQueue = 0x10 // UDIAG_SHOW_RQLEN
	diagQueue     = 4    // UNIX_DIAG_RQLEN
)

// UnixQueue tells how many connections to a listening socket wait to be accepted, and how many may:
// the backlog that the program has given to listen(2).
func UnixQueue(network *os.File, number uint64) (pending uint32, most int, err error) {
	b, err := askUnix(network, number, diagShowQueue)
	if err != nil {
		return 0, 0, err
	}
	for at := diagHeader + diagUnixSize; at+diagAttribute <= len(b); {
		size, kind := int(binary.NativeEndian.Uint16(b[at:])), binary.NativeEndian.Uint16(b[at+2:])
		if size < diagAttribute || at+size > len(b) {
			break
		}
		if kind == diagQueue && size >= diagAttribute+8 {
			value := b[at+diagAttribute:]
			return binary.NativeEndian.Uint32(value), int(binary.NativeEndian.Uint32(value[4:])), nil
		}
		at += (size + 3) &^ 3
	}
	return 0, 0, errors.New("this Linux does not tell the queue of a Unix socket")
}

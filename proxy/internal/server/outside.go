package server

import (
	"encoding/binary"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys"
)

// outside reports whether a path is that of a socket to which nobody in this network namespace is
// bound. The group sees the files of the machine, and so the sockets of its services: a program
// that is checked must not reach those. Abstract names are those of a network namespace anyway.
func outside(path string) bool {
	var s unix.Stat_t
	if strings.HasPrefix(path, "\x00") || unix.Stat(path, &s) != nil || s.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return false // connecting tells what is wrong
	}
	inodes, err := boundInodes()
	return err != nil || !slices.Contains(inodes, uint32(s.Ino))
}

// Of linux/unix_diag.h: a request for all Unix sockets of a network namespace, and what it is to
// show.
const (
	unixDiagRequest = unix.SizeofNlMsghdr + 24
	unixDiagMessage = 16 // of an answer, before its attributes
	unixDiagShowVFS = 1 << 1
	unixDiagVFS     = 1
)

// boundInodes asks sock_diag(7) for the files that the Unix sockets of the network namespace are
// bound to. The answer comes in several datagrams. Sockets are told by inodes alone: the group sees
// few file systems, and one that is taken for another is only connected to.
func boundInodes() ([]uint32, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_INET_DIAG)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	m := make([]byte, unixDiagRequest)
	binary.NativeEndian.PutUint32(m, unixDiagRequest)
	binary.NativeEndian.PutUint16(m[4:], unix.SOCK_DIAG_BY_FAMILY)
	binary.NativeEndian.PutUint16(m[6:], unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
	body := m[unix.SizeofNlMsghdr:]
	body[0] = unix.AF_UNIX
	binary.NativeEndian.PutUint32(body[4:], ^uint32(0)) // in any state
	binary.NativeEndian.PutUint32(body[12:], unixDiagShowVFS)
	if err := unix.Sendto(fd, m, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return nil, err
	}
	var inodes []uint32
	buffer := make([]byte, 32<<10)
	for {
		n, err := sys.Retry(func() (int, error) { return unix.Read(fd, buffer) })
		if err != nil {
			return nil, err
		}
		more, done, err := parseBoundInodes(buffer[:n])
		if inodes = append(inodes, more...); err != nil || done {
			return inodes, err
		}
	}
}

// parseBoundInodes reads one datagram of the answer; done means that it was the last one. A socket
// without such a file has no attribute that says so: sock_diag(7), UNIX_DIAG_VFS.
func parseBoundInodes(b []byte) (inodes []uint32, done bool, err error) {
	for len(b) >= unix.SizeofNlMsghdr {
		length, kind := binary.NativeEndian.Uint32(b), binary.NativeEndian.Uint16(b[4:])
		if length < unix.SizeofNlMsghdr || uint64(length) > uint64(len(b)) {
			return nil, false, unix.EBADMSG
		}
		body := b[unix.SizeofNlMsghdr:length]
		switch {
		case kind == unix.NLMSG_DONE:
			return inodes, true, nil
		case kind != unix.SOCK_DIAG_BY_FAMILY || len(body) < unixDiagMessage:
			return nil, false, unix.EBADMSG
		}
		for a := body[unixDiagMessage:]; len(a) >= 4; {
			size := int(binary.NativeEndian.Uint16(a))
			if size < 4 || size > len(a) {
				return nil, false, unix.EBADMSG
			}
			if binary.NativeEndian.Uint16(a[2:]) == unixDiagVFS && size >= 8 {
				inodes = append(inodes, binary.NativeEndian.Uint32(a[4:]))
			}
			a = a[min((size+3)&^3, len(a)):]
		}
		b = b[min((length+3)&^3, uint32(len(b))):]
	}
	return inodes, false, nil
}

package openfiles

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/incarnation"
	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/internal/sys/netns"
	"github.com/tandem-mc/tandem/internal/sys/sockdiag"
)

// Programs wake themselves by a pair of Unix sockets: libcurl does. Such a pair is made again like
// a pipe.

// describeUnix knows the ends of a socketpair(2) that is empty, and whose ends are both of the
// peers: see checkPairs. It is known by the inodes of both ends. What is on the way between them
// could be read only by taking it out, so there must be nothing; and the credentials of a message
// are of the process that has sent it.
func describeUnix(network *os.File, d *Descriptor, f openFile, fd int) error {
	kind, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	if err != nil {
		return err
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		return err
	}
	if _, err := unix.Getpeername(fd); err == unix.ENOTCONN {
		return describeLonely(network, d, f, fd, kind)
	}
	number, err := sys.Inode(fd)
	if err != nil {
		return err
	}
	// With it each message has credentials, which no other process can give it.
	passes, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PASSCRED)
	if err != nil {
		return err
	}
	unread, err1 := unix.IoctlGetInt(fd, unix.TIOCINQ)
	unsent, err2 := unix.IoctlGetInt(fd, unix.TIOCOUTQ)
	const unnamed = "@" // so x/sys has it
	if a, ok := name.(*unix.SockaddrUnix); !ok || a.Name != "" && a.Name != unnamed ||
		kind != unix.SOCK_STREAM || passes != 0 || err1 != nil || err2 != nil || unread+unsent > 0 {
		return incarnation.Refuse(
			"descriptor %d of process %d is a Unix socket, and not an end of an empty pair of streams",
			f.number, f.pid)
	}
	peer, err := sockdiag.UnixPeer(network, number)
	if err != nil {
		return fmt.Errorf("%w: descriptor %d of process %d, a Unix socket: %w", incarnation.ErrRefused,
			f.number, f.pid, err)
	}
	d.pair = [2]uint64{number, peer}
	// Both ends have to come to the same name, and to different ends of it.
	key, end := fmt.Sprintf("socketpair %d", min(number, peer)), 0
	if number > peer {
		end = 1
	}
	d.make = func(of *Making) (int, error) { return of.pairEnd(key, end, f.flags) }
	return nil
}

// checkPairs, which needs the descriptors of all processes, refuses a pair of which somebody else
// may have an end. The other one would see its end closed by the restore. An end that is no pair
// has no inodes.
func checkPairs(all []surveyed) error {
	own := map[uint64]bool{}
	for _, p := range all {
		for _, d := range p.descriptors {
			own[d.pair[0]] = true
		}
	}
	for _, p := range all {
		for _, d := range p.descriptors {
			if d.pair[0] != 0 && !own[d.pair[1]] {
				return incarnation.Refuse(
					"descriptor %d of process %d is an end of a pair of Unix sockets whose other end no "+
						"peer has", d.Number, p.pid)
			}
		}
	}
	return nil
}

// pairEnd makes the pair at the first of its two ends, in the network of the group: there the next
// checkpoint looks for it. It may be the one process that has both ends, or two of which each has
// one.
func (of *Making) pairEnd(key string, end, flags int) (int, error) {
	ends, ok := of.pipes[key]
	if !ok {
		err := netns.InFile(of.Network, func() (err error) {
			ends, err = unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			return err
		})
		if err != nil {
			return -1, err
		}
		of.CloseLater(ends[0], ends[1])
		of.pipes[key] = ends
	}
	if _, err := unix.FcntlInt(uintptr(ends[end]), unix.F_SETFL, flags&unix.O_NONBLOCK); err != nil {
		return -1, err
	}
	return unix.FcntlInt(uintptr(ends[end]), unix.F_DUPFD_CLOEXEC, 0)
}

package watch

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys/netns"
)

// socket is a TCP socket of the group's network namespace, as sock_diag(7) shows it. Addresses of
// IPv4 are those of IPv4, also on a socket of IPv6.
type socket struct {
	state         uint8
	local, remote netip.AddrPort
	unread        uint32 // bytes; of a listening socket: connections not yet accepted
	unsent        uint32 // bytes that the other side has not acknowledged
	inode         uint32 // 0: no process has it any more
}

// States of TCP, of net/tcp_states.h.
const (
	tcpEstablished = 1
	tcpSynSent     = 2
	tcpSynRecv     = 3
	tcpTimeWait    = 6
	tcpClose       = 7
	tcpListen      = 10
	tcpNewSynRecv  = 12
)

// sockDiag is a sock_diag socket in the network namespace of a group. It belongs to one goroutine.
type sockDiag struct {
	fd       int
	loopback loopback // its counters
	buffer   [32 << 10]byte
}

// socketIn opens a sock_diag socket in the network namespace of process pid.
func socketIn(pid int) (int, error) {
	namespace, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("network namespace of the group: %w", err)
	}
	defer unix.Close(namespace)
	d, err := sockDiagIn(namespace)
	if err != nil {
		return -1, err
	}
	return d.fd, nil
}

// sockDiagIn opens a sock_diag socket in a network namespace, without the counters of its loopback.
func sockDiagIn(namespace int) (*sockDiag, error) {
	d := &sockDiag{fd: -1, loopback: loopback{-1, -1, -1}}
	err := netns.In(namespace, func() (err error) {
		d.fd, err = unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_INET_DIAG)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look at the sockets of the group: %w", err)
	}
	return d, nil
}

// close closes the socket and the counters.
func (d *sockDiag) close() {
	unix.Close(d.fd)
	d.loopback.close()
}

// askedStates are the states of TCP whose sockets are listed. Since Linux 6.8, sockets that are
// only bound have a state of their own, number 13. Nothing can be under way to them. To list
// them, the kernel goes through the ports of the whole machine, which takes longer than all the
// rest.
const askedStates = 1<<(tcpNewSynRecv+1) - 1<<tcpEstablished - 1<<tcpTimeWait

const (
	requestSize = 16 + 60 // nlmsghdr, inet_diag_req
	replySize   = 72      // inet_diag_msg
	// TCPDIAG_GETSOCK, the older request, lists IPv4 and IPv6 together.
	tcpDiagGetSock = 18
)

// sockets lists all TCP sockets of the namespace. The answer comes in several datagrams. It is no
// snapshot: sockets may change while it is made, which a consistent cut allows for.
func (d *sockDiag) sockets() ([]socket, error) {
	var m [requestSize]byte
	binary.NativeEndian.PutUint32(m[0:], requestSize)
	binary.NativeEndian.PutUint16(m[4:], tcpDiagGetSock)
	binary.NativeEndian.PutUint16(m[6:], unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
	m[16] = unix.AF_INET
	binary.NativeEndian.PutUint32(m[16+52:], askedStates)
	if err := unix.Sendto(d.fd, m[:], 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return nil, fmt.Errorf("ask for the sockets of the group: %w", err)
	}
	var all []socket
	for {
		n, err := unix.Read(d.fd, d.buffer[:])
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("list the sockets of the group: %w", err)
		}
		part, done, err := parseSockets(d.buffer[:n])
		if err != nil {
			return nil, err
		}
		if all = append(all, part...); done {
			return all, nil
		}
	}
}

// parseSockets reads one netlink datagram; done means that it was the last one. It comes from the
// kernel, but its lengths are checked all the same.
func parseSockets(b []byte) (all []socket, done bool, err error) {
	for len(b) >= 16 {
		length := binary.NativeEndian.Uint32(b)
		kind := binary.NativeEndian.Uint16(b[4:])
		if length < 16 || uint64(length) > uint64(len(b)) {
			return nil, false, fmt.Errorf("sockets of the group: a netlink message of %d bytes in %d",
				length, len(b))
		}
		body := b[16:length]
		switch {
		case kind == unix.NLMSG_DONE:
			return all, true, nil
		case kind == unix.NLMSG_ERROR && len(body) >= 4:
			return nil, false, fmt.Errorf("sockets of the group: %w",
				unix.Errno(-int32(binary.NativeEndian.Uint32(body))))
		case kind != tcpDiagGetSock || len(body) < replySize:
			return nil, false, fmt.Errorf("sockets of the group: unexpected netlink message %d of %d bytes",
				kind, length)
		}
		all = append(all, parseSocket(body))
		b = b[min((length+3)&^3, uint32(len(b))):]
	}
	return all, false, nil
}

// parseSocket reads an inet_diag_msg: family, state, timer, retransmits, the ports and
// addresses, interface, cookie, expiry, both queues, user and inode.
func parseSocket(b []byte) socket {
	address := func(at []byte, port []byte) netip.AddrPort {
		ip := netip.AddrFrom4([4]byte(at[:4]))
		if b[0] == unix.AF_INET6 {
			ip = netip.AddrFrom16([16]byte(at[:16])).Unmap()
		}
		return netip.AddrPortFrom(ip, binary.BigEndian.Uint16(port))
	}
	return socket{
		state:  b[1],
		local:  address(b[8:24], b[4:]),
		remote: address(b[24:40], b[6:]),
		unread: binary.NativeEndian.Uint32(b[56:]),
		unsent: binary.NativeEndian.Uint32(b[60:]),
		inode:  binary.NativeEndian.Uint32(b[68:]),
	}
}

// Package tcprepair makes established TCP connections, both ends, without a packet, by the option
// TCP_REPAIR that the kernel has for checkpoints. It takes CAP_NET_ADMIN.
package tcprepair

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys/sockopt"
)

// End is an end of a connection that is to be. To make a connection, Begin is called for a socket
// of each end, with the other end's address as the remote one, and then Finish for both.
type End struct {
	Domain        int // AF_INET or AF_INET6
	Local, Remote netip.AddrPort
	Windows       [2]uint32 // to send, to receive; bytes
	Scales        [2]uint32 // of these windows, powers of two
}

// Values of TCP_REPAIR and its options: linux/tcp.h.
const (
	repairOn         = 1
	repairOffSilent  = -1
	queueReceive     = 1
	queueSend        = 2
	optionMSS        = 2
	optionScale      = 3
	optionSACK       = 4
	optionTimestamps = 8
	loopbackMSS      = 65495
)

// Sequence numbers that the two ends of a new connection begin with.
var firstSequence = [2]uint32{1 << 20, 1 << 21}

// Begin makes a fresh socket one end of an established connection, the first or the second one (0
// or 1). Nothing is sent before Finish has been called for it, and then only what is written.
func (e *End) Begin(fd, which int) error {
	send, receive := firstSequence[which], firstSequence[1-which]
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_REPAIR, repairOn); err != nil {
		return err
	}
	// The queues are empty: all that was sent before is acknowledged.
	for _, q := range []struct {
		queue int
		value uint32
	}{{queueSend, send}, {queueReceive, receive}} {
		if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_REPAIR_QUEUE, q.queue); err != nil {
			return err
		}
		if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_QUEUE_SEQ, int(q.value)); err != nil {
			return err
		}
	}
	// A socket under repair may have an address that another one has, and it is connected by this
	// call without a word to the other end.
	if err := unix.Bind(fd, SocketAddress(e.Domain, e.Local)); err != nil {
		return err
	}
	if err := unix.Connect(fd, SocketAddress(e.Domain, e.Remote)); err != nil {
		return err
	}
	// What the two ends would have agreed on in their first segments: how long segments are, how
	// windows are scaled, that acknowledgements may be selective, and that there are time stamps.
	var options []byte
	for _, o := range [][2]uint32{
		{optionMSS, loopbackMSS}, {optionScale, e.Scales[0] | e.Scales[1]<<16}, {optionSACK, 0},
		{optionTimestamps, 0},
	} {
		options = binary.NativeEndian.AppendUint32(binary.NativeEndian.AppendUint32(options, o[0]), o[1])
	}
	if err := sockopt.Set(fd, unix.IPPROTO_TCP, unix.TCP_REPAIR_OPTIONS, options); err != nil {
		return err
	}
	// A window of 0 would have the kernel wait for the timer of a probe before it sends anything.
	sendWindow, receiveWindow := max(e.Windows[0], 1), max(e.Windows[1], 1)
	var window []byte // struct tcp_repair_window
	for _, w := range []uint32{receive, sendWindow, sendWindow, receiveWindow, receive} {
		window = binary.NativeEndian.AppendUint32(window, w)
	}
	return sockopt.Set(fd, unix.IPPROTO_TCP, unix.TCP_REPAIR_WINDOW, window)
}

// Finish ends the repair of a socket: the connection is used from then on. It clears SO_REUSEADDR.
func Finish(fd int) error {
	return unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_REPAIR, repairOffSilent)
}

// OpenWindow sets how many bytes a connection may send. CRIU leaves one whose stream has ended with
// a window that is too small, and what it sends next would wait for three seconds.
func OpenWindow(fd int, window uint32) (err error) {
	// which a repair clears
	reuse, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR)
	if err != nil {
		return err
	}
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_REPAIR, repairOn); err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, Finish(fd), unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, reuse))
	}()
	const size, sendWindow, greatest = 20, 4, 8 // of struct tcp_repair_window
	now, err := sockopt.GetSized(fd, unix.IPPROTO_TCP, unix.TCP_REPAIR_WINDOW, size)
	if err != nil {
		return fmt.Errorf("read the windows of a connection: %w", err)
	}
	binary.NativeEndian.PutUint32(now[sendWindow:], window)
	binary.NativeEndian.PutUint32(now[greatest:], max(window, binary.NativeEndian.Uint32(now[greatest:])))
	return sockopt.Set(fd, unix.IPPROTO_TCP, unix.TCP_REPAIR_WINDOW, now)
}

// AddressOf is the address in a socket address of the internet; the zero address for any other.
func AddressOf(a unix.Sockaddr) netip.AddrPort {
	switch a := a.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(a.Addr), uint16(a.Port))
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(a.Addr), uint16(a.Port))
	}
	return netip.AddrPort{}
}

// SocketAddress is an address as a socket of a domain takes it.
func SocketAddress(domain int, a netip.AddrPort) unix.Sockaddr {
	if domain == unix.AF_INET6 {
		return &unix.SockaddrInet6{Addr: a.Addr().As16(), Port: int(a.Port())}
	}
	return &unix.SockaddrInet4{Addr: a.Addr().Unmap().As4(), Port: int(a.Port())}
}

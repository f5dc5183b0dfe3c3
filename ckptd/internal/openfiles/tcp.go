package openfiles

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/incarnation"
	"github.com/tandem-mc/tandem/ckptd/internal/wire"
	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/internal/sys/sockopt"
	"github.com/tandem-mc/tandem/internal/sys/tcprepair"
)

// A connection of TCP is between two peers, or a peer and the proxy: a group has its network to
// itself. So an image has both ends, and knows that nothing is on the way between them. What is
// left to know of an end is little: its addresses, its state, its options, and what it may send and
// receive.
//
// New sockets with the same addresses get into the same state by TCP_REPAIR, which lets a program
// set what the protocol would have negotiated, and sends no packet. Numbers of the sequence are not
// the old ones: nobody sees them but the two ends, which are made to agree.
//
// No queue is saved. A group with bytes that nobody has read is not quiescent, and is not saved at
// all.

// socket is a TCP socket of the group, in words that suffice to make another like it. Sockets of
// UDP are described by the same words, of which they use some.
type socket struct {
	inode         uint64
	domain        int
	state         uint8
	used          bool // it was connected, whatever it is now
	local, remote netip.AddrPort
	flags         int // status flags
	options       []option
	backlog       int
	windows       [2]uint32 // to send, to receive
	scales        [2]uint32 // of these windows, powers of two
	// other is the index of the other end, -1 where nobody has it any more.
	other int
}

// option is a socket option as getsockopt returns it. It is set again byte by byte.
type option struct {
	level, name int
	value       []byte
}

// States of TCP, as in linux/net/tcp_states.h.
const (
	tcpEstablished = 1
	tcpFinWait2    = 5
	tcpClose       = 7
	tcpCloseWait   = 8
	tcpListen      = 10
)

// carried are the options that a new socket gets from the old one.
var carried = [][2]int{
	{unix.SOL_SOCKET, unix.SO_REUSEPORT}, {unix.SOL_SOCKET, unix.SO_KEEPALIVE},
	{unix.SOL_SOCKET, unix.SO_OOBINLINE},
	{unix.SOL_SOCKET, unix.SO_PRIORITY}, {unix.SOL_SOCKET, unix.SO_RCVLOWAT},
	{unix.SOL_SOCKET, unix.SO_DONTROUTE},
	{unix.SOL_SOCKET, unix.SO_MARK}, {unix.SOL_SOCKET, unix.SO_LINGER}, {unix.SOL_SOCKET, unix.SO_RCVTIMEO},
	{unix.SOL_SOCKET, unix.SO_SNDTIMEO}, {unix.SOL_SOCKET, unix.SO_TIMESTAMP},
	{unix.SOL_SOCKET, unix.SO_BINDTODEVICE},
	{unix.IPPROTO_IP, unix.IP_TOS}, {unix.IPPROTO_IP, unix.IP_TTL}, {unix.IPPROTO_IP, unix.IP_MTU_DISCOVER},
	{unix.IPPROTO_IP, unix.IP_RECVERR}, {unix.IPPROTO_IP, unix.IP_FREEBIND},
	{unix.IPPROTO_IPV6, unix.IPV6_V6ONLY}, {unix.IPPROTO_IPV6, unix.IPV6_TCLASS},
	{unix.IPPROTO_IPV6, unix.IPV6_UNICAST_HOPS},
	{unix.IPPROTO_TCP, unix.TCP_NODELAY}, {unix.IPPROTO_TCP, unix.TCP_CORK},
	{unix.IPPROTO_TCP, unix.TCP_KEEPIDLE},
	{unix.IPPROTO_TCP, unix.TCP_KEEPINTVL}, {unix.IPPROTO_TCP, unix.TCP_KEEPCNT},
	{unix.IPPROTO_TCP, unix.TCP_SYNCNT},
	{unix.IPPROTO_TCP, unix.TCP_LINGER2}, {unix.IPPROTO_TCP, unix.TCP_DEFER_ACCEPT},
	{unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT},
	{unix.IPPROTO_TCP, unix.TCP_FASTOPEN}, {unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT},
	{unix.IPPROTO_TCP, unix.TCP_CONGESTION},
	{unix.SOL_SOCKET, unix.SO_REUSEADDR}, // last: the end of the repair of a socket clears it
}

// describeTCP describes a socket, of which fd is a descriptor, or refuses. Its state, its windows
// and their scales are in TCP_INFO; x/sys/unix leaves the scales out, which are two bit fields.
func describeTCP(fd int) (*socket, error) {
	number, err := sys.Inode(fd)
	if err != nil {
		return nil, err
	}
	s := &socket{inode: number, other: -1}
	kind, err1 := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	protocol, err2 := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PROTOCOL)
	if s.domain, err = unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN); errors.Join(err, err1,
		err2) != nil {
		return nil, errors.Join(err, err1, err2)
	}
	if kind != unix.SOCK_STREAM || protocol != unix.IPPROTO_TCP ||
		(s.domain != unix.AF_INET && s.domain != unix.AF_INET6) {
		return nil, incarnation.Refuse("a socket is of family %d, type %d, protocol %d: not TCP", s.domain,
			kind, protocol)
	}
	info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil {
		return nil, err
	}
	s.state, s.used = info.State, info.Segs_out+info.Segs_in > 0
	// The kernel has no other field for it.
	s.backlog = int(info.Sacked) // of a listening socket
	const halfBits = 4
	// two bit fields
	scales := *(*byte)(unsafe.Add(unsafe.Pointer(info), unsafe.Offsetof(info.Options)+1))
	s.scales = [2]uint32{uint32(scales & (1<<halfBits - 1)), uint32(scales >> halfBits)}
	s.windows = [2]uint32{info.Snd_wnd, info.Rcv_wnd}
	if s.flags, err = unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0); err != nil {
		return nil, err
	}
	if err := s.describeNames(fd); err != nil {
		return nil, err
	}
	return s, s.describeOptions(fd)
}

// describeNames notes the addresses of both ends. It refuses states of TCP that do not last, and a
// connection that has ended with an error that the program has not seen. A socket that was closed
// by both sides has lost the address of the other end; what it has of its own is enough to make
// another one that has ended.
func (s *socket) describeNames(fd int) error {
	local, err := unix.Getsockname(fd)
	if err != nil {
		return err
	}
	s.local = tcprepair.AddressOf(local)
	switch s.state {
	case tcpListen, tcpClose:
	case tcpEstablished, tcpCloseWait, tcpFinWait2:
		remote, err := unix.Getpeername(fd)
		if err != nil {
			return err
		}
		s.remote = tcprepair.AddressOf(remote)
	default:
		return fmt.Errorf("%w: a connection of %v is in state %d of TCP", wire.ErrNotQuiescent, s.local,
			s.state)
	}
	if s.state == tcpClose && s.used {
		if s.local.Port() == 0 || !s.local.Addr().Unmap().Is4() {
			return incarnation.Refuse(
				"a connection has ended whose address is not known any more, and whose socket is open")
		}
		set := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		if n, err := unix.Poll(set, 0); err == nil && n > 0 && set[0].Revents&unix.POLLERR != 0 {
			return incarnation.Refuse("an error of the connection of %v waits to be noticed", s.local)
		}
	}
	return nil
}

// describeOptions reads the options, of which those that this Linux does not know or the family
// does not have are left out. A filter is not made again, so a socket that has one is refused. A
// size of a buffer that the program has set is locked: it is set again first, by a call that may
// exceed the limit of the system, since a window depends on it. Sizes that the kernel has chosen
// are left to it.
func (s *socket) describeOptions(fd int) error {
	filtered, err := sockopt.HasFilter(fd)
	if err == nil && filtered {
		err = incarnation.Refuse("the socket of %v has a filter", s.local)
	}
	if err != nil {
		return err
	}
	for _, o := range carried {
		if o[0] == unix.IPPROTO_IPV6 && s.domain != unix.AF_INET6 {
			continue
		}
		if value, err := sockopt.Get(fd, o[0], o[1]); err == nil {
			s.options = append(s.options, option{level: o[0], name: o[1], value: value})
		}
	}
	locked, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_BUF_LOCK)
	if err != nil {
		return incarnation.Refuse(
			"this Linux does not tell whether a program has set the buffers of a socket (SO_BUF_LOCK): %w",
			err)
	}
	for bit, names := range map[int][2]int{
		unix.SOCK_SNDBUF_LOCK: {unix.SO_SNDBUF, unix.SO_SNDBUFFORCE},
		unix.SOCK_RCVBUF_LOCK: {unix.SO_RCVBUF, unix.SO_RCVBUFFORCE},
	} {
		if locked&bit == 0 {
			continue
		}
		size, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, names[0])
		if err != nil {
			return err
		}
		half := binary.NativeEndian.AppendUint32(nil, uint32(size/2)) // the kernel doubles it
		s.options = slices.Insert(s.options, 0, option{level: unix.SOL_SOCKET, name: names[1], value: half})
	}
	return nil
}

// setOptions sets those that are not the same on the new socket anyway. To ask is cheap. To set an
// option may fail in some states of a socket, or take a right, even where nothing would change.
func (s *socket) setOptions(fd int) error {
	for _, o := range s.options {
		if now, err := sockopt.Get(fd, o.level, o.name); err == nil && bytes.Equal(now, o.value) {
			continue
		}
		if err := sockopt.Set(fd, o.level, o.name, o.value); err != nil {
			return err
		}
	}
	_, err := unix.FcntlInt(uintptr(fd), unix.F_SETFL, s.flags)
	return err
}

// connectEnds finds out which sockets are the two ends of a connection, by their addresses. It
// refuses a connection of which nobody in the group has the other end. An address of IPv4 may be
// written as one of IPv6 at one end only, so both are compared in the plain form. An end that is
// only told of the end of the other one, or has ended itself, can do without that.
func connectEnds(all []*socket) error {
	plain := func(a netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()) }
	for n, s := range all {
		for m, t := range all {
			if m != n && s.remote.IsValid() && t.remote.IsValid() && plain(s.local) == plain(t.remote) &&
				plain(s.remote) == plain(t.local) {
				s.other = m
			}
		}
		if s.other < 0 && (s.state == tcpEstablished || s.state == tcpFinWait2) {
			return incarnation.Refuse("the connection from %v to %v has no other end among the peers",
				s.local, s.remote)
		}
	}
	return nil
}

// makeSockets makes sockets like those described, in the network namespace of the thread, and
// returns their descriptors in the same order. Both ends of a connection are made at once, by
// TCP_REPAIR; where nobody in the group has the other end, that is made, too, to say that it has
// ended, and closed. After an error nothing is open.
func makeSockets(all []*socket) (fds []int, err error) {
	fds = make([]int, len(all))
	for n := range fds {
		fds[n] = -1
	}
	defer func() {
		if err != nil {
			sys.CloseAll(slices.DeleteFunc(fds, func(fd int) bool { return fd < 0 }))
		}
	}()
	for n, s := range all { // listening sockets first: others have their port, too
		if s.state == tcpListen || s.state == tcpClose && !s.used {
			if fds[n], err = s.makeUnconnected(); err != nil {
				return fds, fmt.Errorf("make the socket of %v again: %w", s.local, err)
			}
		}
	}
	for n, s := range all {
		if fds[n] >= 0 {
			continue
		}
		// Both ends are made when the first of them comes up.
		other := s.otherEnd(all)
		pair, err := makeConnection(s, other)
		if err != nil {
			return fds, fmt.Errorf("make the connection from %v to %v again: %w", s.local, s.remote, err)
		}
		if fds[n] = pair[0]; s.other >= 0 {
			fds[s.other] = pair[1]
		} else {
			unix.Close(pair[1])
		}
	}
	return fds, awaitStates(all, fds)
}

// nowhere is the other end of a connection that has ended, which nobody can ask for. It is a port
// of the loopback that servers do not use.
var nowhere = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 1)

// otherEnd describes the other end, one that serves for a moment where nobody has it. It has said
// that it sends no more. Its windows do not matter, and its scales are those of the end that stays,
// the other way round.
func (s *socket) otherEnd(all []*socket) *socket {
	if s.other >= 0 {
		return all[s.other]
	}
	o := &socket{domain: unix.AF_INET, other: -1, state: tcpFinWait2, local: s.remote, remote: s.local,
		windows: s.windows, scales: [2]uint32{s.scales[1], s.scales[0]}}
	switch {
	case s.state == tcpClose:
		o.state, o.local = tcpClose, nowhere
	case !s.remote.Addr().Unmap().Is4():
		o.domain = unix.AF_INET6
	}
	return o
}

// makeUnconnected makes a socket that listens, or that was not connected yet. A socket without a
// port was not bound.
func (s *socket) makeUnconnected() (fd int, err error) {
	fd, err = unix.Socket(s.domain, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	if err = s.setOptions(fd); err == nil && s.local.Port() != 0 {
		err = unix.Bind(fd, tcprepair.SocketAddress(s.domain, s.local))
	}
	if err == nil && s.state == tcpListen {
		err = unix.Listen(fd, s.backlog)
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// makeConnection makes both ends of a connection by TCP_REPAIR: no packet is sent. Both ends are in
// repair until both are complete. Ends are closed after that, as the programs had done: the segment
// that says so reaches the other end.
func makeConnection(a, b *socket) (pair [2]int, err error) {
	pair = [2]int{-1, -1}
	ends := [2]*socket{a, b}
	remotes := [2]netip.AddrPort{b.local, a.local}
	for n, s := range ends {
		if pair[n], err = unix.Socket(s.domain, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err != nil {
			break
		}
		if err = s.end(remotes[n]).Begin(pair[n], n); err != nil {
			break
		}
	}
	for n, s := range ends {
		if err == nil {
			err = s.endRepair(pair[n])
		}
	}
	for n, s := range ends {
		if err == nil && (s.state == tcpFinWait2 || s.state == tcpClose) {
			err = unix.Shutdown(pair[n], unix.SHUT_WR)
		}
	}
	if err != nil {
		sys.CloseAll(slices.DeleteFunc(pair[:], func(fd int) bool { return fd < 0 }))
	}
	return pair, err
}

// end is what a connection is made of. Both ends use the addresses of the other one as it is
// described: that may be one that nobody has.
func (s *socket) end(remote netip.AddrPort) *tcprepair.End {
	return &tcprepair.End{Domain: s.domain, Local: s.local, Remote: remote, Windows: s.windows,
		Scales: s.scales}
}

// endRepair lets a socket take part in TCP again. Options come after that: some are cleared by it.
func (s *socket) endRepair(fd int) error {
	if err := tcprepair.Finish(fd); err != nil {
		return err
	}
	if s.options == nil { // the end that nobody has
		return nil
	}
	return s.setOptions(fd)
}

// awaitStates waits for the ends of connections to arrive, which takes some microseconds. It reads
// them, since the programs had done so before the checkpoint. Where an end was read, a program
// knows that it is there; to find it a second time would be another thing that happens.
func awaitStates(all []*socket, fds []int) error {
	const patience = 5 * time.Second
	began := time.Now()
	for n, s := range all {
		for {
			info, err := unix.GetsockoptTCPInfo(fds[n], unix.IPPROTO_TCP, unix.TCP_INFO)
			if err != nil {
				return err
			}
			if info.State == s.state {
				break
			}
			if time.Since(began) > patience {
				return fmt.Errorf("a socket of %v made again is in state %d of TCP, and was in %d", s.local,
					info.State, s.state)
			}
			time.Sleep(20 * time.Microsecond)
		}
		if s.state == tcpCloseWait || s.state == tcpClose && s.used {
			// Who was quiescent had read the end; unread, it would count as a byte.
			if n, _, err := unix.Recvfrom(fds[n], make([]byte, 1), unix.MSG_DONTWAIT); n > 0 ||
				err == unix.EAGAIN {
				return fmt.Errorf("the end of a connection of %v made again cannot be read: %d bytes, %w",
					s.local, n, err)
			}
		}
	}
	return nil
}

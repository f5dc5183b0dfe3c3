package openfiles

import (
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/incarnation"
	"github.com/tandem-mc/tandem/ckptd/internal/wire"
	"github.com/tandem-mc/tandem/internal/sys/netns"
	"github.com/tandem-mc/tandem/internal/sys/sockopt"
	"github.com/tandem-mc/tandem/internal/sys/tcprepair"
)

// Sockets that are not connected to another one of the group have no state beyond their options and
// addresses, once their queues are empty. A new one with the same options at the same address is as
// good as the old one. The group's network is a fresh one after a restore, so all addresses are
// free.

// netlinkSocket is a socket of netlink whose queue is empty, in words that suffice to make another
// like it. Such sockets are found where a program has asked for its addresses or routes and keeps
// the socket.
type netlinkSocket struct {
	domain, kind, protocol int
	flags                  int
	local                  unix.Sockaddr
	options                []option
}

// describeUDP describes a socket of UDP, or refuses. A datagram that nobody has read is under way,
// as bytes on a connection are. An address of one interface would need the number of that in
// another network.
func describeUDP(d *Descriptor, f openFile, fd, domain int) error {
	protocol, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PROTOCOL)
	if err != nil {
		return err
	}
	if protocol != unix.IPPROTO_UDP || domain != unix.AF_INET && domain != unix.AF_INET6 {
		return incarnation.Refuse(
			"descriptor %d of process %d is a socket of family %d, type %d, protocol %d", f.number, f.pid,
			domain, unix.SOCK_DGRAM, protocol)
	}
	s := &socket{domain: domain, flags: f.flags}
	local, err := unix.Getsockname(fd)
	if err != nil {
		return err
	}
	if s.local = tcprepair.AddressOf(local); s.local.Addr().Zone() != "" {
		return incarnation.Refuse("descriptor %d of process %d is bound to an address of one interface, %v",
			f.number, f.pid, s.local)
	}
	// A socket of UDP may be connected: then it takes datagrams of one sender only.
	if remote, err := unix.Getpeername(fd); err == nil {
		s.remote = tcprepair.AddressOf(remote)
	} else if err != unix.ENOTCONN {
		return err
	}
	// The queue of errors, and what was read of it, is no part of an image.
	set := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	if n, err := unix.Poll(set, 0); err != nil || n > 0 {
		return errors.Join(err, fmt.Errorf("%w: a datagram for %v, or an error, was not read",
			wire.ErrNotQuiescent, s.local))
	}
	if err := s.describeOptions(fd); err != nil {
		return err
	}
	for _, o := range carriedUDP {
		if o[0] == unix.IPPROTO_IPV6 && domain != unix.AF_INET6 {
			continue
		}
		if value, err := sockopt.Get(fd, o[0], o[1]); err == nil {
			s.options = append(s.options, option{level: o[0], name: o[1], value: value})
		}
	}
	d.make = s.makeUDP
	return nil
}

// carriedUDP are options that a new socket of UDP gets from the old one besides those in carried.
// Those that the kernel does not know or the family does not have are left out.
var carriedUDP = [][2]int{
	{unix.SOL_SOCKET, unix.SO_BROADCAST}, {unix.IPPROTO_IP, unix.IP_PKTINFO},
	{unix.IPPROTO_IP, unix.IP_RECVTTL},
	{unix.IPPROTO_IP, unix.IP_RECVTOS}, {unix.IPPROTO_IP, unix.IP_MULTICAST_TTL},
	{unix.IPPROTO_IP, unix.IP_MULTICAST_LOOP},
	{unix.IPPROTO_IPV6, unix.IPV6_RECVPKTINFO}, {unix.IPPROTO_IPV6, unix.IPV6_RECVHOPLIMIT},
	{unix.IPPROTO_IPV6, unix.IPV6_RECVTCLASS},
	{unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER}, {unix.IPPROTO_IPV6, unix.IPV6_RECVERR},
	{unix.IPPROTO_UDP, unix.UDP_CORK},
}

// makeUDP makes a socket like it, in the network of the group. Options are set before it is bound,
// since some of them say with whom it may share its address.
func (s *socket) makeUDP(of *Making) (fd int, err error) {
	err = netns.InFile(of.Network, func() (err error) {
		fd, err = unix.Socket(s.domain, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, unix.IPPROTO_UDP)
		return err
	})
	if err != nil {
		return -1, err
	}
	if err = s.setOptions(fd); err == nil && s.local.Port() != 0 {
		err = unix.Bind(fd, tcprepair.SocketAddress(s.domain, s.local))
	}
	if err == nil && s.remote != (netip.AddrPort{}) {
		err = unix.Connect(fd, tcprepair.SocketAddress(s.domain, s.remote))
	}
	if err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("the socket of UDP at %v: %w", s.local, err)
	}
	return fd, nil
}

// describeNetlink describes a socket by which a process asks the kernel, or is told, or refuses.
// Protocols that only ask or listen are known; others change something for which the socket stands.
// Groups above 32 are no part of the address, and need a call for each.
func describeNetlink(d *Descriptor, f openFile, fd, kind int) error {
	s := &netlinkSocket{domain: unix.AF_NETLINK, kind: kind, flags: f.flags}
	var err error
	if s.protocol, err = unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PROTOCOL); err != nil {
		return err
	}
	switch s.protocol {
	case unix.NETLINK_ROUTE, unix.NETLINK_SOCK_DIAG, unix.NETLINK_KOBJECT_UEVENT:
	default:
		return incarnation.Refuse("descriptor %d of process %d is a socket of netlink, of protocol %d",
			f.number, f.pid, s.protocol)
	}
	filtered, err := sockopt.HasFilter(fd)
	if err == nil && filtered {
		err = incarnation.Refuse("descriptor %d of process %d, a socket of netlink, has a filter", f.number,
			f.pid)
	}
	if err != nil {
		return err
	}
	if n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0); err != nil || n > 0 {
		return errors.Join(err, incarnation.Refuse(
			"descriptor %d of process %d, a socket of netlink, has a message that was not read", f.number,
			f.pid))
	}
	if s.local, err = unix.Getsockname(fd); err != nil {
		return err
	}
	// The first bytes of the list are the groups that the address has, too.
	const groupsAbove32 = 4
	if groups, err := sockopt.Get(fd, unix.SOL_NETLINK, unix.NETLINK_LIST_MEMBERSHIPS); err == nil {
		for n, b := range groups {
			if n >= groupsAbove32 && b != 0 {
				return incarnation.Refuse(
					"descriptor %d of process %d, a socket of netlink, is in a group above 32", f.number,
					f.pid)
			}
		}
	}
	for _, o := range [][2]int{
		{unix.SOL_SOCKET, unix.SO_PASSCRED}, {unix.SOL_SOCKET, unix.SO_RCVTIMEO},
		{unix.SOL_SOCKET, unix.SO_SNDTIMEO},
		{unix.SOL_NETLINK, unix.NETLINK_PKTINFO}, {unix.SOL_NETLINK, unix.NETLINK_EXT_ACK},
		{unix.SOL_NETLINK, unix.NETLINK_GET_STRICT_CHK}, {unix.SOL_NETLINK, unix.NETLINK_NO_ENOBUFS},
		{unix.SOL_NETLINK, unix.NETLINK_CAP_ACK},
	} {
		if value, err := sockopt.Get(fd, o[0], o[1]); err == nil {
			s.options = append(s.options, option{level: o[0], name: o[1], value: value})
		}
	}
	d.make = s.makeNetlink
	return nil
}

// makeNetlink makes a socket like it, in the network of the group. The number that it was bound to
// is free there: the network is a fresh one. Options are only set where the new socket has others
// by itself.
func (s *netlinkSocket) makeNetlink(of *Making) (fd int, err error) {
	err = netns.InFile(of.Network, func() (err error) {
		fd, err = unix.Socket(s.domain, s.kind|unix.SOCK_CLOEXEC, s.protocol)
		return err
	})
	if err != nil {
		return -1, err
	}
	for _, o := range s.options {
		if now, e := sockopt.Get(fd, o.level, o.name); err == nil &&
			(e != nil || string(now) != string(o.value)) {
			err = sockopt.Set(fd, o.level, o.name, o.value)
		}
	}
	if a, ok := s.local.(*unix.SockaddrNetlink); err == nil && ok && (a.Pid != 0 || a.Groups != 0) {
		err = unix.Bind(fd, a)
	}
	if err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_SETFL, s.flags)
	}
	if err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("a socket of netlink: %w", err)
	}
	return fd, nil
}

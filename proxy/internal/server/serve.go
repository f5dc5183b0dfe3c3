package server

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/internal/sys/seqpacket"
	"github.com/tandem-mc/tandem/proxy/internal/protocol"
)

// Server carries out commands, one after the other, with blocking system calls on one
// thread: the fewer threads and descriptors the proxy has, the smaller every image is.
//
// The sockets stay open in the proxy, which is part of a checkpoint. The checker has only copies of
// their descriptors. So a restore brings a connection back on both of its ends.
type Server struct {
	channel  int
	sockets  map[protocol.ID]int // descriptors
	peers    []int               // pids
	launcher *launcher           // nil in a group without peers
	reaping  sync.Mutex          // held while children are waited for
}

// New returns a server of a channel for a group without peers. The channel stays the caller's.
func New(channel int) *Server {
	return &Server{channel: channel, sockets: map[protocol.ID]int{}}
}

// Close closes all sockets. Copies of them, which the checker has, stay open.
func (s *Server) Close() {
	for id, fd := range s.sockets {
		unix.Close(fd)
		delete(s.sockets, id)
	}
}

// Serve receives commands and answers each, until the checker has closed its end of the channel:
// then it returns nil. After a message that is no command it returns an error: whoever has sent it
// is of another build, or not the checker.
func (s *Server) Serve() error {
	for {
		b, fds, err := protocol.ReceiveMessage(s.channel, protocol.MaxMessage, 1)
		if err == io.EOF || errors.Is(err, unix.ECONNRESET) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the command channel: %w", err)
		}
		c, err := protocol.DecodeRequest(b)
		if err == nil && (len(fds) == 1) != (c.Op == protocol.OpVisit) {
			err = fmt.Errorf("%v with %d descriptors", c.Op, len(fds))
		}
		if err != nil {
			return fmt.Errorf("command channel: %w", err)
		}
		if c.Op == protocol.OpVisit {
			if err := s.receiveVisitor(fds[0]); err != nil {
				return err
			}
			continue
		}
		r, fd := s.execute(c)
		r.Op, r.Sequence = c.Op, c.Sequence
		if err := s.send(r, fd); err != nil {
			return err
		}
	}
}

// send answers a command, with a descriptor unless that is -1.
func (s *Server) send(r protocol.Reply, fd int) error {
	var given []int
	if fd >= 0 {
		given = []int{fd}
	}
	err := seqpacket.Send(s.channel, r.Encode(), given)
	if errors.Is(err, unix.EPIPE) {
		return nil // the checker is gone, which the next read says
	}
	if err != nil {
		return fmt.Errorf("answer on the command channel: %w", err)
	}
	return nil
}

// execute carries out a command; fd is the descriptor to hand out, or -1. What the command is
// about may fail, or the proxy may refuse it: both are in the reply.
func (s *Server) execute(c protocol.Request) (r protocol.Reply, fd int) {
	if c.Op == protocol.OpStart { // the only one whose ID is not that of a socket
		return protocol.Reply{Refusal: s.start(int(c.ID))}, -1
	}
	socket, known := s.sockets[c.ID]
	if c.Op == protocol.OpCreateSocket {
		if !known { // else it is handed out again, as after a restore
			socket, r = s.create(c.ID, c.Address)
		}
		return r, socket
	}
	if !known {
		return protocol.Reply{Refusal: protocol.RefusedUnknownID}, -1
	}
	switch c.Op {
	case protocol.OpConnect:
		return s.connect(c.ID, socket, c.Address), -1
	case protocol.OpBind:
		return protocol.Reply{Errno: errnoOf(bind(socket, c.ID, c.Address))}, -1
	case protocol.OpAccept:
		return s.accept(socket, c.NewID)
	case protocol.OpClose:
		delete(s.sockets, c.ID)
		return protocol.Reply{Errno: errnoOf(unix.Close(socket))}, -1
	default:
		panic("proxy: the decoder let through " + c.Op.String())
	}
}

// start starts a peer on demand. Why one could not be started goes to the output of the proxy,
// which the checker reads: a reply has no room for a text. One that has ended still has its process
// ID, so that it runs once only between two restores.
func (s *Server) start(i int) protocol.Refusal {
	if s.launcher == nil || i < 0 || i >= len(s.peers) || !s.launcher.config.Peers[i].OnDemand {
		return protocol.RefusedNotOnDemand
	}
	if unix.Kill(s.peers[i], 0) == nil { // also if it is a zombie
		return protocol.RefusedRuns
	}
	if err := s.launcher.do(func() error { return s.launcher.start(i) }); err != nil {
		unix.Write(2, []byte(err.Error()+"\n"))
		return protocol.RefusedFailed
	}
	return protocol.Accepted
}

// create makes a socket of the kind that an address is for; without one it is of TCP and IPv4.
func (s *Server) create(id protocol.ID, of protocol.Address) (int, protocol.Reply) {
	if len(s.sockets) >= protocol.MaxSockets {
		return -1, protocol.Reply{Refusal: protocol.RefusedTooMany}
	}
	domain := unix.AF_INET
	if of != (protocol.Address{}) {
		domain = of.Domain()
	}
	fd, err := unix.Socket(domain, of.Kind()|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err == nil && domain == unix.AF_INET6 {
		only := 0
		if of.OnlySix {
			only = 1
		}
		if err = unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, only); err != nil {
			unix.Close(fd)
		}
	}
	if err != nil {
		return -1, protocol.Reply{Errno: errnoOf(err)}
	}
	s.sockets[id] = fd
	return fd, protocol.Reply{}
}

// connect connects a socket and waits for the outcome. A socket of TCP or UDP is bound before, so
// that the kernel does not choose its port. While it waits, a new command interrupts it.
func (s *Server) connect(id protocol.ID, fd int, to protocol.Address) protocol.Reply {
	if !to.Network.IsUnix() {
		if err := bindLocalPort(fd, id); err != nil {
			return protocol.Reply{Errno: errnoOf(err)}
		}
	} else if outside(to.Path) {
		return protocol.Reply{Refusal: protocol.RefusedOutside}
	}
	err := unix.Connect(fd, to.Sockaddr())
	if err != unix.EINPROGRESS {
		return protocol.Reply{Errno: errnoOf(err)}
	}
	if r := s.wait(fd, unix.POLLOUT); r != (protocol.Reply{}) {
		return r
	}
	// It is writable once that is decided. Asking again, rather than for SO_ERROR, also lets the
	// socket connect anew if it failed.
	return protocol.Reply{Errno: errnoOf(unix.Connect(fd, to.Sockaddr()))}
}

// Local ports lie above the range from which the kernel gives ports to the peers, so that these do
// not take one before it is needed.
const (
	firstLocalPort = 61000
	localPorts     = 65536 - firstLocalPort
	portStride     = 569 // coprime to localPorts: attempts of neighbouring ids do not meet
	portAttempts   = 8
)

// bindLocalPort gives a socket without a port one that follows from its id, so that a replay shows
// the peers the same client address. A port that is taken or in TIME_WAIT is passed over.
func bindLocalPort(fd int, id protocol.ID) error {
	sa, err := unix.Getsockname(fd)
	if err != nil {
		return err
	}
	return bindPortOf(fd, id, protocol.AddressOf(protocol.TCP, sa))
}

// bindPortOf is bindLocalPort at an IP address, unless that has a port already.
func bindPortOf(fd int, id protocol.ID, at protocol.Address) error {
	if at.At.Port() != 0 {
		return nil // bound by an earlier attempt to connect, or as the program has asked for
	}
	err := error(unix.EADDRINUSE)
	// With the same ID, and the same ports taken, it is the same port.
	for attempt := uint64(0); attempt < portAttempts && err == unix.EADDRINUSE; attempt++ {
		port := firstLocalPort + (uint64(id)+attempt*portStride)%localPorts
		err = bindTo(fd, at.At.Addr(), uint16(port))
	}
	return err
}

// bindTo binds a socket to an address. One of IPv6 may be bound to IPv4, as package net does it
// with a socket for both. The family is that of the socket, and not of the address.
func bindTo(fd int, ip netip.Addr, port uint16) error {
	domain, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	if err != nil {
		return err
	}
	if domain == unix.AF_INET {
		return unix.Bind(fd, &unix.SockaddrInet4{Addr: ip.As4(), Port: int(port)})
	}
	return unix.Bind(fd, &unix.SockaddrInet6{Addr: ip.As16(), Port: int(port)})
}

// bind binds a socket, and has it listen if it is one for connections. Port 0 of UDP stands for one
// that follows from the ID, as with connect. A port of TCP can be had although earlier connections
// are in TIME_WAIT there.
func bind(fd int, id protocol.ID, at protocol.Address) error {
	switch {
	case at.Network == protocol.UDP:
		if at.At.Port() == 0 {
			return bindPortOf(fd, id, at)
		}
		return bindTo(fd, at.At.Addr(), at.At.Port())
	case at.Network == protocol.Unixgram:
		return unix.Bind(fd, at.Sockaddr())
	case at.Network == protocol.TCP:
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
			return err
		}
	}
	if err := unix.Bind(fd, at.Sockaddr()); err != nil {
		return err
	}
	return unix.Listen(fd, unix.SOMAXCONN)
}

// accept waits for a connection and gives it an ID. The reply says where it comes from.
func (s *Server) accept(listener int, newID protocol.ID) (protocol.Reply, int) {
	if _, exists := s.sockets[newID]; exists {
		return protocol.Reply{Refusal: protocol.RefusedDuplicateID}, -1
	}
	if len(s.sockets) >= protocol.MaxSockets {
		return protocol.Reply{Refusal: protocol.RefusedTooMany}, -1
	}
	for {
		fd, from, err := unix.Accept4(listener, unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK)
		switch err {
		case nil:
			s.sockets[newID] = fd
			a := protocol.AddressOf(protocol.TCP, from)
			// Of a Unix socket it is no use.
			return protocol.Reply{Address: protocol.Address{At: a.At}}, fd
		case unix.EAGAIN:
			if r := s.wait(listener, unix.POLLIN); r != (protocol.Reply{}) {
				return r, -1
			}
		case unix.EINTR, unix.ECONNABORTED: // who connected gave up: wait for the next
		default:
			return protocol.Reply{Errno: errnoOf(err)}, -1
		}
	}
}

// wait waits for a socket, as long as it takes. A new command, or the end of the channel,
// interrupts it: the sender of the current one has given up, and a proxy that waits on must not
// outlive it. The zero reply says that the socket is ready.
func (s *Server) wait(fd int, events int16) protocol.Reply {
	set := []unix.PollFd{{Fd: int32(fd), Events: events}, {Fd: int32(s.channel), Events: unix.POLLIN}}
	_, err := sys.Poll(set, -1)
	switch {
	case err != nil:
		return protocol.Reply{Errno: errnoOf(err)}
	case set[0].Revents != 0:
		return protocol.Reply{}
	default:
		return protocol.Reply{Refusal: protocol.RefusedInterrupted}
	}
}

// errnoOf is the errno in an error of a system call; 0 for nil. Any other error would be a fault of
// the server.
func errnoOf(err error) syscall.Errno {
	if err == nil {
		return 0
	}
	var n syscall.Errno
	if !errors.As(err, &n) {
		panic("proxy: not an error of a system call: " + err.Error())
	}
	return n
}

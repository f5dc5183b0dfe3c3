package proxy

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
)

// server carries out commands, one after the other, with blocking system calls on one
// thread: the fewer threads and descriptors the proxy has, the smaller every image is.
type server struct {
	channel  int
	sockets  map[ID]int
	peers    []int // pids
	launcher *launcher
	reaping  sync.Mutex // held while children are waited for
}

// serve returns nil when the checker has closed its end of the channel.
func (s *server) serve() error {
	for {
		b, fds, err := receiveRights(s.channel, maxMessage, 1)
		if err == io.EOF || errors.Is(err, unix.ECONNRESET) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the command channel: %w", err)
		}
		c, err := decodeCommand(b)
		if err == nil && (len(fds) == 1) != (c.op == opVisit) {
			err = fmt.Errorf("%v with %d descriptors", c.op, len(fds))
		}
		if err != nil {
			return fmt.Errorf("command channel: %w", err)
		}
		if c.op == opVisit {
			if err := s.receiveVisitor(fds[0]); err != nil {
				return err
			}
			continue
		}
		r, fd := s.execute(c)
		r.op, r.sequence = c.op, c.sequence
		if err := s.send(r, fd); err != nil {
			return err
		}
	}
}

func (s *server) send(r reply, fd int) error {
	var given []int
	if fd >= 0 {
		given = []int{fd}
	}
	err := seqpacket.Send(s.channel, r.encode(), given)
	if errors.Is(err, unix.EPIPE) {
		return nil // the checker is gone, which the next read says
	}
	if err != nil {
		return fmt.Errorf("answer on the command channel: %w", err)
	}
	return nil
}

// execute carries out a command; fd is the descriptor to hand out, or -1.
func (s *server) execute(c command) (r reply, fd int) {
	if c.op == opStart {
		return reply{refusal: s.start(int(c.id))}, -1
	}
	socket, known := s.sockets[c.id]
	if c.op == opCreateSocket {
		if !known {
			socket, r = s.create(c.id, c.address)
		}
		return r, socket
	}
	if !known {
		return reply{refusal: refusedUnknownID}, -1
	}
	switch c.op {
	case opConnect:
		return s.connect(c.id, socket, c.address), -1
	case opBind:
		return reply{errno: number(bind(socket, c.id, c.address))}, -1
	case opAccept:
		return s.accept(socket, c.newID)
	case opClose:
		delete(s.sockets, c.id)
		return reply{errno: number(unix.Close(socket))}, -1
	default:
		panic("proxy: the decoder let through " + c.op.String())
	}
}

// start starts a peer on demand.
func (s *server) start(i int) refusal {
	if s.launcher == nil || i < 0 || i >= len(s.peers) || !s.launcher.config.Peers[i].OnDemand {
		return refusedNotOnDemand
	}
	if unix.Kill(s.peers[i], 0) == nil {
		return refusedRuns
	}
	if err := s.launcher.do(func() error { return s.launcher.start(i) }); err != nil {
		unix.Write(2, []byte(err.Error()+"\n"))
		return refusedFailed
	}
	return accepted
}

// create makes a socket of the kind that an address is for; without one it is of TCP and IPv4.
func (s *server) create(id ID, of Address) (int, reply) {
	if len(s.sockets) >= MaxSockets {
		return -1, reply{refusal: refusedTooMany}
	}
	domain := unix.AF_INET
	if of != (Address{}) {
		domain = of.domain()
	}
	fd, err := unix.Socket(domain, of.kind()|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
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
		return -1, reply{errno: number(err)}
	}
	s.sockets[id] = fd
	return fd, reply{}
}

func (s *server) connect(id ID, fd int, to Address) reply {
	if !to.Network.IsUnix() {
		if err := bindLocalPort(fd, id); err != nil {
			return reply{errno: number(err)}
		}
	} else if outside(to.Path) {
		return reply{refusal: refusedOutside}
	}
	err := unix.Connect(fd, to.sockaddr())
	if err != unix.EINPROGRESS {
		return reply{errno: number(err)}
	}
	if r := s.wait(fd, unix.POLLOUT); r != (reply{}) {
		return r
	}
	// Asking again, rather than for SO_ERROR, also lets the socket connect anew if it failed.
	return reply{errno: number(unix.Connect(fd, to.sockaddr()))}
}

// Local ports lie above the range from which the kernel gives ports to the peers.
const (
	firstLocalPort = 61000
	localPorts     = 65536 - firstLocalPort
	portStride     = 569 // coprime to localPorts: attempts of neighbouring ids do not meet
	portAttempts   = 8
)

// bindLocalPort gives a socket without a port one that follows from its id, so that a replay shows
// the peers the same client address. A port that is taken or in TIME_WAIT is passed over.
func bindLocalPort(fd int, id ID) error {
	sa, err := unix.Getsockname(fd)
	if err != nil {
		return err
	}
	return bindPortOf(fd, id, AddressOf(TCP, sa))
}

// bindPortOf is bindLocalPort at an IP address, unless that has a port already.
func bindPortOf(fd int, id ID, at Address) error {
	if at.At.Port() != 0 {
		return nil // bound by an earlier attempt to connect, or as the program has asked for
	}
	err := error(unix.EADDRINUSE)
	for attempt := uint64(0); attempt < portAttempts && err == unix.EADDRINUSE; attempt++ {
		port := firstLocalPort + (uint64(id)+attempt*portStride)%localPorts
		err = bindTo(fd, at.At.Addr(), uint16(port))
	}
	return err
}

// bindTo binds a socket, which may be one of IPv6, to an address.
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

// bind binds a socket, and has it listen if it is one for connections.
func bind(fd int, id ID, at Address) error {
	switch {
	case at.Network == UDP:
		if at.At.Port() == 0 {
			return bindPortOf(fd, id, at)
		}
		return bindTo(fd, at.At.Addr(), at.At.Port())
	case at.Network == Unixgram:
		return unix.Bind(fd, at.sockaddr())
	case at.Network == TCP:
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
			return err
		}
	}
	if err := unix.Bind(fd, at.sockaddr()); err != nil {
		return err
	}
	return unix.Listen(fd, unix.SOMAXCONN)
}

func (s *server) accept(listener int, newID ID) (reply, int) {
	if _, exists := s.sockets[newID]; exists {
		return reply{refusal: refusedDuplicateID}, -1
	}
	if len(s.sockets) >= MaxSockets {
		return reply{refusal: refusedTooMany}, -1
	}
	for {
		fd, from, err := unix.Accept4(listener, unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK)
		switch err {
		case nil:
			s.sockets[newID] = fd
			a := AddressOf(TCP, from)
			return reply{address: Address{At: a.At}}, fd // of a Unix socket it is no use
		case unix.EAGAIN:
			if r := s.wait(listener, unix.POLLIN); r != (reply{}) {
				return r, -1
			}
		case unix.EINTR, unix.ECONNABORTED:
		default:
			return reply{errno: number(err)}, -1
		}
	}
}

// wait waits for a socket. A new command, or the end of the channel, interrupts it: the
// sender of the current one has given up, and a proxy that waits on must not outlive it.
func (s *server) wait(fd int, events int16) reply {
	set := []unix.PollFd{{Fd: int32(fd), Events: events}, {Fd: int32(s.channel), Events: unix.POLLIN}}
	_, err := sys.Retry(func() (int, error) { return unix.Poll(set, -1) })
	switch {
	case err != nil:
		return reply{errno: number(err)}
	case set[0].Revents != 0:
		return reply{}
	default:
		return reply{refusal: refusedInterrupted}
	}
}

// number is the errno in an error of a system call; 0 for nil.
func number(err error) syscall.Errno {
	if err == nil {
		return 0
	}
	var n syscall.Errno
	if !errors.As(err, &n) {
		panic("proxy: not an error of a system call: " + err.Error())
	}
	return n
}

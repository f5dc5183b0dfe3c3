package driver

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/internal/sys/seqpacket"
	"github.com/tandem-mc/tandem/proxy"
	"github.com/tandem-mc/tandem/sut"
)

// Messages: over sockets that keep their bounds, each is read and written at once. Inputs and
// deliveries hold them as sut.Message writes them. No such text is the beginning of another one, so
// that the cache, which takes both for streams, keeps the bounds.

// maxMessage is more than a message can have, in bytes. Linux limits a datagram to 64 KiB, and a
// message of a Unix socket by its send buffer.
const maxMessage = 256 << 10

// errDescriptors is why a check ends in which a peer hands out what only a process can have.
var errDescriptors = errors.New("a peer passes descriptors over a Unix socket to the program, " +
	"which is not supported: its files are those of another machine")

// read reads from a stream. Unix sockets are read with recvmsg, so that passed descriptors are seen
// and not leaked.
func (s *socket) read(b []byte) (int, error) {
	if !s.kind.Network.IsUnix() {
		return unix.Read(s.fd, b)
	}
	n, _, _, err := s.receive(b)
	return n, err
}

// receive reads what has come at once, and from whom. truncated says that the buffer was too small.
// The call never blocks. Descriptors that come with it are closed, and errDescriptors is returned.
func (s *socket) receive(b []byte) (n int, from unix.Sockaddr, truncated bool, err error) {
	control := make([]byte, unix.CmsgSpace(4*seqpacket.MaxDescriptors))
	n, m, flags, from, err := unix.Recvmsg(s.fd, b, control, unix.MSG_DONTWAIT|unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return 0, nil, false, err
	}
	if fds, _ := seqpacket.Descriptors(control[:m]); len(fds) > 0 {
		sys.CloseAll(fds)
		return 0, nil, false, errDescriptors
	}
	return n, from, flags&unix.MSG_TRUNC != 0, nil
}

// drainMessages reads all messages that have arrived on a connection. progress says whether there
// was one. It returns without an error when nothing more is there.
func (r *reaction) drainMessages(number int, s *socket) (progress bool, err error) {
	buffer := make([]byte, maxMessage)
	for !s.ended {
		n, from, truncated, err := s.receive(buffer)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN):
			return progress, nil
		case errors.Is(err, errDescriptors) || truncated:
			err = errors.Join(err, tooLong(truncated))
			return progress, fmt.Errorf("reading from connection %d: %w", number, err)
		}
		// Whatever came counts as progress, also an error or the end.
		progress = true
		var errno unix.Errno
		switch {
		// An error on a datagram socket is about something sent before. The program gets it as a
		// message of its own.
		case errors.As(err, &errno) && s.kind.Network.IsDatagram():
			r.add(number, sut.Message{Errno: int(errno)}.Append(nil), model.StillOpen)
		case errors.Is(err, unix.ECONNRESET) || errors.Is(err, unix.EPIPE):
			r.add(number, nil, model.Reset)
			// Neither direction can be used any more.
			s.ended, s.shut = true, true
		case err != nil:
			return progress, fmt.Errorf("reading from connection %d: %w", number, err)
		// Zero bytes are either the end or an empty message. The kernel tells them apart by the
		// poll.
		case n == 0 && !s.kind.Network.IsDatagram() && s.hungUp():
			r.add(number, nil, model.EOF)
			s.ended = true
		default:
			if err := r.take(number, n); err != nil {
				return progress, err
			}
			m := sut.Message{Data: slices.Clone(buffer[:n])}
			// A connected socket has one sender, which the program knows.
			if s.unconnected() {
				m.Address = proxy.AddressOf(s.kind.Network, from)
			}
			r.add(number, m.Append(nil), model.StillOpen)
		}
	}
	return progress, nil
}

// tooLong is the error for a truncated message; nil without one.
func tooLong(truncated bool) error {
	if truncated {
		return fmt.Errorf("a message of a peer has more than %d bytes", maxMessage)
	}
	return nil
}

// unconnected reports whether it is a datagram socket that talks to anybody.
func (s *socket) unconnected() bool {
	return s.kind.Network.IsDatagram() && !s.kind.At.IsValid() && s.kind.Path == ""
}

// hungUp reports whether nothing will come any more: else an empty message has come. It is asked
// only after a read of zero bytes.
func (s *socket) hungUp() bool {
	poll := []unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLRDHUP}}
	n, err := unix.Poll(poll, 0)
	return err == nil && n > 0 && poll[0].Revents&(unix.POLLRDHUP|unix.POLLHUP) != 0
}

// sendMessage sends a message. That it cannot be sent is told to the program, as a part of the
// reaction. The text in in.Data must hold exactly one message. Waiting for room ends with the limit
// of quiescence.
func (r *reaction) sendMessage(s *socket, in model.Input) error {
	m, rest, ok := sut.ReadMessage(in.Data, s.kind.Network)
	if !ok || len(rest) > 0 {
		return fmt.Errorf("connection %d: what the program sends is no message", in.Conn)
	}
	to, err := s.receiver(m.Address)
	if err != nil {
		return fmt.Errorf("connection %d: %w", in.Conn, err)
	}
	stuck := time.Now()
	for {
		err := unix.Sendto(s.fd, m.Data, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, to)
		var errno unix.Errno
		switch {
		case err == nil:
			return nil
		case err == unix.EINTR:
		// The receiver is slow. Reading what it has sent may free it.
		case err == unix.EAGAIN:
			if err := r.awaitRoom(s, in, len(in.Data), stuck); err != nil {
				return err
			}
		// The kernel reports an old error instead of sending, so the loop sends once more.
		case err == unix.ECONNREFUSED && s.kind.Network == proxy.UDP: // to what was sent before
			r.add(in.Conn, sut.Message{Errno: int(unix.ECONNREFUSED)}.Append(nil), model.StillOpen)
		case !errors.As(err, &errno):
			return fmt.Errorf("sending on connection %d: %w", in.Conn, err)
		// The program gets the error that the real call would have returned.
		default:
			r.add(in.Conn, sut.Message{Errno: int(errno), Failed: true}.Append(nil), model.StillOpen)
			return nil
		}
	}
}

// receiver is to whom a message goes; nil: to whom the socket is connected. An unconnected socket
// needs an address in each message. Its family must be that of the socket.
func (s *socket) receiver(a proxy.Address) (unix.Sockaddr, error) {
	if !s.unconnected() {
		return nil, nil
	}
	if !a.At.IsValid() {
		return nil, fmt.Errorf("a datagram of a socket of %v without an address that can be reached",
			s.kind.Network)
	}
	domain, err := unix.GetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	if err != nil {
		return nil, err
	}
	// An IPv6 socket reaches IPv4 addresses in their mapped form.
	if domain == unix.AF_INET6 {
		return &unix.SockaddrInet6{Addr: a.At.Addr().As16(), Port: int(a.At.Port())}, nil
	}
	return &unix.SockaddrInet4{Addr: a.At.Addr().As4(), Port: int(a.At.Port())}, nil
}

package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/internal/sys/seqpacket"
	"github.com/tandem-mc/tandem/proxy/internal/protocol"
)

// SocketError is what the kernel answered to a socket operation inside the group. The program under
// test is to see the same error.
type SocketError struct {
	Command string
	ID      ID
	Address Address // of connect and bind
	Errno   syscall.Errno
}

// Error says which operation failed, on which socket, and why.
func (e *SocketError) Error() string {
	if e.Address != (Address{}) {
		return fmt.Sprintf("%s of socket %d, %v: %v", e.Command, e.ID, e.Address, e.Errno)
	}
	return fmt.Sprintf("%s of socket %d: %v", e.Command, e.ID, e.Errno)
}

// Unwrap returns the number of the error, for errors.Is.
func (e *SocketError) Unwrap() error { return e.Errno }

// Client sends commands to one incarnation of a proxy; a restore makes another.
// It is safe for concurrent use; commands are carried out one at a time.
type Client struct {
	channel  int
	wake     int // eventfd: who waits is to look at why
	diagnose func() error
	closed   atomic.Bool

	mu       sync.Mutex // guards the rest, and is held as long as the descriptors are used
	sequence uint32
	known    map[ID]int // see Know
}

// NewClient takes over channel, the checker's end of the command channel. When the
// proxy is found dead, diagnose (may be nil) is asked for what happened; nil means unknown.
func NewClient(channel *os.File, diagnose func() error) (*Client, error) {
	defer channel.Close()
	if _, err := unix.GetsockoptInt(int(channel.Fd()), unix.SOL_SOCKET, unix.SO_TYPE); err != nil {
		return nil, fmt.Errorf("use the proxy's command channel: %w", err)
	}
	fd, err := unix.FcntlInt(channel.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("use the proxy's command channel: %w", err)
	}
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("use the proxy's command channel: %w", err)
	}
	return &Client{channel: fd, wake: wake, diagnose: diagnose}, nil
}

// Disconnect ends the use of the channel. The proxy takes that as its own end, and with
// it the group ends. A command under way fails; to disconnect again does nothing.
func (c *Client) Disconnect() {
	if c.closed.Swap(true) {
		return
	}
	c.interrupt()
	c.mu.Lock()
	defer c.mu.Unlock()
	unix.Close(c.channel)
	unix.Close(c.wake)
	for _, fd := range c.known {
		unix.Close(fd)
	}
	c.known = nil
}

// Know takes over a descriptor of one of the proxy's sockets. CreateSocket returns it once, without
// a word to the proxy. It is closed with the socket, or when the client is disconnected.
func (c *Client) Know(id ID, fd int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed.Load() {
		unix.Close(fd)
		return
	}
	if c.known == nil {
		c.known = map[ID]int{}
	}
	c.known[id] = fd
}

// takeKnown returns what Know was told of a socket, as long as the proxy lives.
func (c *Client) takeKnown(id ID) (fd int, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if fd, ok = c.known[id]; !ok {
		return -1, false
	}
	at := []unix.PollFd{{Fd: int32(c.channel)}}
	// it has ended, which the answer to a command says
	if n, err := unix.Poll(at, 0); err != nil || n > 0 {
		return -1, false
	}
	delete(c.known, id)
	return fd, true
}

// forget closes what Know was told of a socket.
func (c *Client) forget(id ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if fd, ok := c.known[id]; ok {
		delete(c.known, id)
		unix.Close(fd)
	}
}

// interrupt wakes up who waits for the proxy.
func (c *Client) interrupt() {
	unix.Write(c.wake, []byte{1, 0, 0, 0, 0, 0, 0, 0}) // if it is full, that is enough
}

// CreateSocket implements Commands.
func (c *Client) CreateSocket(ctx context.Context, id ID) (int, error) {
	return c.CreateSocketFor(ctx, id, Address{})
}

// CreateSocketFor implements Commands.
func (c *Client) CreateSocketFor(ctx context.Context, id ID, of Address) (int, error) {
	if err := context.Cause(ctx); err != nil {
		return -1, err
	}
	if fd, ok := c.takeKnown(id); ok {
		return fd, nil
	}
	_, fd, err := c.do(ctx, protocol.Request{Op: protocol.OpCreateSocket, ID: id, Address: of.Own()}, true)
	return fd, err
}

// Connect implements Commands.
func (c *Client) Connect(ctx context.Context, id ID, to netip.AddrPort) error {
	return c.ConnectTo(ctx, id, Address{At: to})
}

// ConnectTo implements Commands.
func (c *Client) ConnectTo(ctx context.Context, id ID, to Address) error {
	return c.doAddress(ctx, protocol.Request{Op: protocol.OpConnect, ID: id, Address: to.Other()})
}

// Bind implements Commands.
func (c *Client) Bind(ctx context.Context, id ID, at netip.AddrPort) error {
	return c.BindTo(ctx, id, Address{At: at})
}

// BindTo implements Commands.
func (c *Client) BindTo(ctx context.Context, id ID, at Address) error {
	return c.doAddress(ctx, protocol.Request{Op: protocol.OpBind, ID: id, Address: at.Own()})
}

// Accept implements Commands.
func (c *Client) Accept(ctx context.Context, id, newID ID) (int, netip.AddrPort, error) {
	r, fd, err := c.do(ctx, protocol.Request{Op: protocol.OpAccept, ID: id, NewID: newID}, true)
	return fd, r.Address.At, err
}

// Close implements Commands.
func (c *Client) Close(ctx context.Context, id ID) error {
	c.forget(id)
	_, _, err := c.do(ctx, protocol.Request{Op: protocol.OpClose, ID: id}, false)
	return err
}

// Start starts a peer that is OnDemand, by its index in Config.Peers. It must neither run nor have
// ended since the group was started or restored.
func (c *Client) Start(ctx context.Context, peer int) error {
	_, _, err := c.do(ctx, protocol.Request{Op: protocol.OpStart, ID: ID(peer)}, false)
	return err
}

// doAddress carries out a command that has an address, unless that is none.
func (c *Client) doAddress(ctx context.Context, m protocol.Request) error {
	if err := m.Address.Check(); err != nil {
		return fmt.Errorf("%v: %w", m, err)
	}
	_, _, err := c.do(ctx, m, false)
	return err
}

// do carries out one command. Where a descriptor is expected and err is nil, fd is it;
// otherwise fd is -1.
func (c *Client) do(ctx context.Context, m protocol.Request, expectFD bool) (r protocol.Reply, fd int,
	err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return r, -1, fmt.Errorf("%v: %w", m, err)
	}
	c.sequence++
	m.Sequence = c.sequence
	r, fd, err = c.exchange(ctx, m)
	if err != nil {
		return r, -1, c.explain(ctx, m, err)
	}
	switch {
	case r.Refusal != protocol.Accepted:
		err = fmt.Errorf("%v: %v", m, r.Refusal)
	case r.Errno != 0:
		e := &SocketError{Command: m.Op.String(), ID: m.ID, Errno: r.Errno}
		if m.Op == protocol.OpConnect || m.Op == protocol.OpBind {
			e.Address = m.Address
		}
		err = e
	case expectFD != (fd >= 0):
		err = fmt.Errorf("%v: the proxy's reply has a descriptor: %t", m, fd >= 0)
	}
	if err != nil && fd >= 0 {
		unix.Close(fd)
		fd = -1
	}
	return r, fd, err
}

// exchange sends a command and waits for its reply, passing over late replies to
// commands that were given up.
func (c *Client) exchange(ctx context.Context, m protocol.Request) (protocol.Reply, int, error) {
	if c.closed.Load() {
		return protocol.Reply{}, -1, net.ErrClosed
	}
	expired := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		c.interrupt()
		close(expired)
	})
	defer func() {
		if !stop() { // it may only now be interrupted
			<-expired
			unix.Read(c.wake, make([]byte, 8))
		}
	}()
	err := c.when(ctx, unix.POLLOUT, func() error {
		return unix.Sendto(c.channel, m.Encode(), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, nil)
	})
	if err != nil {
		return protocol.Reply{}, -1, err
	}
	for {
		r, fd, err := c.receive(ctx)
		if err != nil {
			return r, -1, err
		}
		if r.Sequence == m.Sequence && r.Op == m.Op {
			return r, fd, nil
		}
		if fd >= 0 {
			unix.Close(fd)
		}
	}
}

// when makes a call that does not wait, again whenever the channel is ready for it.
//
// It is waited for in a system call, and not by the runtime's poller: the runtime has a thread wait
// there only when all of its processors are idle. It counts one as busy that was in a system call
// less than 10 ms ago, or in one that it was not told of, as those are in which the checker waits
// for its daemon and for workers. Until its monitor looks, a reply would lie there.
func (c *Client) when(ctx context.Context, ready int16, call func() error) error {
	for {
		switch err := call(); err {
		case unix.EINTR:
			continue
		case unix.EAGAIN:
		default:
			return err
		}
		wait := []unix.PollFd{{Fd: int32(c.channel), Events: ready}, {Fd: int32(c.wake), Events: unix.POLLIN}}
		if _, err := unix.Poll(wait, -1); err != nil && err != unix.EINTR {
			return err
		}
		if c.closed.Load() {
			return net.ErrClosed
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// receive waits for the next reply, with its descriptor or -1. After an error none is open.
func (c *Client) receive(ctx context.Context) (protocol.Reply, int, error) {
	buffer := make([]byte, protocol.MaxMessage+1) // one more, to see that a message is too long
	var n int
	var fds []int
	err := c.when(ctx, unix.POLLIN, func() (err error) {
		const most = 2 // one more than a reply has
		n, fds, err = seqpacket.Receive(c.channel, buffer, most, unix.MSG_DONTWAIT)
		return err
	})
	if err != nil {
		return protocol.Reply{}, -1, err
	}
	fd := -1
	switch len(fds) {
	case 0:
	case 1:
		fd = fds[0]
	default:
		sys.CloseAll(fds)
		return protocol.Reply{}, -1, fmt.Errorf("a message of the proxy holds %d descriptors, not 1",
			len(fds))
	}
	r, err := protocol.DecodeReply(buffer[:n])
	if err != nil && fd >= 0 {
		unix.Close(fd)
		fd = -1
	}
	return r, fd, err
}

// explain turns an error of the channel into one that names its cause. It wraps ErrDied if the
// proxy is gone, however that has shown.
func (c *Client) explain(ctx context.Context, m protocol.Request, err error) error {
	gone := errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, syscall.ENOTCONN)
	switch {
	case gone:
		if c.diagnose != nil {
			if cause := c.diagnose(); cause != nil {
				return fmt.Errorf("%v: %w: %w", m, ErrDied, cause)
			}
		}
		return fmt.Errorf("%v: %w", m, ErrDied)
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return fmt.Errorf("%v: no reply from the proxy: %w", m, err)
	default:
		return fmt.Errorf("%v: %w", m, err)
	}
}

// ReceiveHello waits on the checker's end of the channel, a blocking descriptor, for a
// freshly started proxy to say that it has started the peers, and returns their pids in
// the group's pid namespace. The wait is cut at the deadline of ctx, if it has one.
func ReceiveHello(ctx context.Context, channel int) ([]int, error) {
	patience := time.Duration(-1)
	if deadline, ok := ctx.Deadline(); ok {
		patience = max(time.Until(deadline), 0)
	}
	ready, err := sys.AwaitReadable(channel, patience)
	if err != nil {
		return nil, fmt.Errorf("wait for the proxy: %w", err)
	}
	if !ready {
		return nil, fmt.Errorf("wait for the proxy to start the peers: %w", context.DeadlineExceeded)
	}
	b := make([]byte, protocol.MaxHello)
	n, err := sys.Retry(func() (int, error) { return unix.Read(channel, b) })
	if err != nil || n == 0 {
		return nil, fmt.Errorf("%w before it had started the peers", ErrDied)
	}
	return protocol.DecodeHello(b[:n])
}

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
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// SocketError is what the kernel answered to a socket operation inside the group.
type SocketError struct {
	Command string
	ID      ID
	Address netip.AddrPort // of connect and bind
	Errno   syscall.Errno
}

func (e *SocketError) Error() string {
	if e.Address.IsValid() {
		return fmt.Sprintf("%s of socket %d, %v: %v", e.Command, e.ID, e.Address, e.Errno)
	}
	return fmt.Sprintf("%s of socket %d: %v", e.Command, e.ID, e.Errno)
}

func (e *SocketError) Unwrap() error { return e.Errno }

// Client sends commands to one incarnation of a proxy; a restore makes another.
// It is safe for concurrent use; commands are carried out one at a time.
type Client struct {
	channel  *net.UnixConn
	diagnose func() error

	mu       sync.Mutex
	sequence uint32
}

// NewClient takes over channel, the checker's end of the command channel. When the
// proxy is found dead, diagnose (may be nil) is asked for what happened; nil means unknown.
func NewClient(channel *os.File, diagnose func() error) (*Client, error) {
	defer channel.Close()
	c, err := net.FileConn(channel)
	if err != nil {
		return nil, fmt.Errorf("use the proxy's command channel: %w", err)
	}
	u, ok := c.(*net.UnixConn)
	if !ok {
		c.Close()
		return nil, fmt.Errorf("the proxy's command channel is a %s socket, not a Unix socket", c.LocalAddr().Network())
	}
	return &Client{channel: u, diagnose: diagnose}, nil
}

// Disconnect ends the use of the channel. The proxy takes that as its own end, and with
// it the group ends.
func (c *Client) Disconnect() error { return c.channel.Close() }

// CreateSocket implements Commands.
func (c *Client) CreateSocket(ctx context.Context, id ID) (int, error) {
	_, fd, err := c.do(ctx, command{op: opCreateSocket, id: id}, true)
	return fd, err
}

// Connect implements Commands.
func (c *Client) Connect(ctx context.Context, id ID, to netip.AddrPort) error {
	return c.doAddress(ctx, command{op: opConnect, id: id, address: to})
}

// Bind implements Commands.
func (c *Client) Bind(ctx context.Context, id ID, at netip.AddrPort) error {
	return c.doAddress(ctx, command{op: opBind, id: id, address: at})
}

// Accept implements Commands.
func (c *Client) Accept(ctx context.Context, id, newID ID) (int, netip.AddrPort, error) {
	r, fd, err := c.do(ctx, command{op: opAccept, id: id, newID: newID}, true)
	return fd, r.address, err
}

// Close implements Commands.
func (c *Client) Close(ctx context.Context, id ID) error {
	_, _, err := c.do(ctx, command{op: opClose, id: id}, false)
	return err
}

// Start starts a peer that is OnDemand, by its index in Config.Peers. It must neither run nor have
// ended since the group was started or restored.
func (c *Client) Start(ctx context.Context, peer int) error {
	_, _, err := c.do(ctx, command{op: opStart, id: ID(peer)}, false)
	return err
}

func (c *Client) doAddress(ctx context.Context, m command) error {
	if a := m.address; !a.Addr().Unmap().Is4() {
		return fmt.Errorf("%v: %v is not an IPv4 address and port, and the sockets of a group are IPv4", m, a)
	}
	_, _, err := c.do(ctx, m, false)
	return err
}

// do carries out one command. Where a descriptor is expected and err is nil, fd is it;
// otherwise fd is -1.
func (c *Client) do(ctx context.Context, m command, expectFD bool) (r reply, fd int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return r, -1, fmt.Errorf("%v: %w", m, err)
	}
	c.sequence++
	m.sequence = c.sequence
	r, fd, err = c.exchange(ctx, m)
	if err != nil {
		return r, -1, c.explain(ctx, m, err)
	}
	switch {
	case r.refusal != accepted:
		err = fmt.Errorf("%v: %v", m, r.refusal)
	case r.errno != 0:
		e := &SocketError{Command: m.op.String(), ID: m.id, Errno: r.errno}
		if m.op == opConnect || m.op == opBind {
			e.Address = m.address
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
func (c *Client) exchange(ctx context.Context, m command) (reply, int, error) {
	expired := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		c.channel.SetDeadline(time.Unix(1, 0))
		close(expired)
	})
	defer func() {
		if !stop() { // the deadline may only now be getting set
			<-expired
			c.channel.SetDeadline(time.Time{})
		}
	}()
	if _, err := c.channel.Write(m.encode()); err != nil {
		return reply{}, -1, err
	}
	for {
		r, fd, err := c.receive()
		if err != nil {
			return r, -1, err
		}
		if r.sequence == m.sequence && r.op == m.op {
			return r, fd, nil
		}
		if fd >= 0 {
			unix.Close(fd)
		}
	}
}

func (c *Client) receive() (reply, int, error) {
	buffer := make([]byte, messageSize+1) // one more, to see that a message is too long
	control := make([]byte, unix.CmsgSpace(4))
	n, controlLength, _, _, err := c.channel.ReadMsgUnix(buffer, control)
	if err != nil {
		return reply{}, -1, err
	}
	if n == 0 {
		return reply{}, -1, io.EOF
	}
	fd, err := firstDescriptor(control[:controlLength])
	if err != nil {
		return reply{}, -1, err
	}
	r, err := decodeReply(buffer[:n])
	if err != nil && fd >= 0 {
		unix.Close(fd)
		fd = -1
	}
	return r, fd, err
}

// firstDescriptor returns the descriptor in a control message, or -1 where there is none.
func firstDescriptor(control []byte) (int, error) {
	if len(control) == 0 {
		return -1, nil
	}
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return -1, fmt.Errorf("control message of the proxy: %w", err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		for _, fd := range fds { // the buffer has room for two
			unix.Close(fd)
		}
		return -1, fmt.Errorf("control message of the proxy holds %d descriptors, not 1: %w", len(fds), err)
	}
	return fds[0], nil
}

// explain turns an error of the channel into one that names its cause.
func (c *Client) explain(ctx context.Context, m command, err error) error {
	gone := errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.ENOTCONN)
	switch {
	case gone:
		if c.diagnose != nil {
			if cause := c.diagnose(); cause != nil {
				return fmt.Errorf("%v: %w: %w", m, ErrDied, cause)
			}
		}
		return fmt.Errorf("%v: %w", m, ErrDied)
	case errors.Is(err, os.ErrDeadlineExceeded) && ctx.Err() != nil:
		return fmt.Errorf("%v: no reply from the proxy: %w", m, ctx.Err())
	default:
		return fmt.Errorf("%v: %w", m, err)
	}
}

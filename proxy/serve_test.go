package proxy

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/internal/sys/seqpacket"
	"github.com/tandem-mc/tandem/internal/testkit"
	"github.com/tandem-mc/tandem/proxy/internal/protocol"
	"github.com/tandem-mc/tandem/proxy/internal/server"
)

func testContext(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// channelPair makes a command channel: the checker's end and the proxy's.
func channelPair(t testing.TB) (*os.File, int) {
	t.Helper()
	pair, err := seqpacket.Pair()
	if err != nil {
		t.Fatal(err)
	}
	ours := os.NewFile(uintptr(pair[0]), "channel")
	t.Cleanup(func() { ours.Close() }) // a test may have no other use of it than its descriptor
	return ours, pair[1]
}

// newServer serves within the test; served gets what serve returns.
func newServer(t testing.TB) (c *Client, served <-chan error) {
	t.Helper()
	ours, theirs := channelPair(t)
	c, err := NewClient(ours, func() error { return errors.New("it was the gardener") })
	if err != nil {
		t.Fatal(err)
	}
	served, closed := runServer(theirs)
	t.Cleanup(func() {
		c.Disconnect()
		<-closed // the ports are free again
	})
	return c, served
}

// runServer serves a channel until its end and then closes all sockets.
func runServer(channel int) (served <-chan error, closed <-chan struct{}) {
	end, done := make(chan error, 1), make(chan struct{})
	go func() {
		s := server.New(channel)
		end <- s.Serve()
		s.Close()
		unix.Close(channel)
		close(done)
	}()
	return end, done
}

// Where local ports begin, how many there are, and how far the next attempt is.
const firstLocalPort, localPorts, portStride = 61000, 65536 - 61000, 569

func address(port uint16) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), port)
}

// create makes a socket and returns a descriptor that the test closes.
func create(t testing.TB, c *Client, id ID) int {
	t.Helper()
	fd, err := c.CreateSocket(testContext(t), id)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	return fd
}

var lastID = ID(100)

// unusedID is an id whose port no earlier test, even of another -count, has left in TIME_WAIT.
func unusedID() ID {
	lastID++
	return lastID
}

// listenAt makes a listening socket.
func listenAt(t testing.TB, c *Client, id ID, port uint16) {
	t.Helper()
	create(t, c, id)
	if err := c.Bind(testContext(t), id, address(port)); err != nil {
		t.Fatal(err)
	}
}

func TestConnectionThroughBothEnds(t *testing.T) {
	c, _ := newServer(t)
	ctx := testContext(t)
	listenAt(t, c, 1, 2000)
	id := unusedID()
	client := create(t, c, id)
	if err := c.Connect(ctx, id, address(2000)); err != nil {
		t.Fatal(err)
	}
	server, from, err := c.Accept(ctx, 1, 3)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(server)
	if want := address(firstLocalPort + uint16(id)); from != want {
		t.Errorf("the connection comes from %v, not %v", from, want)
	}
	if n, err := unix.Write(client, []byte("hello")); n != 5 || err != nil {
		t.Fatal(n, err)
	}
	if got := read(t, create(t, c, 3)); got != "hello" {
		t.Errorf("%q arrived", got)
	}
	// The connection ends when both the proxy's and the checker's descriptors are closed.
	if err := c.Close(ctx, id); err != nil {
		t.Fatal(err)
	}
	if n, err := unix.Read(server, make([]byte, 1)); err != unix.EAGAIN {
		t.Errorf("after the proxy's close: %d, %v", n, err)
	}
	unix.Shutdown(client, unix.SHUT_RDWR)
	if got := read(t, server); got != "" {
		t.Errorf("%q arrived after the end", got)
	}
}

// read waits for input on a non-blocking descriptor.
func read(t testing.TB, fd int) string {
	t.Helper()
	b := make([]byte, 100)
	if n, err := sys.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 10000); n != 1 || err != nil {
		t.Fatalf("nothing arrives: %v", err)
	}
	n, err := unix.Read(fd, b)
	if err != nil {
		t.Fatal(err)
	}
	return string(b[:n])
}

func TestCreateSocketReturnsTheSameSocketAgain(t *testing.T) {
	c, _ := newServer(t)
	first, second, other := create(t, c, 1), create(t, c, 1), create(t, c, 2)
	if inode(t, first) != inode(t, second) || inode(t, first) == inode(t, other) {
		t.Error("an id does not mean one socket")
	}
	if flags, err := unix.FcntlInt(uintptr(first), unix.F_GETFL, 0); err != nil ||
		flags&unix.O_NONBLOCK == 0 {
		t.Errorf("the descriptor blocks: flags %#x, %v", flags, err)
	}
	if flags, err := unix.FcntlInt(uintptr(first), unix.F_GETFD, 0); err != nil ||
		flags&unix.FD_CLOEXEC == 0 {
		t.Errorf("the descriptor would be inherited: flags %#x, %v", flags, err)
	}
}

func inode(t testing.TB, fd int) uint64 {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		t.Fatal(err)
	}
	return st.Ino
}

func TestErrorsOfTheKernel(t *testing.T) {
	c, _ := newServer(t)
	ctx := testContext(t)
	create(t, c, 1)
	listenAt(t, c, 2, 2000)
	create(t, c, 3)
	for name, test := range map[string]struct {
		err   error
		errno syscall.Errno
		text  string
	}{
		"refused": {c.Connect(ctx, 1, address(2001)), syscall.ECONNREFUSED,
			"connect of socket 1, 127.0.0.1:2001: connection refused"},
		"in use": {c.Bind(ctx, 3, address(2000)), syscall.EADDRINUSE,
			"bind of socket 3, 127.0.0.1:2000: address already in use"},
		"foreign": {c.Connect(ctx, 3, netip.MustParseAddrPort("192.0.2.1:80")), syscall.ENETUNREACH,
			"network is unreachable"},
	} {
		var e *SocketError
		if !errors.As(test.err, &e) || !errors.Is(test.err, test.errno) ||
			!strings.Contains(test.err.Error(), test.text) {
			t.Errorf("%s: %v", name, test.err)
		}
	}
	_, _, err := c.Accept(ctx, 1, 9)
	if !errors.Is(err, syscall.EINVAL) || err.Error() != "accept of socket 1: invalid argument" {
		t.Errorf("accept of a socket that does not listen: %v", err)
	}
}

func TestRefusals(t *testing.T) {
	c, _ := newServer(t)
	ctx := testContext(t)
	listenAt(t, c, 1, 2000)
	_, _, duplicate := c.Accept(ctx, 1, 1)
	_, _, unknown := c.Accept(ctx, 7, 8)
	for want, err := range map[string]error{
		"connect of socket 7: no socket has this id":            c.Connect(ctx, 7, address(2000)),
		"bind of socket 7: no socket has this id":               c.Bind(ctx, 7, address(2000)),
		"close of socket 7: no socket has this id":              c.Close(ctx, 7),
		"accept of socket 7: no socket has this id":             unknown,
		"accept of socket 1: the new id names a socket already": duplicate,
		"connect of socket 1: an address with a zone": c.Connect(ctx, 1,
			netip.MustParseAddrPort("[::1%lo]:80")),
		"bind of socket 1: tcp: there is no address": c.Bind(ctx, 1, netip.AddrPort{}),
	} {
		var e *SocketError
		if err == nil || !strings.HasPrefix(err.Error(), want) || errors.As(err, &e) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestLocalPortsFollowFromIDs(t *testing.T) {
	c, _ := newServer(t)
	ctx := testContext(t)
	listenAt(t, c, 1, 2000)
	port := func(id ID) int {
		fd := create(t, c, id)
		if err := c.Connect(ctx, id, address(2000)); err != nil {
			t.Fatal(err)
		}
		sa, err := unix.Getsockname(fd)
		if err != nil {
			t.Fatal(err)
		}
		return sa.(*unix.SockaddrInet4).Port
	}
	id := unusedID()
	if got := port(id); got != firstLocalPort+int(id) {
		t.Errorf("socket %d has port %d", id, got)
	}
	if got := port(localPorts + id); got != firstLocalPort+int(id)+portStride {
		t.Errorf("a socket whose port is taken has port %d", got)
	}
	if got := port(1<<32 - 1); got < firstLocalPort {
		t.Errorf("the last socket has port %d", got)
	}
}

func TestFailedConnectMayBeTriedAgain(t *testing.T) {
	c, _ := newServer(t)
	ctx := testContext(t)
	create(t, c, 2)
	for range 2 {
		if err := c.Connect(ctx, 2, address(2000)); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Fatal(err)
		}
	}
	listenAt(t, c, 1, 2000)
	if err := c.Connect(ctx, 2, address(2000)); err != nil {
		t.Errorf("once there is a listener: %v", err)
	}
}

// TestAcceptIsGivenUp: the next command is served, the late reply is passed over.
func TestAcceptIsGivenUp(t *testing.T) {
	c, _ := newServer(t)
	listenAt(t, c, 1, 2000)
	for range 3 {
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		fd, _, err := c.Accept(ctx, 1, 5)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || fd != -1 ||
			!strings.Contains(err.Error(), "accept of socket 1: no reply") {
			t.Errorf("%d, %v", fd, err)
		}
		create(t, c, 2)
	}
	if err := c.Connect(testContext(t), 2, address(2000)); err != nil {
		t.Fatal(err)
	}
	fd, _, err := c.Accept(testContext(t), 1, 5)
	if err != nil {
		t.Fatal(err)
	}
	unix.Close(fd)
}

func TestCommandWhileAnotherWaits(t *testing.T) {
	ours, theirs := channelPair(t)
	served, closed := runServer(theirs)
	fd := int(ours.Fd())
	exchange := func(c protocol.Request) {
		if err := unix.Sendto(fd, c.Encode(), 0, nil); err != nil {
			t.Fatal(err)
		}
	}
	receive := func() protocol.Reply {
		b := make([]byte, 100)
		n, err := unix.Read(fd, b) // descriptors are left behind, and closed
		if err != nil {
			t.Fatal(err)
		}
		r, err := protocol.DecodeReply(b[:n])
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	exchange(protocol.Request{Op: protocol.OpCreateSocket, Sequence: 1, ID: 1})
	exchange(protocol.Request{Op: protocol.OpBind, Sequence: 2, ID: 1, Address: Address{At: address(2000)}})
	exchange(protocol.Request{Op: protocol.OpAccept, Sequence: 3, ID: 1, NewID: 2})
	exchange(protocol.Request{Op: protocol.OpClose, Sequence: 4, ID: 1})
	for sequence, want := range []protocol.Refusal{protocol.Accepted, protocol.Accepted,
		protocol.RefusedInterrupted, protocol.Accepted} {
		if r := receive(); r.Sequence != uint32(sequence+1) || r.Refusal != want || r.Errno != 0 {
			t.Errorf("reply %d is %+v", sequence+1, r)
		}
	}
	exchange(protocol.Request{Op: protocol.OpCreateSocket, Sequence: 5, ID: 1})
	receive()
	exchange(protocol.Request{Op: protocol.OpBind, Sequence: 6, ID: 1, Address: Address{At: address(2000)}})
	receive()
	exchange(protocol.Request{Op: protocol.OpAccept, Sequence: 7, ID: 1, NewID: 2})
	ours.Close() // ends the wait, and serve
	if err := <-served; err != nil {
		t.Errorf("the checker is gone, but: %v", err)
	}
	<-closed
}

func TestProxyDies(t *testing.T) {
	c, served := newServer(t)
	create(t, c, 1)
	if err := unix.Shutdown(c.channel, unix.SHUT_WR); err != nil {
		t.Fatal(err)
	}
	if err := <-served; err != nil {
		t.Fatal(err)
	}
	_, err := c.CreateSocket(testContext(t), 2)
	if !errors.Is(err, ErrDied) || !strings.Contains(err.Error(),
		"create_socket of socket 2: the proxy of the peer group died: it was the gardener") {
		t.Errorf("%v", err)
	}
	c.Disconnect()
	if err := c.Close(testContext(t), 1); !errors.Is(err, ErrDied) {
		t.Errorf("after Disconnect: %v", err)
	}
}

func TestServerRefusesForeignMessages(t *testing.T) {
	ours, theirs := channelPair(t)
	defer ours.Close()
	s := server.New(theirs)
	if _, err := ours.Write([]byte("GET / HTTP/1.1\r\n\r\nXXXX")); err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(); err == nil || !strings.Contains(err.Error(), "not a message of this protocol") {
		t.Errorf("%v", err)
	}
}

func TestClientRefusesForeignReplies(t *testing.T) {
	for name, answer := range map[string]struct {
		reply []byte
		fd    bool
		want  string
	}{
		"garbage": {[]byte("garbage"), true, "a message of 7 bytes"},
		"other descriptor": {protocol.Reply{Op: protocol.OpClose, Sequence: 1}.Encode(), true,
			"the proxy's reply has a descriptor: true"},
		"too long": {make([]byte, 1000), false, "a message is longer than it may be"},
	} {
		t.Run(name, func(t *testing.T) {
			ours, theirs := channelPair(t)
			defer unix.Close(theirs)
			c, err := NewClient(ours, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Disconnect()
			var rights []byte
			if answer.fd {
				rights = unix.UnixRights(theirs)
			}
			if err := unix.Sendmsg(theirs, answer.reply, rights, nil, 0); err != nil {
				t.Fatal(err)
			}
			before := testkit.OpenFiles(t)
			if err := c.Close(testContext(t), 1); err == nil || !strings.Contains(err.Error(), answer.want) {
				t.Errorf("%v", err)
			}
			if after := testkit.OpenFiles(t); after != before {
				t.Errorf("%d descriptors are open, before there were %d", after, before)
			}
		})
	}
}

func TestClientNeedsASocket(t *testing.T) {
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewClient(f, nil); err == nil || !strings.Contains(err.Error(), "command channel") {
		t.Errorf("%v", err)
	}
}

// TestDisconnectWhileAnotherWaits: a command under way fails, and so does one after it.
func TestDisconnectWhileAnotherWaits(t *testing.T) {
	ours, theirs := channelPair(t)
	defer unix.Close(theirs)
	c, err := NewClient(ours, nil)
	if err != nil {
		t.Fatal(err)
	}
	failed := make(chan error)
	go func() {
		_, err := c.CreateSocket(testContext(t), 1)
		failed <- err
	}()
	if _, err := unix.Read(theirs, make([]byte, protocol.MaxMessage)); err != nil {
		// it waits for the reply
		t.Fatal(err)
	}
	c.Disconnect()
	if err := <-failed; !errors.Is(err, ErrDied) {
		t.Errorf("the command under way: %v", err)
	}
	if _, err := c.CreateSocket(testContext(t), 2); !errors.Is(err, ErrDied) {
		t.Errorf("the next one: %v", err)
	}
	c.Disconnect()
	if n, err := unix.Read(theirs, make([]byte, protocol.MaxMessage)); n != 0 || err != nil {
		t.Errorf("the proxy does not see the end of its channel: %d bytes, %v", n, err)
	}
}

package server

import (
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys/netns"
	"github.com/tandem-mc/tandem/internal/sys/seqpacket"
	"github.com/tandem-mc/tandem/proxy/internal/protocol"
)

// newServer makes a server for a test, and the checker's end of its channel.
func newServer(t *testing.T) (s *Server, checker int) {
	t.Helper()
	pair, err := seqpacket.Pair()
	if err != nil {
		t.Fatal(err)
	}
	s = New(pair[1])
	t.Cleanup(func() {
		s.Close()
		unix.Close(pair[0])
		unix.Close(pair[1])
	})
	return s, pair[0]
}

// inNetwork runs a test in a network of its own, where all ports are free.
func inNetwork(t *testing.T, f func()) {
	t.Helper()
	namespace, err := netns.New()
	if err != nil {
		t.Fatal(err)
	}
	defer namespace.Close()
	if err := netns.InFile(namespace, func() error { f(); return nil }); err != nil {
		t.Fatal(err)
	}
}

// at is the address of a socket of TCP.
func at(text string) protocol.Address {
	return protocol.Address{At: netip.MustParseAddrPort(text)}
}

// do carries out a command that is to succeed, and returns what it answers.
func do(t *testing.T, s *Server, c protocol.Request) protocol.Reply {
	t.Helper()
	r, _ := s.execute(c)
	if r.Refusal != protocol.Accepted || r.Errno != 0 {
		t.Fatalf("%v: %v, %v", c, r.Refusal, r.Errno)
	}
	return r
}

// TestConnection: the port of a connection follows from its socket's ID, and is passed over where
// somebody has it.
func TestConnection(t *testing.T) {
	inNetwork(t, func() {
		s, _ := newServer(t)
		listener, server := at("127.0.0.1:80"), at("127.0.0.1:61007")
		do(t, s, protocol.Request{Op: protocol.OpCreateSocket, ID: 1})
		do(t, s, protocol.Request{Op: protocol.OpBind, ID: 1, Address: listener})
		do(t, s, protocol.Request{Op: protocol.OpCreateSocket, ID: 2})
		do(t, s, protocol.Request{Op: protocol.OpBind, ID: 2, Address: server}) // takes the port of 7
		for id, want := range map[protocol.ID]string{
			3: "127.0.0.1:61003",
			7: "127.0.0.1:61576",
		} {
			do(t, s, protocol.Request{Op: protocol.OpCreateSocket, ID: id})
			do(t, s, protocol.Request{Op: protocol.OpConnect, ID: id, Address: listener})
			r := do(t, s, protocol.Request{Op: protocol.OpAccept, ID: 1, NewID: id + 100})
			if got := r.Address.String(); got != want {
				t.Errorf("socket %d connects from %s, want %s", id, got, want)
			}
			if _, err := unix.Write(s.sockets[id], []byte{byte(id)}); err != nil {
				t.Fatal(err)
			}
			b := make([]byte, 2)
			if n, err := unix.Read(s.sockets[id+100], b); n != 1 || b[0] != byte(id) {
				t.Errorf("what socket %d has written: %d bytes %v, %v", id, n, b, err)
			}
		}
	})
}

// TestRefusedCommands: what cannot be done is refused, or fails as the system call does.
func TestRefusedCommands(t *testing.T) {
	inNetwork(t, func() {
		s, checker := newServer(t)
		do(t, s, protocol.Request{Op: protocol.OpCreateSocket, ID: 1})
		do(t, s, protocol.Request{Op: protocol.OpBind, ID: 1, Address: at("127.0.0.1:80")})
		do(t, s, protocol.Request{Op: protocol.OpCreateSocket, ID: 2})
		// Another command has come: whoever sent this one does not wait for it any more.
		if err := seqpacket.Send(checker, []byte("another"), nil); err != nil {
			t.Fatal(err)
		}
		for _, test := range []struct {
			command protocol.Request
			want    protocol.Reply
		}{
			{
				protocol.Request{Op: protocol.OpConnect, ID: 9, Address: at("127.0.0.1:80")},
				protocol.Reply{Refusal: protocol.RefusedUnknownID},
			},
			{
				protocol.Request{Op: protocol.OpAccept, ID: 1, NewID: 2},
				protocol.Reply{Refusal: protocol.RefusedDuplicateID},
			},
			{
				protocol.Request{Op: protocol.OpAccept, ID: 1, NewID: 3},
				protocol.Reply{Refusal: protocol.RefusedInterrupted},
			},
			{
				protocol.Request{Op: protocol.OpAccept, ID: 2, NewID: 3},
				protocol.Reply{Errno: unix.EINVAL}, // it does not listen
			},
			{
				protocol.Request{Op: protocol.OpConnect, ID: 2, Address: at("127.0.0.1:81")},
				protocol.Reply{Errno: unix.ECONNREFUSED},
			},
			{
				protocol.Request{Op: protocol.OpBind, ID: 2, Address: at("127.0.0.1:80")},
				protocol.Reply{Errno: unix.EINVAL}, // it has had a port since it was to connect
			},
			{
				protocol.Request{Op: protocol.OpStart},
				protocol.Reply{Refusal: protocol.RefusedNotOnDemand},
			},
		} {
			if r, fd := s.execute(test.command); r != test.want || fd != -1 {
				t.Errorf("%v: %+v and descriptor %d, want %+v", test.command, r, fd, test.want)
			}
		}
	})
}

// TestUnixSocketsOfOthers: a socket at a path is reached only if somebody in the group's network is
// bound to it.
func TestUnixSocketsOfOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "socket")
	to := protocol.Address{Network: protocol.Unix, Path: path}
	connect := func(s *Server) protocol.Reply {
		do(t, s, protocol.Request{Op: protocol.OpCreateSocket, ID: 2, Address: to})
		r, _ := s.execute(protocol.Request{Op: protocol.OpConnect, ID: 2, Address: to})
		return r
	}
	inNetwork(t, func() {
		s, _ := newServer(t)
		do(t, s, protocol.Request{Op: protocol.OpCreateSocket, ID: 1, Address: to})
		do(t, s, protocol.Request{Op: protocol.OpBind, ID: 1, Address: to})
		if r := connect(s); r != (protocol.Reply{}) {
			t.Errorf("in the same network: %+v", r)
		}
	})
	inNetwork(t, func() {
		s, _ := newServer(t)
		if r := connect(s); r.Refusal != protocol.RefusedOutside {
			t.Errorf("from another network: %+v", r)
		}
	})
}

// TestServe: each command has its answer, with the descriptor of a new socket, until the checker
// closes the channel.
func TestServe(t *testing.T) {
	s, checker := newServer(t)
	result := make(chan error)
	go func() { result <- s.Serve() }()
	for n, op := range []protocol.Operation{protocol.OpCreateSocket, protocol.OpClose, protocol.OpClose} {
		c := protocol.Request{Op: op, Sequence: uint32(n) + 5, ID: 1}
		if err := seqpacket.Send(checker, c.Encode(), nil); err != nil {
			t.Fatal(err)
		}
		b, fds, err := protocol.ReceiveMessage(checker, protocol.MaxMessage, 1)
		if err != nil {
			t.Fatal(err)
		}
		r, err := protocol.DecodeReply(b)
		if err != nil || r.Op != op || r.Sequence != c.Sequence ||
			(len(fds) == 1) != (op == protocol.OpCreateSocket) ||
			(r.Refusal == protocol.RefusedUnknownID) != (n == 2) {
			t.Errorf("%v: %+v with descriptors %v, %v", c, r, fds, err)
		}
		for _, fd := range fds {
			unix.Close(fd)
		}
	}
	unix.Shutdown(checker, unix.SHUT_RDWR)
	if err := <-result; err != nil {
		t.Errorf("the checker has gone: %v", err)
	}
}

// TestServeEndsWithNonsense: a channel on which something else came is not served any more.
func TestServeEndsWithNonsense(t *testing.T) {
	for want, message := range map[string][]byte{
		"a message of 8 bytes":    []byte("nonsense"),
		"visit with 0 descriptor": protocol.Request{Op: protocol.OpVisit}.Encode(),
	} {
		s, checker := newServer(t)
		if err := seqpacket.Send(checker, message, nil); err != nil {
			t.Fatal(err)
		}
		if err := s.Serve(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestVisit: a visitor is shown the sockets, and gives others, of which none may be left open where
// one cannot be taken.
func TestVisit(t *testing.T) {
	s, _ := newServer(t)
	for id := range protocol.ID(protocol.MaxRights + 1) {
		do(t, s, protocol.Request{Op: protocol.OpCreateSocket, ID: id})
	}
	pair, err := seqpacket.Pair()
	if err != nil {
		t.Fatal(err)
	}
	visitor := pair[0]
	defer unix.Close(visitor)
	result := make(chan error)
	go func() { result <- s.receiveVisitor(pair[1]) }()
	send := func(message []byte, fds ...int) {
		if err := seqpacket.Send(visitor, message, fds); err != nil {
			t.Fatal(err)
		}
	}
	receive := func() protocol.VisitMessage {
		m, err := protocol.ReceiveVisit(visitor)
		if err != nil {
			t.Fatal(err)
		}
		for _, fd := range m.FDs {
			unix.Close(fd)
		}
		return m
	}
	send([]byte{protocol.VisitShow})
	shown := map[protocol.ID]bool{}
	m := receive()
	if m.Kind != protocol.VisitLast || m.PID <= 0 {
		t.Errorf("first of all: %+v", m)
	}
	for m = receive(); m.Kind == protocol.VisitSockets; m = receive() {
		for _, id := range m.IDs {
			shown[id] = true
		}
	}
	if m.Outcome() != nil || len(shown) != protocol.MaxRights+1 {
		t.Errorf("%d sockets were shown: %v", len(shown), m.Outcome())
	}
	// The first is new, the second is there already.
	mine, theirs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer mine.Close()
	send([]byte{protocol.VisitAdopt, 0, 0, 1, 0, 0, 0, 0, 7}, int(mine.Fd()), int(theirs.Fd()))
	theirs.Close()
	if m := receive(); m.Outcome() == nil || !strings.Contains(m.Outcome().Error(), "socket 7 cannot") {
		t.Errorf("two sockets with the ID 7: %v", m.Outcome())
	}
	mine.SetReadDeadline(time.Now().Add(10 * time.Second))
	if n, err := mine.Read(make([]byte, 1)); n != 0 || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("what was not taken is still open: %d, %v", n, err)
	}
	send([]byte{protocol.VisitAdopt}, int(mine.Fd()))
	if m := receive(); m.Outcome() == nil {
		t.Error("a socket without an ID was taken")
	}
	unix.Shutdown(visitor, unix.SHUT_RDWR)
	if err := <-result; err != nil {
		t.Error(err)
	}
	if _, adopted := s.sockets[256]; !adopted || len(s.sockets) != protocol.MaxRights+2 {
		t.Errorf("there are %d sockets, and 256 is one of them: %t", len(s.sockets), adopted)
	}
}

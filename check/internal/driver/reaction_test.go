package driver

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/internal/model"
)

// TestReactionIsBounded: peers that go on sending do not take all memory, and an interrupted check
// does not wait for them.
func TestReactionIsBounded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := &reaction{ctx: ctx}
	if err := r.take(0, maxReaction); err != nil {
		t.Error(err)
	}
	if err := r.take(3, 1); err == nil ||
		!strings.Contains(err.Error(), "more than 256 MiB after one input, last on connection 3") {
		t.Error(err)
	}
	cancel()
	if err := (&reaction{ctx: ctx}).take(0, 1); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestAnswerBeforeReset: what a peer has sent before it breaks a connection arrives, also where
// what it is sent meets the reset.
func TestAnswerBeforeReset(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	const conn = 3
	for _, seen := range []bool{false, true} { // whether the answer is read before more is sent
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		port := listener.Addr().(*net.TCPAddr).Port
		if err := unix.Connect(fd, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
			t.Fatal(err)
		}
		peer, err := listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		s := &socket{fd: fd}
		r := &reaction{ctx: t.Context(), g: &groupState{sockets: map[int]*socket{conn: s}}}
		tooMuch := model.Input{Conn: conn, Data: []byte("too much")}
		if err := errors.Join(unix.SetNonblock(fd, true), r.send(s, tooMuch)); err != nil {
			t.Fatal(err)
		}
		if _, err := peer.Read(make([]byte, 3)); err != nil {
			t.Fatal(err)
		}
		if _, err := peer.Write([]byte("413")); err != nil {
			t.Fatal(err)
		}
		if seen {
			for len(r.list) == 0 {
				if _, err := r.drain(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := peer.Close(); err != nil { // before it has read all: a reset
			t.Fatal(err)
		}
		broken := []unix.PollFd{{Fd: int32(fd)}} // POLLERR and POLLHUP are reported always
		if n, err := unix.Poll(broken, 10_000); n != 1 {
			t.Fatal("no reset arrives: ", err)
		}
		if err := r.send(s, model.Input{Conn: conn, Data: []byte("more")}); err != nil {
			t.Fatal(err)
		}
		if _, err := r.drain(); err != nil {
			t.Fatal(err)
		}
		want := []model.Delivery{{Conn: conn, Data: []byte("413"), End: model.Reset}}
		if diff := cmp.Diff(want, r.result().Deliveries); diff != "" {
			t.Errorf("answer read before: %v: %s", seen, diff)
		}
		if progress, err := r.drain(); progress || err != nil {
			t.Errorf("there is more: %v, %v", progress, err)
		}
	}
}

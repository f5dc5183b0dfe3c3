package proxy

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/internal/sys/seqpacket"
	"github.com/tandem-mc/tandem/proxy/internal/protocol"
	"github.com/tandem-mc/tandem/proxy/internal/server"
)

// visited is a server that a test visits, with the checker's end of its channel.
func visited(t *testing.T) (s *server.Server, channel int) {
	t.Helper()
	pair, err := seqpacket.Pair()
	if err != nil {
		t.Fatal(err)
	}
	s = server.New(pair[1])
	done := make(chan error, 1)
	go func() { done <- s.Serve() }()
	t.Cleanup(func() {
		unix.Shutdown(pair[0], unix.SHUT_RDWR)
		if err := <-done; err != nil {
			t.Error(err)
		}
		sys.CloseAll(pair[:])
	})
	return s, pair[0]
}

func TestVisit(t *testing.T) {
	_, channel := visited(t)
	v, err := Visit(channel)
	if err != nil {
		t.Fatal(err)
	}
	given := map[ID]int{}
	for id := ID(1); id <= protocol.MaxRights+10; id++ { // more than one message holds
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_MARK, int(id)); err != nil {
			t.Fatal(err)
		}
		given[id] = fd
	}
	if err := v.Adopt(given); err != nil {
		t.Fatal(err)
	}
	if err := v.Adopt(map[ID]int{3: given[3]}); err == nil ||
		!strings.Contains(err.Error(), "socket 3 cannot be adopted") {
		t.Errorf("a socket whose id is taken: %v", err)
	}
	if last, err := v.Last(); err != nil || last <= 0 {
		t.Errorf("the process ID that was given last is %d, %v", last, err)
	}
	shown, last, err := v.Sockets()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(slices.Sorted(maps.Keys(shown)), slices.Sorted(maps.Keys(given))) {
		t.Errorf("%d sockets are shown, %d were given", len(shown), len(given))
	}
	if last <= 0 {
		t.Errorf("the process ID that was given last is %d", last)
	}
	for id, fd := range shown {
		if mark, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_MARK); err != nil || mark != int(id) {
			t.Errorf("socket %d is shown as %d, %v", mark, id, err)
		}
		unix.Close(fd)
	}
	if err := v.Reap(0); err != nil {
		t.Errorf("wait for the end of no peer: %v", err)
	}
	if err := v.SetLast(0); err != nil { // else whoever is started on this machine would see it
		t.Error(err)
	}
	if err := v.tell("dance", []byte{protocol.VisitEnter}, nil); err == nil ||
		!strings.Contains(err.Error(), "have the proxy dance") {
		t.Errorf("a message without its descriptors: %v", err)
	}
	if err := v.End(); err != nil {
		t.Error(err)
	}
	checkServed(t, channel)
}

// checkServed makes sure that the checker is served again, over the same channel.
func checkServed(t *testing.T, channel int) {
	t.Helper()
	c := protocol.Request{Op: protocol.OpBind, Sequence: 7, ID: 9999,
		Address: Address{At: netip.MustParseAddrPort("127.0.0.1:1")}}
	if err := seqpacket.Send(channel, c.Encode(), nil); err != nil {
		t.Fatal(err)
	}
	b, _, err := protocol.ReceiveMessage(channel, protocol.MaxMessage, 1)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := protocol.DecodeReply(b); err != nil || r.Sequence != 7 ||
		r.Refusal != protocol.RefusedUnknownID {
		t.Errorf("%+v, %v", r, err)
	}
}

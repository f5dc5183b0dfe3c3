package watch

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func port(n uint16) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), n)
}

// owned says of sockets whose they are, by inode.
type owned struct{ checker, deferring uint32 }

func (o owned) isChecker(inode uint32) bool { return inode == o.checker }
func (o owned) defers(listener uint32) bool { return listener == o.deferring }

func TestTraffic(t *testing.T) {
	listener := socket{state: tcpListen, local: port(80), inode: 1}
	here := socket{state: tcpEstablished, local: port(80), remote: port(9), inode: 2}
	there := socket{state: tcpEstablished, local: port(9), remote: port(80), inode: 3}
	with := func(s socket, change func(*socket)) socket {
		change(&s)
		return s
	}
	const closeWait, finWait2 = 8, 5
	half := with(here, func(s *socket) { s.state, s.inode = tcpSynRecv, 0 })
	for want, all := range map[string][]socket{
		"": {listener, here, there},
		"a connection from 127.0.0.1:80 to 127.0.0.1:9 is being made": {
			with(here, func(s *socket) { s.state = tcpSynSent })},
		"a connection from 127.0.0.1:9 to 127.0.0.1:80 is being made": {
			with(there, func(s *socket) { s.state = tcpNewSynRecv })},
		"a connection from 127.0.0.1:80 to 127.0.0.1:9 is being made, " +
			"and the backlog of the listener is full (3)": {
			half, there, with(listener, func(s *socket) { s.unread, s.unsent = 3, 2 })},
		"5 bytes from 127.0.0.1:80 to 127.0.0.1:9 are under way": {
			with(here, func(s *socket) { s.unsent = 5 }), there},
		"the end of the connection from 127.0.0.1:9 to 127.0.0.1:80 is under way": {listener, here},
		"6 bytes from 127.0.0.1:9 to 127.0.0.1:80 are not read": {
			with(here, func(s *socket) { s.inode, s.unread = 7, 6 }), there},
	} {
		if got := trafficOf(all, owned{checker: 7}).underWay; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	deferring := with(listener, func(s *socket) { s.inode = 8 })
	for want, all := range map[string][]socket{
		"": {listener, here, there},
		"3 connections to 127.0.0.1:80 wait to be accepted": {
			with(listener, func(s *socket) { s.unread = 3 })},
		"6 bytes from 127.0.0.1:80 to 127.0.0.1:9 are not read": {
			here, with(there, func(s *socket) { s.unread = 6 })},
		"the connection from 127.0.0.1:9 to 127.0.0.1:80 waits for data, " +
			"since its listener has TCP_DEFER_ACCEPT": {deferring, half, there},
	} {
		if got := trafficOf(all, owned{deferring: 8}); got.waiting != want || got.underWay != "" {
			t.Errorf("%+v, want that %q", got, want)
		}
	}
	for name, all := range map[string][]socket{
		"the listener takes connections at once": {listener, half, there},
		"the client has not made it": {
			deferring, half, with(there, func(s *socket) { s.state = tcpSynSent })},
		"there is no listener any more": {half, there},
	} {
		if got := trafficOf(all, owned{deferring: 8}); got.waiting != "" || got.underWay == "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
	for name, all := range map[string][]socket{
		"half closed": {
			with(here, func(s *socket) { s.state = finWait2 }),
			with(there, func(s *socket) { s.state = closeWait }),
		},
		"orphaned": {with(here, func(s *socket) { s.state, s.inode, s.unread = finWait2, 0, 7 })},
		"closed":   {{state: tcpClose, unread: 7}},
		"none":     nil,
	} {
		if got := trafficOf(all, unknownOwners{}); got != (traffic{}) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestListens(t *testing.T) {
	everywhere := netip.MustParseAddrPort("0.0.0.0:80")
	six := netip.MustParseAddrPort("[::]:80")
	for _, test := range []struct {
		socket socket
		want   bool
	}{
		{socket{state: tcpListen, local: port(80)}, true},
		{socket{state: tcpListen, local: everywhere}, true},
		{socket{state: tcpListen, local: six}, true},
		{socket{state: tcpListen, local: port(81)}, false},
		{socket{state: tcpListen, local: netip.MustParseAddrPort("127.0.0.2:80")}, false},
		{socket{state: tcpEstablished, local: port(80)}, false},
	} {
		if got := listens([]socket{test.socket}, port(80)); got != test.want {
			t.Errorf("%+v: %t", test.socket, got)
		}
	}
}

// netlinkMessage is a message as the kernel sends it. TestSocketsThatMatter lists those that
// something can be under way to, and not one that is only bound.
func TestSocketsThatMatter(t *testing.T) {
	socket, err := socketIn(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	d := &sockDiag{fd: socket, loopback: loopback{-1, -1, -1}}
	defer d.close()
	open := func() int {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err == nil {
			err = unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(fd) })
		return fd
	}
	inode := func(fd int) uint32 {
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			t.Fatal(err)
		}
		return uint32(st.Ino)
	}
	bound, listening, connected := open(), open(), open()
	if err := unix.Listen(listening, 1); err != nil {
		t.Fatal(err)
	}
	at, err := unix.Getsockname(listening)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Connect(connected, at); err != nil {
		t.Fatal(err)
	}
	all, err := d.sockets()
	if err != nil {
		t.Fatal(err)
	}
	states := map[uint32]uint8{}
	for _, s := range all {
		states[s.inode] = s.state
	}
	if states[inode(listening)] != tcpListen || states[inode(connected)] != tcpEstablished {
		t.Errorf("states %v; %d listens, %d is connected", states, inode(listening), inode(connected))
	}
	if state, listed := states[inode(bound)]; listed {
		t.Errorf("a socket that is only bound is listed, in state %d", state)
	}
}

func netlinkMessage(kind uint16, body []byte) []byte {
	b := binary.NativeEndian.AppendUint32(nil, uint32(16+len(body)))
	b = binary.NativeEndian.AppendUint16(b, kind)
	return append(append(b, make([]byte, 10)...), body...)
}

func TestParseSockets(t *testing.T) {
	six := make([]byte, replySize)
	six[0], six[1] = unix.AF_INET6, tcpEstablished
	binary.BigEndian.PutUint16(six[4:], 80)
	binary.BigEndian.PutUint16(six[6:], 9)
	copy(six[8:], netip.MustParseAddr("::ffff:127.0.0.1").AsSlice())
	copy(six[24:], netip.MustParseAddr("::1").AsSlice())
	binary.NativeEndian.PutUint32(six[56:], 1)
	binary.NativeEndian.PutUint32(six[60:], 2)
	binary.NativeEndian.PutUint32(six[68:], 3)
	both := append(netlinkMessage(tcpDiagGetSock, six), netlinkMessage(unix.NLMSG_DONE, make([]byte, 4))...)
	all, done, err := parseSockets(both)
	want := socket{tcpEstablished, port(80), netip.MustParseAddrPort("[::1]:9"), 1, 2, 3}
	if err != nil || !done || len(all) != 1 || all[0] != want {
		t.Errorf("%+v, %t, %v", all, done, err)
	}
	refused := make([]byte, 20)
	errno := -int32(unix.EPERM)
	binary.NativeEndian.PutUint32(refused, uint32(errno))
	if _, _, err := parseSockets(netlinkMessage(unix.NLMSG_ERROR, refused)); !errors.Is(err, unix.EPERM) {
		t.Errorf("%v", err)
	}
	for _, bad := range [][]byte{
		netlinkMessage(7, nil), netlinkMessage(tcpDiagGetSock, six[:replySize-1]),
		both[:30], make([]byte, 16),
	} {
		if all, _, err := parseSockets(bad); err == nil {
			t.Errorf("%x is %+v", bad, all)
		}
	}
}

func FuzzParseSockets(f *testing.F) {
	f.Add(netlinkMessage(tcpDiagGetSock, make([]byte, replySize)))
	f.Add(netlinkMessage(unix.NLMSG_DONE, nil))
	f.Add(netlinkMessage(unix.NLMSG_ERROR, make([]byte, 4)))
	f.Fuzz(func(t *testing.T, b []byte) {
		all, _, _ := parseSockets(b)
		if len(all)*(16+replySize) > len(b) {
			t.Errorf("%d sockets in %d bytes", len(all), len(b))
		}
		trafficOf(all, unknownOwners{})
	})
}

// TestWhoWaitsForInput: the state S alone does not say that a thread has gone to sleep.
func TestWhoWaitsForInput(t *testing.T) {
	for _, test := range []struct {
		state   byte
		channel string
		want    bool
	}{
		{'S', "do_epoll_wait", true},
		{'S', "pipe_read", true},
		{'S', "0", false},
		{'R', "0", false},
		{'D', "folio_wait_bit_common", false},
		{'S', "hrtimer_nanosleep", true},
		{'S', "anon_pipe_write", false},
		{'T', "do_signal_stop", false},
	} {
		if got := waitsForInput(test.state, test.channel); got != test.want {
			t.Errorf("state %c, wait channel %s: waits for input %t", test.state, test.channel, got)
		}
	}
}

package tcprepair

import (
	"errors"
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/internal/sys/netns"
)

// connection makes both ends of a connection in a network of its own.
func connection(t *testing.T, windows [2]uint32) (pair [2]int) {
	t.Helper()
	network, err := netns.New()
	if err != nil {
		t.Fatal("this takes root: ", err)
	}
	defer network.Close()
	at := [2]netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:2000"),
		netip.MustParseAddrPort("127.0.0.1:3000")}
	pair = [2]int{-1, -1}
	err = netns.InFile(network, func() (err error) {
		for n := range pair {
			if pair[n], err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err != nil {
				return err
			}
			e := End{Domain: unix.AF_INET, Local: at[n], Remote: at[1-n], Windows: windows,
				Scales: [2]uint32{7, 7}}
			if err := e.Begin(pair[n], n); err != nil {
				return err
			}
		}
		return errors.Join(Finish(pair[0]), Finish(pair[1]))
	})
	t.Cleanup(func() { sys.CloseAll(pair[:]) })
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

// TestConnection: what is written to one end of a connection that nobody has made is read from the
// other, both ways.
func TestConnection(t *testing.T) {
	pair := connection(t, [2]uint32{65536, 65536})
	for n := range pair {
		if name, err := unix.Getpeername(pair[n]); err != nil ||
			AddressOf(name).Port() != uint16(3000-1000*n) {
			t.Errorf("end %d is connected to %v, %v", n, name, err)
		}
		if _, err := unix.Write(pair[n], []byte("hello")); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 10)
		if got, err := unix.Read(pair[1-n], b); err != nil || string(b[:max(got, 0)]) != "hello" {
			t.Errorf("end %d reads %q, %v", 1-n, b[:max(got, 0)], err)
		}
	}
}

// TestOpenWindow: the window is what it was set to, and the socket keeps its option.
func TestOpenWindow(t *testing.T) {
	fd := connection(t, [2]uint32{1, 65536})[0]
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
		t.Fatal(err)
	}
	const want = 40000
	if err := OpenWindow(fd, want); err != nil {
		t.Fatal(err)
	}
	info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil || info.Snd_wnd != want {
		t.Errorf("the window is %d, want %d; %v", info.Snd_wnd, want, err)
	}
	if reuse, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR); err != nil || reuse != 1 {
		t.Errorf("SO_REUSEADDR is %d, %v", reuse, err)
	}
}

func TestAddresses(t *testing.T) {
	for _, test := range []struct {
		domain     int
		text, want string
	}{
		{unix.AF_INET, "127.0.0.1:80", "127.0.0.1:80"},
		{unix.AF_INET, "[::ffff:127.0.0.1]:80", "127.0.0.1:80"},
		{unix.AF_INET6, "[::1]:80", "[::1]:80"}, {unix.AF_INET6, "127.0.0.1:80", "[::ffff:127.0.0.1]:80"},
	} {
		if got := AddressOf(SocketAddress(test.domain,
			netip.MustParseAddrPort(test.text))); got.String() != test.want {
			t.Errorf("%s in domain %d is %v, want %s", test.text, test.domain, got, test.want)
		}
	}
	if got := AddressOf(&unix.SockaddrUnix{Name: "/x"}); got != (netip.AddrPort{}) {
		t.Errorf("a Unix socket is at %v", got)
	}
}

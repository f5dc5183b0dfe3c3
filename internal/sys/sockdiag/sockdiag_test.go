//go:build amd64

package sockdiag

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys"
)

// TestUnixPeers asks for the other ends of sockets.
func TestUnixPeers(t *testing.T) {
	network, err := os.Open("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	defer network.Close()
	var pairs [2][2]int
	for n := range pairs {
		if pairs[n], err = unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err != nil {
			t.Fatal(err)
		}
		defer sys.CloseAll(pairs[n][:])
	}
	number := func(fd int) uint64 {
		i, err := sys.Inode(fd)
		if err != nil {
			t.Fatal(err)
		}
		return i
	}
	for _, p := range pairs {
		for end := range p {
			if peer, err := UnixPeer(network, number(p[end])); err != nil || peer != number(p[1-end]) {
				t.Errorf("the other end of %d is %d, want %d; %v", number(p[end]), peer, number(p[1-end]),
					err)
			}
		}
	}
	alone, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(alone)
	if err := unix.Shutdown(pairs[0][0], unix.SHUT_WR); err != nil {
		t.Fatal(err)
	}
	for fd, says := range map[int]string{alone: "it has no other end", pairs[0][0]: "it was shut down"} {
		if _, err := UnixPeer(network, number(fd)); err == nil || err.Error() != says {
			t.Errorf("%v, want %s", err, says)
		}
	}
	if _, err := UnixPeer(network, 1); err == nil {
		t.Error("a socket that there is not has an other end")
	}
}

func FuzzUnixPeer(f *testing.F) {
	f.Add([]byte("0000000000000000000000000000000000000000"))
	f.Add(append(append([]byte{44, 0, 0, 0, diagByFamily, 0}, make([]byte, 26)...), 8, 0, diagPeer, 0, 1, 2,
		0, 0))
	f.Fuzz(func(t *testing.T, b []byte) {
		if peer, err := parseUnixPeer(b); (peer == 0) == (err == nil) {
			t.Errorf("%x: peer %d, %v", b, peer, err)
		}
	})
}

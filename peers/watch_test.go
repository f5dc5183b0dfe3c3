package peers

import (
	"errors"
	"os"
	"os/exec"
	"testing"

	"github.com/tandem-mc/tandem/proxy"
)

// TestPeersThatAreGone: a peer that the kernel has reaped is the end of the group, before its proxy counts as dead. A client may be gone.
func TestPeersThatAreGone(t *testing.T) {
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		peer Peer
		want error
	}{{Peer{Name: "server"}, proxy.ErrDied}, {Peer{Name: "client", After: "listen 80"}, nil}} {
		w := &Watch{proxy: os.Getpid(), peers: []Process{{Peer: c.peer}}, hosts: []int{gone.Process.Pid}}
		if err := w.walk(func(_, _, _ int) error { return nil }); !errors.Is(err, c.want) {
			t.Errorf("%s is gone: %v, want %v", c.peer.Name, err, c.want)
		}
	}
}

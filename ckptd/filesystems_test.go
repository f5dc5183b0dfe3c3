package ckptd

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/testkit"
	"github.com/tandem-mc/tandem/peers"
)

// TestOtherFileSystems: a peer runs a program of a file system that is mounted below another one,
// and reads a file there and one that is bound there. It sees both again after a restore, and
// cannot write there.
func TestOtherFileSystems(t *testing.T) {
	outer := t.TempDir()
	inner := filepath.Join(outer, "inner")
	for _, at := range []string{outer, inner} {
		if err := os.MkdirAll(at, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := unix.Mount("tandem-test", at, "tmpfs", 0, "size=1m,mode=755"); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := unix.Unmount(at, unix.MNT_DETACH); err != nil {
				t.Error(err)
			}
		})
	}
	for name, content := range map[string]string{"file": "the machine's", "place": "", "source": "bound"} {
		testkit.WriteFile(t, filepath.Join(inner, name), content)
	}
	program := filepath.Join(inner, "program")
	text := "#!/bin/sh\ncat $1/file $1/place\ntrue 2>/dev/null >$1/file || echo ', read-only'" + forever
	if err := os.WriteFile(program, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	bothBackends(t, func(t *testing.T, c *Client) {
		group := shell("")
		group.Peers = []peers.Peer{{Name: "program", Command: []string{program, inner}}}
		group.Binds = map[string]string{filepath.Join(inner, "place"): filepath.Join(inner, "source")}
		g := start(t, c, group)
		const want = "the machine'sbound, read-only\n"
		testkit.Await(t, "the output is there", func() bool { return len(g.Output()) >= len(want) })
		if got := string(g.Output()); got != want {
			t.Fatalf("the peer prints %q, not %q", got, want)
		}
		image, err := g.Checkpoint(testContext(t))
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Restore(testContext(t), image.ID); err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]string{"file": "the machine's", "place": "bound"} {
			got, err := os.ReadFile(inside(g, filepath.Join(inner, name)))
			if err != nil || string(got) != want {
				t.Errorf("after a restore %s has %q: %v", name, got, err)
			}
		}
	})
}

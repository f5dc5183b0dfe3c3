package ckptd

import (
	"errors"
	"net/netip"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/wire"
	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/internal/testkit"
	"github.com/tandem-mc/tandem/peers"
)

// TestInterruptedAgain: threads that wait in calls which the kernel goes on with by another one,
// once a checkpoint has interrupted them, wait in the same calls after a restore from a later
// checkpoint.
func TestInterruptedAgain(t *testing.T) {
	program := filepath.Join(t.TempDir(), "waits")
	if out, err := exec.Command("cc", "-D_GNU_SOURCE", "-O1", "-Wall", "-o", program, "testdata/waits.c",
		"-lpthread").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	content := testkit.ReadFile(t, program)
	bothBackends(t, func(t *testing.T, c *Client) {
		g := start(t, c, peers.Group{
			Peers: []peers.Peer{{Name: "waits", Command: []string{"{scratch}/waits"},
				Listen: "127.0.0.1:7000"}},
			Files: []peers.File{{Path: "waits", Content: content, Mode: 0o755}},
		})
		talk := connectTo(t, g, netip.MustParseAddrPort("127.0.0.1:7000"))
		talk.listen()
		var images []string
		// of the second thread it is always the same call, of the first one from the second on
		for range 3 {
			if images = append(images, savedGroup(t, g)); len(images) == 1 {
				talk.wants("x", "x\n")
			}
		}
		for _, image := range images {
			if err := g.Restore(testContext(t), image); err != nil {
				t.Fatal(err)
			}
			talk.obtain()
			for _, request := range []string{"w", "y", "w"} {
				want := request + "\n"
				if request == "w" {
					want = "done\n"
				}
				talk.wants(request, want)
			}
			if written := g.Written(); len(written) != 1 || written[0] != "" {
				t.Errorf("restored from %s, it wrote %q", image, written)
			}
		}
	})
}

// wants asks, and compares what is answered.
func (c *conversation) wants(request, want string) {
	c.t.Helper()
	if got := c.ask(request); got != want {
		c.t.Errorf("%q is answered by %q, want %q", request, got, want)
	}
}

// TestUnreadWhenFrozen: the daemon looks for itself whether something is under way, when the peers
// are frozen.
func TestUnreadWhenFrozen(t *testing.T) {
	c := spawn(t, Options{Backend: BackendMemory})
	g := start(t, c, patientMerecat(t))
	talk := connectTo(t, g, merecatAddress)
	talk.listen()
	if _, err := unix.Write(talk.fd, []byte(get("/a.txt"))); err != nil {
		t.Fatal(err)
	}
	if n, err := sys.Poll([]unix.PollFd{{Fd: int32(talk.fd), Events: unix.POLLIN}}, 10_000); n != 1 {
		t.Fatalf("no answer: %v", err)
	}
	// as Checkpoint, which looks first
	_, err := c.call(testContext(t), wire.Request{Operation: wire.OpCheckpoint, Group: g.id}, nil)
	if !errors.Is(err, ErrNotQuiescent) {
		t.Errorf("a checkpoint with an answer that was not read: %v", err)
	}
	if answer := talk.listen(); answer == "" {
		t.Error("the answer is lost")
	}
	image := savedGroup(t, g)
	first := withoutDate(talk.ask(get("/b.txt")))
	if err := g.Restore(testContext(t), image); err != nil {
		t.Fatal(err)
	}
	talk.obtain()
	if again := withoutDate(talk.ask(get("/b.txt"))); again != first {
		t.Errorf("%q, and after a restore %q", first, again)
	}
}

package ckptd

import (
	"fmt"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/peers"
)

// TestCallsThatPeersDoNotGet: io_uring and asynchronous I/O are not there, before a restore and
// after it, for every user, and whether or not random numbers are refused, too.
func TestCallsThatPeersDoNotGet(t *testing.T) {
	bothBackends(t, func(t *testing.T, c *Client) {
		for choices := range 2 {
			group := ownProgram(t, "refused")
			group.Peers[0].Choices = choices
			askForRefused(t, c, group)
		}
	})
	t.Run("another user", func(t *testing.T) {
		group := ownProgram(t, "refused")
		group.Peers[0].User = "nobody"
		askForRefused(t, spawn(t, Options{Backend: BackendMemory}), group)
	})
}

func askForRefused(t *testing.T, c *Client, group peers.Group) {
	t.Helper()
	g := start(t, c, group)
	talk := connectTo(t, g, ownAddress)
	checkRefused(t, talk.ask("a\n"), 1)
	if err := g.Quiesce(testContext(t), nil); err != nil {
		t.Fatal(err)
	}
	image := savedGroup(t, g)
	checkRefused(t, talk.ask("b\n"), 2)
	if err := g.Restore(testContext(t), image); err != nil {
		t.Fatal(err)
	}
	talk.obtain()
	checkRefused(t, talk.ask("c\n"), 2)
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
}

func checkRefused(t *testing.T, got string, line int) {
	t.Helper()
	const none = unix.ENOSYS
	want := fmt.Sprintf(
		"%d: io_uring_setup %d, io_uring_enter %d, io_uring_register %d, io_setup %d, getpid 0\n", line, none,
		none, none, none)
	if got != want {
		t.Errorf("the peer says %q, not %q", got, want)
	}
}

package proxy

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/testkit"
)

// TestKnownSockets: a descriptor that the client was told of is handed out once, without a word to
// the proxy, and is closed where nobody wants it.
func TestKnownSockets(t *testing.T) {
	before := testkit.OpenFiles(t)
	ours, theirs := testkit.SocketPair(t)
	duplicate := func() int { return testkit.Duplicate(t, theirs) }
	c, err := NewClient(os.NewFile(uintptr(testkit.Duplicate(t, ours)), "channel"), nil)
	if err != nil {
		t.Fatal(err)
	}
	first, second, third := duplicate(), duplicate(), duplicate()
	c.Know(1, first)
	c.Know(2, second)
	c.Know(3, third)
	if fd, err := c.CreateSocket(t.Context(), 1); err != nil || fd != first {
		t.Errorf("descriptor %d, want %d; %v", fd, first, err)
	}
	unix.Close(first)
	c.forget(2)
	if _, ok := c.takeKnown(2); ok {
		t.Error("what was forgotten is known")
	}
	unix.Shutdown(theirs, unix.SHUT_RDWR) // the proxy has ended
	if _, err := c.CreateSocket(t.Context(), 3); !errors.Is(err, ErrDied) {
		t.Errorf("a socket of a proxy that has ended: %v", err)
	}
	c.Disconnect() // closes the third
	c.Know(4, duplicate())
	if after := testkit.OpenFiles(t); after != before+2 {
		t.Errorf("%d descriptors are open, before there were %d", after, before)
	}
}

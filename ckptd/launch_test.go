package ckptd

import (
	"context"
	"errors"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/wire"
	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/internal/testkit"
)

// requests are how many a client has sent, and for how many replies it waits.
func (c *Client) requests() (sent uint32, waiting int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sequence, len(c.pending)
}

// TestCancelledStarts: of a start that was given up nothing is left, though the daemon goes on with
// it.
func TestCancelledStarts(t *testing.T) {
	c := spawn(t, Options{Backend: BackendMemory})
	before := testkit.OpenFiles(t)
	const starts = 5
	for range 3 {
		// so that it cannot have answered before
		if err := unix.Kill(c.pid, unix.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		defer unix.Kill(c.pid, unix.SIGCONT)
		testkit.Await(t, "the daemon has stopped", func() bool {
			return strings.Contains(
				describeThreads(c.pid), "state T")
		})
		already, _ := c.requests()
		for range starts {
			cancelStart(t, c)
		}
		if err := unix.Kill(c.pid, unix.SIGCONT); err != nil {
			t.Fatal(err)
		}
		testkit.Await(t, "each group was closed", func() bool {
			sent, waiting := c.requests()
			return sent == already+2*starts && waiting == 0
		})
		if s, err := c.Status(testContext(t)); err != nil || len(s.Groups) > 0 {
			t.Errorf("there are groups %+v, %v", s.Groups, err)
		}
		if left := find("merecat -n"); len(left) > 0 {
			t.Errorf("of groups that were closed there are processes %v", left)
		}
	}
	testkit.Await(t, "no descriptor is left", func() bool { return testkit.OpenFiles(t) <= before })
}

// cancelStart cancels a start when the daemon, which does not answer, was asked for it.
func cancelStart(t *testing.T, c *Client) {
	t.Helper()
	ctx, cancel := context.WithCancel(testContext(t))
	defer cancel()
	result := make(chan error, 1)
	go func() {
		_, err := c.Start(ctx, merecat())
		result <- err
	}()
	testkit.Await(t, "the daemon was asked", func() bool { _, waiting := c.requests(); return waiting > 0 })
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) ||
		!strings.Contains(err.Error(), "no reply from the checkpoint daemon to start") {
		t.Errorf("a start that was cancelled: %v", err)
	}
}

// TestClientClosedDuringStart: a group whose start is answered as the client is closed is given up.
func TestClientClosedDuringStart(t *testing.T) {
	daemon := spawn(t, Options{})
	before := testkit.OpenFiles(t)
	ours, theirs := testkit.SocketPair(t) // between the client and the daemon is the test
	c := newClient(ours, Options{})
	go c.readReplies()
	result := make(chan error)
	go func() {
		_, err := c.Start(testContext(t), merecat())
		result <- err
	}()
	message, spec, err := wire.Receive(theirs)
	if err != nil {
		t.Fatal(err)
	}
	var r wire.Request
	sequence, err := wire.Decode(message, wire.RequestKind, &r)
	if err != nil {
		t.Fatal(err)
	}
	a, err := daemon.call(testContext(t), r, spec)
	sys.CloseAll(spec)
	if err != nil {
		t.Fatal(err)
	}
	c.mu.Lock() // which the reader of the reply needs
	wire.Reply(theirs, sequence, a.Response, a.Descriptors)
	c.closed, c.groups = true, nil // as Close does first
	c.mu.Unlock()
	sys.CloseAll(a.Descriptors)
	if err := <-result; !errors.Is(err, errClosed) {
		t.Errorf("a start as the client was closed: %v", err)
	}
	if _, err := daemon.call(testContext(t), wire.Request{Operation: wire.OpClose, Group: a.Group},
		nil); err != nil {
		t.Error(err)
	}
	testkit.Await(t, "no descriptor is left", func() bool { return testkit.OpenFiles(t) <= before+2 })
}

package ckptd

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/daemon"
	"github.com/tandem-mc/tandem/ckptd/internal/wire"
	"github.com/tandem-mc/tandem/internal/testkit"
)

// TestDaemonGivesUpBeforeTheChecker has enough of a margin for the reply, if that is a matter of
// seconds.
func TestDaemonGivesUpBeforeTheChecker(t *testing.T) {
	for left := closeTimeout; left < time.Hour; left *= 2 {
		r := wire.Request{TimeoutMillis: (left - wire.MarginOf(left)).Milliseconds()}
		if patience := wire.Deadline(r); patience+daemon.Grace >= left {
			t.Errorf("of %v the daemon takes %v and %v", left, patience, daemon.Grace)
		}
	}
	if wire.Deadline(wire.Request{}) != wire.DefaultTimeout ||
		wire.Deadline(wire.Request{TimeoutMillis: 1e9}) != wire.DefaultTimeout {
		t.Error("a request may take longer than the daemon allows")
	}
}

// TestSilentDaemon: of a daemon that says nothing at all, it is said what its threads do.
func TestSilentDaemon(t *testing.T) {
	c := spawn(t, Options{})
	if err := unix.Kill(c.pid, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer unix.Kill(c.pid, unix.SIGCONT)
	testkit.Await(t, "the daemon has stopped", func() bool {
		return strings.Contains(describeThreads(c.pid),
			"state T")
	})
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	_, err := c.Status(ctx)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "in state T, wchan ") {
		t.Errorf("the daemon is stopped: %v", err)
	}
	if err := unix.Kill(c.pid, unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Status(testContext(t)); err != nil {
		t.Errorf("the daemon goes on: %v", err)
	}
}

package watch

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/proxy"
)

// waiter makes connections to a peer and reads from them.
type waiter struct {
	t     *testing.T
	watch *Watch
	proxy *proxy.Client
	fds   []int
	got   []*strings.Builder
}

func (w *waiter) connect() {
	w.t.Helper()
	id := proxy.ID(len(w.fds) + 1)
	fd, err := w.proxy.CreateSocket(testContext(w.t), id)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { unix.Close(fd) })
	if err := w.proxy.Connect(testContext(w.t), id, testAddress); err != nil {
		w.t.Fatal(err)
	}
	w.fds, w.got = append(w.fds, fd), append(w.got, &strings.Builder{})
}

// quiesce waits for the group to be quiescent, which is to take nowhere near the time that tests
// have, and compares what has come on each connection so far, and what waits.
func (w *waiter) quiesce(waiting string, want ...string) {
	w.t.Helper()
	began := time.Now()
	err := w.watch.Quiesce(testContext(w.t), func() (progress bool, err error) {
		for i, fd := range w.fds {
			p, err := drainer(fd, w.got[i])()
			if progress = progress || p; err != nil {
				return progress, err
			}
		}
		return progress, nil
	})
	if err != nil {
		w.t.Fatalf("after %v: %v", time.Since(began), err)
	}
	for i := range want {
		if got := w.got[i].String(); got != want[i] {
			w.t.Fatalf("when the group was quiescent, there was %q on connection %d, want %q",
				got, i, want[i])
		}
	}
	moves, waits, err := w.watch.InFlight()
	if err != nil || moves != "" || !strings.HasPrefix(waits, waiting) || waiting == "" && waits != "" {
		w.t.Fatalf("under way: %q; waiting: %q, want %q; %v", moves, waits, waiting, err)
	}
}

func waitFor(t *testing.T, run runner, role string) *waiter {
	w, c := run(t, role)
	if err := w.Ready(testContext(t)); err != nil {
		t.Fatal(err)
	}
	return &waiter{t: t, watch: w, proxy: c}
}

// TestConnectionThatNobodyAccepts: a server that works off one client before the next is
// quiescent while a connection is in its backlog, and accepts it later.
func TestConnectionThatNobodyAccepts(t *testing.T) { bothMethods(t, connectionThatNobodyAccepts) }

func connectionThatNobodyAccepts(t *testing.T, run runner) {
	const inBacklog = "1 connections to 127.0.0.1:2000 wait to be accepted"
	w := waitFor(t, run, "one at a time")
	w.connect()
	w.quiesce("", "hello")
	w.connect()
	w.quiesce(inBacklog, "hello", "")
	send(t, w.fds[1], 'x')
	w.quiesce(inBacklog, "hello", "")
	send(t, w.fds[0], 'x')
	w.quiesce(inBacklog, "hellodone", "")
	if err := unix.Shutdown(w.fds[0], unix.SHUT_WR); err != nil {
		t.Fatal(err)
	}
	w.quiesce("", "hellodone", "hellodone")
	w.connect()
	w.quiesce(inBacklog, "hellodone", "hellodone", "")
}

// TestWhatNobodyReads: data, and the end of a stream, that nobody reads, and connections that
// nobody ever accepts.
func TestWhatNobodyReads(t *testing.T) { bothMethods(t, whatNobodyReads) }

func whatNobodyReads(t *testing.T, run runner) {
	w := waitFor(t, run, "deaf")
	w.connect()
	w.quiesce("", "")
	send(t, w.fds[0], 'x')
	w.quiesce("1 bytes from 127.0.0.1:", "")
	if err := unix.Shutdown(w.fds[0], unix.SHUT_WR); err != nil {
		t.Fatal(err)
	}
	w.quiesce("2 bytes from 127.0.0.1:", "") // the end counts as one

	w = waitFor(t, run, "closed")
	for n := 1; n <= 3; n++ {
		w.connect()
		w.quiesce(fmt.Sprintf("%d connections to 127.0.0.1:2000 wait to be accepted", n))
	}
}

// TestDeferredAccept: with TCP_DEFER_ACCEPT a connection is half made until there are data, or
// its end.
func TestDeferredAccept(t *testing.T) { bothMethods(t, deferredAccept) }

func deferredAccept(t *testing.T, run runner) {
	const half = "the connection from 127.0.0.1:"
	w := waitFor(t, run, "deferring")
	w.connect()
	w.quiesce(half, "")
	w.connect()
	w.quiesce(half, "", "")
	send(t, w.fds[0], 'x')
	w.quiesce(half, "hellodone", "")
	if err := unix.Shutdown(w.fds[1], unix.SHUT_WR); err != nil {
		t.Fatal(err)
	}
	w.quiesce("", "hellodone", "hello")
}

// TestNothingIsTakenAfterQuiescence: a server that accepts at once has done so, and has greeted,
// whenever the group is quiescent, however often that is tried.
func TestNothingIsTakenAfterQuiescence(t *testing.T) { bothMethods(t, nothingIsTakenAfterQuiescence) }

func nothingIsTakenAfterQuiescence(t *testing.T, run runner) {
	w := waitFor(t, run, "greeter")
	for n := range 25 {
		w.connect()
		w.quiesce("")
		send(t, w.fds[n], 'x')
		w.quiesce("")
		if got := w.got[n].String(); got != "hellodone" {
			t.Fatalf("round %d: %q", n, got)
		}
	}
}

// TestFlushLoopback: it can be done at any time, by several at once.
func TestFlushLoopback(t *testing.T) {
	results := make(chan error)
	for range 8 {
		go func() {
			var err error
			for range 20 {
				if err == nil {
					err = flushLoopback()
				}
			}
			results <- err
		}()
	}
	for range 8 {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
}

func BenchmarkFlushLoopback(b *testing.B) {
	for b.Loop() {
		if err := flushLoopback(); err != nil {
			b.Fatal(err)
		}
	}
}

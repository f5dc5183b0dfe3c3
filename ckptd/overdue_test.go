package ckptd

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/testkit"
)

// TestDaemonGivesUpFirst: a request that takes too long is answered all the same, once, with what it waits for.
func TestDaemonGivesUpFirst(t *testing.T) {
	nothing := func() (int64, error) { return 0, nil }
	d := &daemon{store: &store{used: nothing, free: nothing}, groups: map[uint64]*hosted{}}
	d.mu.Lock()
	replies, ended := make(chan reply, 2), make(chan struct{})
	r := request{Operation: operationStatus, TimeoutMillis: 1}
	go func() {
		defer close(ended)
		d.inTime(r, func() (reply, []int) { return d.handle(r, nil) }, func(answer reply, _ []int) bool { replies <- answer; return true })
	}()
	got := (<-replies).Error
	for _, want := range []string{"gives up after 1ms (status of group 0)", "(*daemon).status < (*daemon).handle", "sync.Mutex.Lock"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
	d.mu.Unlock()
	<-ended
	if len(replies) > 0 {
		t.Errorf("it is answered again: %+v", <-replies)
	}
}

// TestAnswerInTime is that of the request itself, with its descriptors, which are closed then.
func TestAnswerInTime(t *testing.T) {
	before := openFiles(t)
	file, err := memoryJSON("x")
	if err != nil {
		t.Fatal(err)
	}
	var got []int
	new(daemon).inTime(request{Operation: operationStatus}, func() (reply, []int) { return reply{Image: "i"}, []int{file} }, func(r reply, given []int) bool {
		if got = given; r.Image != "i" {
			t.Errorf("%+v", r)
		}
		return true
	})
	if len(got) != 1 || got[0] != file {
		t.Errorf("descriptors %v, not %d", got, file)
	}
	if after := openFiles(t); after != before {
		t.Errorf("%d descriptors are open, before there were %d", after, before)
	}
}

// TestDaemonGivesUpBeforeTheChecker has enough of a margin for the reply, if that is a matter of seconds.
func TestDaemonGivesUpBeforeTheChecker(t *testing.T) {
	for left := closeTimeout; left < time.Hour; left *= 2 {
		r := request{TimeoutMillis: (left - marginOf(left)).Milliseconds()}
		if patience := patienceFor(r); patience+grace >= left {
			t.Errorf("of %v the daemon takes %v and %v", left, patience, grace)
		}
	}
	if patienceFor(request{}) != defaultTimeout || patienceFor(request{TimeoutMillis: 1e9}) != defaultTimeout {
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
	testkit.Await(t, "the daemon has stopped", func() bool { return strings.Contains(describeThreads(c.pid), "state T") })
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

// TestDescriptorsThatCannotBeSent: the checker is told so, and does not wait for ever.
func TestDescriptorsThatCannotBeSent(t *testing.T) {
	checkReplaced(t, reply{Image: "i"}, []int{-1}, "send 1 descriptors: bad file descriptor")
}

// TestReplyThatCannotBeEncoded is an error for the checker, and not the end of all groups.
func TestReplyThatCannotBeEncoded(t *testing.T) {
	checkReplaced(t, reply{Refusal: strings.Repeat("\x01", maxMessage/4)}, nil, "encode the reply: a message of 98")
}

// checkReplaced sends a reply that cannot be sent, and looks at the error that is sent in its place.
func checkReplaced(t *testing.T, r reply, descriptors []int, want string) {
	t.Helper()
	a, b := socketPair(t)
	if send(a, 7, r, descriptors) {
		t.Error("it was sent")
	}
	message, got, err := receiveMessage(b)
	var instead reply
	var sequence uint32
	if err == nil {
		sequence, err = decodeMessage(message, replyKind, &instead)
	}
	if err != nil || sequence != 7 || len(got) > 0 || !strings.Contains(instead.Error, want) {
		t.Errorf("%d: %+v with descriptors %v, %v", sequence, instead, got, err)
	}
}

// TestStartThatNobodyWaitsFor: where the checker was not told that its group runs, the daemon closes it.
func TestStartThatNobodyWaitsFor(t *testing.T) {
	for name, late := range map[string]bool{"given up": true, "not sent": false} {
		t.Run(name, func(t *testing.T) {
			d := &daemon{store: &store{}, groups: map[uint64]*hosted{}}
			h := &hosted{daemon: d, id: 7, channel: -1, directory: t.TempDir()}
			d.groups[h.id] = h
			given := make(chan bool)
			answers := 0
			d.inTime(request{Operation: operationStart, TimeoutMillis: 1}, func() (reply, []int) {
				if late {
					<-given // up
				}
				return reply{Group: h.id}, nil
			}, func(r reply, _ []int) bool {
				if answers++; late {
					close(given)
				}
				return false
			})
			if answers != 1 || len(d.groups) != 0 || h.down == nil {
				t.Errorf("after %d answers there are %d groups, and this one is down: %v", answers, len(d.groups), h.down)
			}
		})
	}
}

// TestEmptyMessageIsTheEnd: descriptors that come with it are not kept.
func TestEmptyMessageIsTheEnd(t *testing.T) {
	a, b := socketPair(t)
	before := openFiles(t)
	rights := unix.UnixRights(a, b)
	h := unix.Msghdr{Control: &rights[0]}
	h.SetControllen(len(rights))
	if _, _, errno := unix.Syscall(unix.SYS_SENDMSG, uintptr(a), uintptr(unsafe.Pointer(&h)), 0); errno != 0 { // unix.Sendmsg would add a byte
		t.Fatal(errno)
	}
	if _, _, err := receiveMessage(b); err != io.EOF {
		t.Errorf("an empty message: %v", err)
	}
	if after := openFiles(t); after != before {
		t.Errorf("%d descriptors are open, before there were %d", after, before)
	}
}

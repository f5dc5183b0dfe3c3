package seqpacket

import (
	"errors"
	"io"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys"
)

func pair(t *testing.T) (a, b int) {
	t.Helper()
	p, err := Pair()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sys.CloseAll(p[:]) })
	return p[0], p[1]
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// TestMessages: a message arrives as it was sent, with copies of descriptors that programs do not
// inherit.
func TestMessages(t *testing.T) {
	a, b := pair(t)
	for _, count := range []int{0, 1, 5, MaxDescriptors} {
		sent := make([]int, count)
		for n := range sent {
			sent[n] = a
		}
		if err := Send(a, []byte("hello"), sent); err != nil {
			t.Fatal(err)
		}
		if size, err := NextSize(b); err != nil || size != 5 {
			t.Errorf("the next message has %d bytes, %v", size, err)
		}
		buffer := make([]byte, 10)
		size, got, err := Receive(b, buffer, max(count, 1), 0)
		if err != nil || string(buffer[:size]) != "hello" || len(got) != count {
			t.Errorf("%q, %v, %v; want %d descriptors", buffer[:size], got, err, count)
		}
		for _, fd := range got {
			if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil ||
				flags&unix.FD_CLOEXEC == 0 {
				t.Fatalf("descriptor %d has the flags %#x, %v", fd, flags, err)
			}
		}
		sys.CloseAll(got)
	}
	if err := Send(a, []byte("hello"), make([]int, MaxDescriptors+1)); err == nil {
		t.Error("more descriptors were sent than the kernel sends")
	}
}

// TestErrors: after an error no descriptor stays open.
func TestErrors(t *testing.T) {
	a, b := pair(t)
	before := openFiles(t)
	for _, test := range []struct {
		size, descriptors, most int
		want                    error
	}{
		{size: 11, descriptors: 1, most: 1, want: ErrTooLong},
		{size: 5, descriptors: 4, most: 1, want: ErrLost},
		// for which there may be room all the same
		{size: 5, descriptors: 2, most: 1, want: ErrLost},
		{size: 5, descriptors: 1, most: 0, want: ErrLost},
	} {
		fds := make([]int, test.descriptors)
		for n := range fds {
			fds[n] = a
		}
		if err := Send(a, make([]byte, test.size), fds); err != nil {
			t.Fatal(err)
		}
		if _, _, err := Receive(b, make([]byte, 10), test.most, 0); !errors.Is(err, test.want) {
			t.Errorf("%+v: %v", test, err)
		}
	}
	if _, _, err := Receive(b, make([]byte, 10), 1, unix.MSG_DONTWAIT); err != unix.EAGAIN {
		t.Errorf("where there is no message: %v", err)
	}
	if after := openFiles(t); after != before {
		t.Errorf("%d descriptors are open, before there were %d", after, before)
	}
	unix.Shutdown(a, unix.SHUT_RDWR)
	if _, _, err := Receive(b, make([]byte, 10), 1, 0); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
	if size, err := NextSize(b); size != 0 || err != nil && err != io.EOF {
		t.Errorf("at the end the next message has %d bytes, %v", size, err)
	}
	if err := Send(b, []byte("x"), nil); err != unix.EPIPE {
		t.Errorf("to nobody: %v", err)
	}
}

func FuzzDescriptors(f *testing.F) {
	f.Add(unix.UnixRights(100_000, 100_001))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		if all, _ := Descriptors(b); 4*len(all) > len(b) {
			t.Errorf("%d descriptors in %d bytes", len(all), len(b))
		}
	})
}

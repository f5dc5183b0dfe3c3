package testkit

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/internal/sys/seqpacket"
)

// OpenFiles is how many descriptors this process has open: a test compares it before and after.
func OpenFiles(t testing.TB) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// Duplicate makes a copy of a descriptor, which the test closes or hands on.
func Duplicate(t testing.TB, fd int) int {
	t.Helper()
	d, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// SocketPair makes a pair of sockets that keep the bounds of messages, for the time of the test.
func SocketPair(t testing.TB) (a, b int) {
	t.Helper()
	pair, err := seqpacket.Pair()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sys.CloseAll(pair[:]) })
	return pair[0], pair[1]
}

package testkit

import (
	"os"
	"testing"

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

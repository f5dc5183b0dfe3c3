package osthread

import (
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestOnThreadKeepsTheFirstThread: the namespaces of the first thread are those that
// /proc shows for the process.
func TestOnThreadKeepsTheFirstThread(t *testing.T) {
	before, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	for range 50 {
		if err := Run(func() error { return unix.Unshare(unix.CLONE_NEWNET) }); err != nil {
			t.Fatal(err)
		}
	}
	if after, err := os.Readlink("/proc/self/ns/net"); err != nil || after != before {
		t.Errorf("the network namespace is now %s, %v; it was %s", after, err, before)
	}
	if err := Run(func() error { return syscall.EIO }); err != syscall.EIO {
		t.Errorf("%v", err)
	}
}

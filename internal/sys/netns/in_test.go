package netns

import (
	"os"
	"runtime"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys/osthread"
)

// TestInNetwork: what it runs is in the namespace, and the thread is where it was when that is
// done, or has failed.
func TestInNetwork(t *testing.T) {
	var other int
	err := osthread.Run(func() (err error) {
		if err = unix.Unshare(unix.CLONE_NEWNET); err == nil {
			other, err = unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(other)
	network := func() string {
		name, err := os.Readlink("/proc/thread-self/ns/net")
		if err != nil {
			t.Error(err)
		}
		return name
	}
	var wait sync.WaitGroup
	for range 20 { // whatever the threads
		wait.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			home, inside := network(), ""
			if err := In(other, func() error { inside = network(); return syscall.EIO }); err != syscall.EIO {
				t.Error(err)
			}
			if now := network(); inside == home || now != home {
				t.Errorf("from %s to %s, and back to %s", home, inside, now)
			}
			if err := In(-1, func() error { t.Error("it was run elsewhere"); return nil }); err == nil ||
				network() != home {
				t.Errorf("%v, then in %s", err, network())
			}
		})
	}
	wait.Wait()
}

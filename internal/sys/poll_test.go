package sys_test

import (
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/internal/testkit"
)

// TestPollGoesOn: a signal that reaches the waiting thread does not end the wait.
func TestPollGoesOn(t *testing.T) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, unix.SIGUSR1)
	t.Cleanup(func() { signal.Stop(signals) })
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	set := []unix.PollFd{{Fd: int32(r.Fd()), Events: unix.POLLIN}}
	thread, ended := make(chan int, 1), make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		thread <- unix.Gettid()
		n, err := sys.Poll(set, -1)
		if err == nil && n != 1 {
			t.Errorf("%d descriptors are ready, not 1", n)
		}
		ended <- err
	}()
	tid := <-thread
	testkit.Await(t, "the thread waits", func() bool {
		text, err := os.ReadFile("/proc/self/task/" + strconv.Itoa(tid) + "/stat")
		return err == nil && strings.Contains(string(text), ") S ")
	})
	if err := unix.Tgkill(os.Getpid(), tid, unix.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	<-signals
	if _, err := w.Write([]byte{0}); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("the wait ends with %v", err)
	}
}

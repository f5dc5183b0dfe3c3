package ckptd

import (
	"os"
	"os/exec"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys/procfs"
	"github.com/tandem-mc/tandem/internal/testkit"
)

// TestHasEnded: a process goes on without its first thread, whose state is then that of a process
// that has ended.
func TestHasEnded(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVariable+"=headless")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	testkit.Await(t, "the end of its first thread", func() bool { return !procfs.IsAlive(cmd.Process.Pid) })
	if procfs.HasEnded(cmd.Process.Pid) {
		t.Error("it is said to have ended with its first thread")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	testkit.Await(t, "its end", func() bool { return procfs.HasEnded(cmd.Process.Pid) })
}

// endFirstThread ends the process's first thread, and no other one.
func endFirstThread() {
	const most = 100
	// each goroutine has a thread to itself, and one of them the first one, which is idle like
	// others
	for range most {
		go func() {
			runtime.LockOSThread()
			if unix.Gettid() == os.Getpid() {
				unix.Syscall(unix.SYS_EXIT, 0, 0, 0)
			}
			select {}
		}()
	}
	select {}
}

package ckptd

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestDeadChild(t *testing.T) {
	cmd := exec.Command("sleep", "100")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waited := false
	defer func() {
		if !waited {
			cmd.Wait()
		}
	}()
	if dead := deadChild(os.Getpid()); dead != "" {
		t.Errorf("%s is said to be dead", dead)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for limit := time.Now().Add(10 * time.Second); !strings.Contains(deadChild(os.Getpid()), "sleep"); {
		if time.Now().After(limit) {
			t.Fatal("a killed child is not seen to be dead")
		}
	}
	cmd.Wait()
	waited = true
	if dead := deadChild(os.Getpid()); dead != "" {
		t.Errorf("%s is said to be dead after it was waited for", dead)
	}
}

// TestHasEnded: a process goes on without its first thread, whose state is then that of a process that has ended.
func TestHasEnded(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVariable+"=headless")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	await(t, "the end of its first thread", func() bool { return !isAlive(cmd.Process.Pid) })
	if hasEnded(cmd.Process.Pid) {
		t.Error("it is said to have ended with its first thread")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	await(t, "its end", func() bool { return hasEnded(cmd.Process.Pid) })
}

// endFirstThread ends the process's first thread, and no other one.
func endFirstThread() {
	const most = 100
	for range most { // each goroutine has a thread to itself, and one of them the first one, which is idle like others
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

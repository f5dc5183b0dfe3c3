//go:build amd64

package ptrace

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/testkit"
)

// crowdRole has this program be a process of several threads that wait.
const crowdRole = "TEST_CROWD"

func TestMain(m *testing.M) {
	if os.Getenv(crowdRole) == "" {
		os.Exit(m.Run())
	}
	for range 5 {
		go func() {
			runtime.LockOSThread()
			time.Sleep(time.Hour)
		}()
	}
	time.Sleep(time.Hour)
}

// start starts a program, and returns its process ID. The thread of the test is the only one that
// may trace it.
func start(t *testing.T, c *exec.Cmd) int {
	t.Helper()
	runtime.LockOSThread() // it ends with the test
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Process.Kill()
		c.Wait() // unless the test has waited for it
	})
	return c.Process.Pid
}

// stopped starts a program of one thread, and returns it traced, when it sleeps and was stopped.
func stopped(t *testing.T) int {
	t.Helper()
	pid := start(t, exec.Command("sleep", "1000"))
	testkit.Await(t, "a program that sleeps", func() bool {
		call, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/syscall")
		return bytes.HasPrefix(call, []byte(strconv.Itoa(unix.SYS_CLOCK_NANOSLEEP)+" "))
	})
	if err := errors.Join(Seize(pid), AwaitInterrupt(pid)); err != nil {
		t.Fatal(err)
	}
	return pid
}

// TestStateOfAThread: what is written to a stopped thread is read again, and it sleeps on
// afterwards as if nothing had been.
func TestStateOfAThread(t *testing.T) {
	pid := stopped(t)
	before, err := Registers(pid)
	if err != nil {
		t.Fatal(err)
	}
	changed := before
	changed.R15 ^= 0xabc
	if err := SetRegisters(pid, changed); err != nil {
		t.Fatal(err)
	}
	if now, err := Registers(pid); err != nil || now != changed {
		t.Errorf("registers %+v, want %+v: %v", now, changed, err)
	}
	mask, err := SignalMask(pid)
	if err != nil {
		t.Fatal(err)
	}
	all := ^uint64(0) &^ (1<<(unix.SIGKILL-1) | 1<<(unix.SIGSTOP-1))
	if err := SetSignalMask(pid, ^uint64(0)); err != nil {
		t.Fatal(err)
	}
	if now, err := SignalMask(pid); err != nil || now != all {
		t.Errorf("signals %#x are blocked, want %#x: %v", now, all, err)
	}
	vector := make([]byte, MaxXstate)
	n, err := RegisterSet(pid, NtX86Xstate, vector)
	if err != nil || n < 512 || n > MaxXstate { // 512 is the size of the area of FXSAVE
		t.Errorf("%d bytes of vector registers: %v", n, err)
	}
	if err := errors.Join(SetRegisterSet(pid, NtX86Xstate, vector[:n]), SetRegisters(pid, before),
		SetSignalMask(pid, mask), Detach(pid)); err != nil {
		t.Fatal(err)
	}
	testkit.Await(t, "that it sleeps on", func() bool {
		call, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/syscall")
		return bytes.HasPrefix(call, []byte(strconv.Itoa(unix.SYS_RESTART_SYSCALL)+" "))
	})
}

// TestPendingSignals: those of the thread show, and those of its process. To look takes none.
func TestPendingSignals(t *testing.T) {
	for name, send := range map[string]func(pid int) error{
		"thread":  func(pid int) error { return unix.Tgkill(pid, pid, unix.SIGUSR1) },
		"process": func(pid int) error { return unix.Kill(pid, unix.SIGUSR1) },
	} {
		t.Run(name, func(t *testing.T) {
			pid := stopped(t)
			if waits, err := HasPendingSignals(pid); waits || err != nil {
				t.Errorf("before there was one: %t, %v", waits, err)
			}
			if err := send(pid); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if waits, err := HasPendingSignals(pid); !waits || err != nil {
					t.Errorf("with one: %t, %v", waits, err)
				}
			}
		})
	}
}

// TestMemoryOfAProcess reads and writes several pieces at once.
func TestMemoryOfAProcess(t *testing.T) {
	pid := stopped(t)
	registers, err := Registers(pid)
	if err != nil {
		t.Fatal(err)
	}
	below := registers.Rsp - 4096 // unused, but for the red zone
	first := Piece{below, []byte("first")}
	second := Piece{below + 64, []byte("second")}
	if err := WriteMemory(pid, first, Piece{}, second); err != nil {
		t.Fatal(err)
	}
	got := []Piece{{second.Address, make([]byte, 6)}, {first.Address, make([]byte, 5)}}
	if err := ReadMemory(pid, got...); err != nil || string(got[0].Content) != "second" ||
		string(got[1].Content) != "first" {
		t.Errorf("read %q and %q: %v", got[0].Content, got[1].Content, err)
	}
	if err := ReadMemory(pid, first, Piece{8, make([]byte, 8)}); !errors.Is(err, unix.EFAULT) {
		t.Errorf("a piece that there is not: %v", err)
	}
	if err := ReadMemory(pid); err != nil {
		t.Errorf("nothing at all: %v", err)
	}
}

// TestRobustList: the C library says to the kernel where it is, and how long its head.
func TestRobustList(t *testing.T) {
	pid := stopped(t)
	list, err := RobustList(pid)
	if err != nil || list[0] == 0 || list[1] != 3*uint64(unsafe.Sizeof(uintptr(0))) {
		t.Errorf("%#x: %v", list, err)
	}
	if area, err := Rseq(pid); err != nil || area.Address != 0 && area.Size == 0 {
		t.Errorf("%+v: %v", area, err)
	}
}

// TestEndInPlaceOfAStop: a thread that ends is not taken for one that has stopped.
func TestEndInPlaceOfAStop(t *testing.T) {
	pid := stopped(t)
	if err := unix.Kill(pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if _, err := AwaitStop(pid); err == nil || !strings.Contains(err.Error(), "ended") {
		t.Errorf("wait for one that was killed: %v", err)
	}
	if err := Seize(pid); !errors.Is(err, ErrNotTraced) || !errors.Is(err, unix.ESRCH) {
		t.Errorf("trace one that has ended: %v", err)
	}
}

// TestEndOfSeveralThreads: the first thread's end shows although nobody else waits for the others,
// which are traced, too.
func TestEndOfSeveralThreads(t *testing.T) {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), crowdRole+"=1")
	pid := start(t, c)
	var threads []string
	testkit.Await(t, "threads", func() bool {
		threads, _ = filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*")
		return len(threads) > 5
	})
	for _, thread := range threads {
		tid, err := strconv.Atoi(filepath.Base(thread))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(Seize(tid), AwaitInterrupt(tid)); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Kill(pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if status, err := AwaitChange(pid); err != nil || !status.Signaled() || status.Signal() != unix.SIGKILL {
		t.Errorf("status %#x, %v", int(status), err)
	}
}

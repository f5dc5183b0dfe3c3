package procfs

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys/osthread"
)

func TestProcfsOfThisProcess(t *testing.T) {
	var p Reader
	pid := os.Getpid()
	if s, err := p.Stat(pid); err != nil || !strings.HasPrefix(s.Command, "procfs.test") ||
		!strings.ContainsRune("RS", rune(s.State)) {
		t.Errorf("%+v, %v", s, err)
	}
	if inner, err := p.InnerPID(pid); err != nil || inner != pid {
		t.Errorf("%d, %v", inner, err)
	}
	if threads, err := p.Threads(pid); err != nil || !slices.Contains(threads, pid) || len(threads) < 2 {
		t.Errorf("%v, %v", threads, err)
	}
	if ran, err := p.Ran(pid); err != nil || len(strings.Fields(ran)) != 3 {
		t.Errorf("%q, %v", ran, err)
	}
	const nobody = 1<<22 + 1 // above every pid
	for name, call := range map[string]func() error{
		"stat":     func() error { _, err := p.Stat(nobody); return err },
		"threads":  func() error { _, err := p.Threads(nobody); return err },
		"children": func() error { _, err := p.Children(nobody, nobody); return err },
		"ran":      func() error { _, err := p.Ran(nobody); return err },
		"wchan":    func() error { _, err := p.WaitChannel(nobody); return err },
		"innerPID": func() error { _, err := p.InnerPID(nobody); return err },
	} {
		if err := call(); !errors.Is(err, ErrGone) {
			t.Errorf("%s of nobody: %v", name, err)
		}
	}
}

// TestChildren has a process listed while the one that comes before it is waited for. With the
// kernel's list alone it fails: that may leave out the next one.
func TestChildren(t *testing.T) {
	err := osthread.Run(func() error {
		const rounds, early = 40, 25
		for range rounds {
			var ended []int
			for range early {
				pid, err := start("true")
				if err != nil {
					return err
				}
				ended = append(ended, pid)
			}
			last, err := start("sleep", "100")
			if err == nil {
				err = errors.Join(listedWhile(last, func() {
					for _, pid := range slices.Backward(ended) {
						unix.Wait4(pid, nil, 0, nil)
					}
				}), unix.Kill(last, unix.SIGKILL))
				unix.Wait4(last, nil, 0, nil)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// listedWhile returns an error if a child of this thread is missing in a list of its children while
// f runs.
func listedWhile(pid int, f func()) error {
	var done atomic.Bool
	go func() {
		defer done.Store(true)
		f()
	}()
	var missed error
	var p Reader
	for self := unix.Gettid(); !done.Load(); {
		all, err := p.Children(os.Getpid(), self)
		if err != nil || !slices.Contains(all, pid) {
			missed = fmt.Errorf("a list lacks %d: %v, %w", pid, all, err)
		}
	}
	return missed
}

// TestManyChildren has more children than the kernel lists at once.
func TestManyChildren(t *testing.T) {
	err := osthread.Run(func() error {
		var want []int
		for range 1200 {
			pid, err := start("true") // it may end, but is not waited for
			if err != nil {
				return err
			}
			defer unix.Wait4(pid, nil, 0, nil)
			want = append(want, pid)
		}
		var p Reader
		got, err := p.Children(os.Getpid(), unix.Gettid())
		if err == nil && !slices.Equal(got, want) {
			err = fmt.Errorf("%d children, want %d", len(got), len(want))
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// start starts a program, which the caller waits for.
func start(name string, arguments ...string) (pid int, err error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return 0, err
	}
	return syscall.ForkExec(path, append([]string{name}, arguments...), &syscall.ProcAttr{})
}

func TestParseStat(t *testing.T) {
	s, err := ParseStat([]byte("12 (a) b (c) Z 1 12 12 0 -1 4194316 9\n"))
	if err != nil || s.Command != "a) b (c" || s.State != 'Z' || s.Status != 9 {
		t.Errorf("%+v, %v", s, err)
	}
	for _, bad := range []string{"", "12", "12 (", "12 )(", "12 (a)", "12 (a) ", "()  ", "1 (a) Z x"} {
		if s, err := ParseStat([]byte(bad)); err == nil {
			t.Errorf("%q is %+v", bad, s)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("12 (sh) S 1 12 12 0 -1 4194316 0"))
	f.Add([]byte("12 (a) b (c) Z 1 9"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, err := ParseStat(b); err == nil && !strings.Contains(string(b), "("+s.Command+")") {
			t.Errorf("%q has the command %q", b, s.Command)
		}
	})
}

// TestKeptFiles: what is kept open of a process that has ended is not taken for what is there of
// the next one with its pid.
func TestKeptFiles(t *testing.T) {
	var p Reader
	p.KeepOpen()
	defer p.Close()
	look := func(pid int) (command string, children int, err error) {
		t.Helper()
		tids, err := p.Threads(pid)
		if err != nil {
			return "", 0, err
		}
		if len(tids) != 1 || tids[0] != pid {
			t.Fatalf("its threads are %v", tids)
		}
		s, err := p.Stat(pid)
		if err != nil {
			return "", 0, err
		}
		list, err := p.Children(pid, pid)
		return s.Command, len(list), err
	}
	run := func(command ...string) (pid int, end func()) {
		cmd := exec.Command(command[0], command[1:]...)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd.Process.Pid, sync.OnceFunc(func() { in.Close(); cmd.Wait() })
	}
	const attempts = 1000
	for range attempts {
		pid, end := run("cat")
		awaitCommand := func(want string, children int) {
			for command, n := "", 0; command != want || n != children; {
				var err error
				if command, n, err = look(pid); err != nil {
					t.Fatal(err)
				}
			}
		}
		awaitCommand("cat", 0)
		kept := len(p.kept)
		if end(); kept != 3 {
			t.Fatalf("%d files are kept open, not 3", kept)
		}
		if err := os.WriteFile("/proc/sys/kernel/ns_last_pid", []byte(strconv.Itoa(pid-1)), 0); err != nil {
			t.Fatal(err)
		}
		again, end := run("sh", "-c", "exec 3<&0; cat <&3 & wait")
		defer end()
		if again == pid { // else somebody else was faster
			awaitCommand("sh", 1)
			end()
			if _, _, err := look(pid); err != ErrGone || len(p.kept) != 0 {
				t.Errorf("at the end: %v, and %d files are kept", err, len(p.kept))
			}
			return
		}
		if end(); len(p.kept) > 0 {
			p.Close()
			p.KeepOpen()
		}
	}
	t.Fatalf("in %d attempts no process has got the pid of the one before it", attempts)
}

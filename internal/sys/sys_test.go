package sys

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestRetry: only the interruption by a signal is a reason to call again.
func TestRetry(t *testing.T) {
	for _, test := range []struct {
		results []error // of the calls, one after the other
		calls   int
		want    error
	}{
		{[]error{nil, unix.EIO}, 1, nil},
		{[]error{unix.EINTR, unix.EINTR, nil}, 3, nil},
		{[]error{unix.EINTR, unix.EAGAIN, nil}, 2, unix.EAGAIN},
		{[]error{unix.EIO, nil}, 1, unix.EIO},
	} {
		calls := 0
		n, err := Retry(func() (int, error) {
			calls++
			return calls, test.results[calls-1]
		})
		if err != test.want || calls != test.calls || n != calls {
			t.Errorf("%v: %d calls, the result is %d, %v", test.results, calls, n, err)
		}
	}
}

// TestAwaitExit: it gives up when the time is over, and not before the end if that is unlimited.
func TestAwaitExit(t *testing.T) {
	c := exec.Command("sleep", "1000")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer c.Wait()
	defer c.Process.Kill()
	fd, err := unix.PidfdOpen(c.Process.Pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	const most = 20 * time.Millisecond
	if began := time.Now(); AwaitExit(fd, most) || time.Since(began) < most {
		t.Errorf("a process that goes on was waited for, for %v", time.Since(began))
	}
	if AwaitExit(fd, 0) {
		t.Error("a process that goes on counts as ended")
	}
	time.AfterFunc(most, func() { c.Process.Kill() })
	if !AwaitExit(fd, -1) || !AwaitExit(fd, 0) {
		t.Error("a process that was killed counts as running")
	}
}

// TestMemoryFile: it holds the pieces in their order, has its name, and is in no directory.
func TestMemoryFile(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	fd, err := MemoryFile("for a test", []byte("a"), nil, []byte(long), []byte("z"))
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), "memory")
	defer f.Close()
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(f); err != nil || string(b) != "a"+long+"z" {
		t.Errorf("it holds %d bytes, %v", len(b), err)
	}
	name, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
	if err != nil || !strings.Contains(name, "for a test") || !strings.HasSuffix(name, "(deleted)") {
		t.Errorf("it is %q, %v", name, err)
	}
	if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
		t.Errorf("programs that are executed have it: flags %#x, %v", flags, err)
	}
}

// TestInode: it tells files apart, and not descriptors of one file.
func TestInode(t *testing.T) {
	var one, other [2]int
	if err := errors.Join(unix.Pipe(one[:]), unix.Pipe(other[:])); err != nil {
		t.Fatal(err)
	}
	inode := func(fd int) uint64 {
		n, err := Inode(fd)
		if err != nil {
			t.Error(err)
		}
		return n
	}
	if inode(one[0]) != inode(one[1]) || inode(one[0]) == inode(other[0]) {
		t.Error("two ends of a pipe are told apart, or two pipes are not")
	}
	CloseAll([]int{one[0], -1, one[1], other[0], other[1]}) // what cannot be closed does not matter
	for _, fd := range append(one[:], other[:]...) {
		if _, err := Inode(fd); !errors.Is(err, unix.EBADF) {
			t.Errorf("descriptor %d: %v", fd, err)
		}
	}
}

// TestBorrow: nobody else has a buffer before it is given back.
func TestBorrow(t *testing.T) {
	first, giveBack := Borrow()
	second, giveBackToo := Borrow()
	if len(first) != BufferSize || &first[0] == &second[0] {
		t.Errorf("buffers of %d bytes at %p and %p", len(first), first, second)
	}
	giveBack()
	giveBackToo()
}

// TestDuplicateOf: the duplicate leads to what the descriptor of the other process does, and does
// not end with it.
func TestDuplicateOf(t *testing.T) {
	c := exec.Command("cat")
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	fd, err := DuplicateOf(c.Process.Pid, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := DuplicateOf(c.Process.Pid, 1000); !errors.Is(err, unix.EBADF) {
		t.Errorf("a descriptor that there is not: %v", err)
	}
	in.Close()
	if _, err := c.Process.Wait(); err != nil {
		t.Fatal(err)
	}
	if _, err := DuplicateOf(c.Process.Pid, 1); !errors.Is(err, unix.ESRCH) {
		t.Errorf("a process that there is not: %v", err)
	}
	if _, err := unix.Write(fd, []byte("written")); err != nil {
		t.Error(err)
	}
	unix.Close(fd)
	if text, err := io.ReadAll(out); err != nil || string(text) != "written" {
		t.Errorf("%q, %v", text, err)
	}
	out.Close()
}

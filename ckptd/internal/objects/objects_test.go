package objects

import (
	"bytes"
	"fmt"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/pagemap"
)

// memfd makes memory, and returns a descriptor of it and the path of that.
func memfd(t *testing.T) (fd int, path string) {
	t.Helper()
	fd, err := unix.MemfdCreate("object", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	return fd, fmt.Sprintf("/proc/self/fd/%d", fd)
}

// content reads all of a file.
func content(t *testing.T, fd int) []byte {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		t.Fatal(err)
	}
	all := make([]byte, st.Size)
	if n, err := unix.Pread(fd, all, 0); err != nil || n != len(all) {
		t.Fatalf("%d of %d bytes: %v", n, len(all), err)
	}
	return all
}

// TestPutBack changes memory in several ways between two images of it.
func TestPutBack(t *testing.T) {
	const size = pagemap.PageSize
	fill := func(fd, page int, with byte) error {
		_, err := unix.Pwrite(fd, bytes.Repeat([]byte{with}, size), int64(page*size))
		return err
	}
	for name, change := range map[string]func(fd int) error{
		"nothing":   func(int) error { return nil },
		"a page":    func(fd int) error { return fill(fd, 0, 9) },
		"a hole":    func(fd int) error { return fill(fd, 1, 9) },
		"it shrank": func(fd int) error { return unix.Ftruncate(fd, 10) },
		"it grew":   func(fd int) error { return fill(fd, 7, 9) },
		"all of it": func(fd int) error { return unix.Ftruncate(fd, 0) },
	} {
		fd, path := memfd(t)
		var table Table
		o, err := table.Acquire(path)
		if err != nil {
			t.Fatal(err)
		}
		for page, with := range map[int]byte{0: 1, 2: 2} { // page 1 is a hole, and the last one is cut
			if err := fill(fd, page, with); err != nil {
				t.Fatal(err)
			}
		}
		if err := unix.Ftruncate(fd, 3*size-5); err != nil {
			t.Fatal(err)
		}
		want := content(t, fd)
		saved, fresh, err := o.Save()
		if err != nil || fresh != 2*size {
			t.Fatalf("%s: %d bytes are new: %v", name, fresh, err)
		}
		if _, again, err := o.Save(); err != nil || again != 0 {
			t.Errorf("%s: %d bytes of what did not change are new: %v", name, again, err)
		}
		if err := change(fd); err != nil {
			t.Fatal(err)
		}
		if err := o.PutBack(saved); err != nil {
			t.Fatal(err)
		}
		if got := content(t, fd); !bytes.Equal(got, want) {
			t.Errorf("%s: the content is another one, of %d bytes", name, len(got))
		}
		table.Release(o)
	}
}

// TestTable has one object by two paths. It ends with its last user.
func TestTable(t *testing.T) {
	fd, path := memfd(t)
	second, err := unix.Dup(fd)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(second)
	var table Table
	a, err := table.Acquire(path)
	if err != nil {
		t.Fatal(err)
	}
	b, err := table.Acquire(fmt.Sprintf("/proc/self/fd/%d", second))
	if err != nil || a != b {
		t.Fatalf("the same memory is two objects: %v", err)
	}
	table.Release(a)
	if len(table.all) != 1 {
		t.Error("the object ended with the first user")
	}
	table.Release(b)
	if len(table.all) != 0 {
		t.Error("the object outlives its users")
	}
	if _, err := table.Acquire("/dev/null"); err == nil {
		t.Error("a device is taken for an object")
	}
}

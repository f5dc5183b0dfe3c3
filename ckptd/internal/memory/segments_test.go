package memory

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/incarnation"
	"github.com/tandem-mc/tandem/ckptd/internal/mappings"
	"github.com/tandem-mc/tandem/ckptd/internal/process"
)

// TestSegments in a namespace of the test's own: those that were made since are removed, and one
// that is missing is an error. Nobody has to be attached to one, but an image needs that.
func TestSegments(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Fatal("this test needs root")
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and stays locked: the thread ends, with its namespace
		done <- unix.Unshare(unix.CLONE_NEWIPC)
		defer close(done)
		create := func() int {
			id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, unix.IPC_CREAT|0o600)
			if err != nil {
				t.Error(err)
			}
			return id
		}
		list := func() (ids []int) {
			all, err := listSegments()
			if err != nil {
				t.Error(err)
			}
			for _, s := range all {
				ids = append(ids, int(s.id))
			}
			return ids
		}
		first := create()
		saved, err := listSegments()
		if err != nil || len(saved) != 1 {
			t.Errorf("%v, %v", saved, err)
			return
		}
		create()
		create()
		if err := saved.putBack(); err != nil || !slices.Equal(list(), []int{first}) {
			t.Errorf("%v are left, %v", list(), err)
		}
		if _, err := unix.SysvShmCtl(first, unix.IPC_RMID, nil); err != nil {
			t.Error(err)
		}
		if err := saved.putBack(); err == nil {
			t.Error("a segment that was removed is put back")
		}
		of := func(inode uint64, name string) []*process.Frozen {
			m := &mappings.Mapping{Inode: inode, Name: name}
			return []*process.Frozen{{Saved: &process.Saved{
				Memory: process.AddressSpace{Unnamed: []*mappings.Mapping{m}}}}}
		}
		if err := saved.check(of(saved[0].id, "/SYSV00000000 (deleted)")); err != nil {
			t.Errorf("with somebody attached: %v", err)
		}
		for _, frozen := range [][]*process.Frozen{nil, of(saved[0].id+1, "/SYSV00000000 (deleted)"),
			of(saved[0].id, "/memfd:x (deleted)")} {
			if err := saved.check(frozen); !errors.Is(err, incarnation.ErrRefused) {
				t.Errorf("with nobody attached: %v", err)
			}
		}
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	<-done
}

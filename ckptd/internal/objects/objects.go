// Package objects keeps memory that processes share, and files that were deleted while they are
// open.
//
// They are no part of what a fork copies, and have no name by which their content could be put
// back. The daemon keeps a descriptor of each: the object lives on as long as an image has it, so
// that whatever a copy has mapped stays what it is, and a restore writes its content.
package objects

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/pagemap"
)

// key tells objects apart.
type key struct{ device, inode uint64 }

// Object is shared memory, of whatever kind, or a deleted file. Its methods are for one goroutine
// at a time.
type Object struct {
	key    key
	fd     int
	mapped []byte // its content, as far as the size that it had last
	// what it had when it was saved or put back last; shares pages with what it has now
	last  *Contents
	users int // images that have it
}

// Table has the objects of a group. It may be used by several goroutines: images are dropped
// without the group's lock.
type Table struct {
	mu  sync.Mutex
	all map[key]*Object
}

// Contents is what an object held. Pages of zeros, and holes, are nil. It never changes, and shares
// pages with other contents of the same object. A restore writes it, and later images of the object
// share what has stayed the same.
type Contents struct {
	size  int64
	pages []*[pagemap.PageSize]byte
}

// Acquire returns the object at a path of /proc that leads to it, the same one for all paths of it.
// The caller gives it back. Device and inode tell that it is the same one: a path of /proc leads to
// the file itself, though it has no name.
func (a *Table) Acquire(path string) (*Object, error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return nil, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, errors.New("it is not a file")
	}
	k := key{st.Dev, st.Ino}
	a.mu.Lock()
	defer a.mu.Unlock()
	o, known := a.all[k]
	if !known {
		fd, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC, 0)
		if err != nil {
			return nil, &fs.PathError{Op: "open", Path: path, Err: err}
		}
		o = &Object{key: k, fd: fd}
		if a.all == nil {
			a.all = map[key]*Object{}
		}
		a.all[k] = o
	}
	o.users++
	return o, nil
}

// Release gives an object back, which ends with its last user. Processes that have it mapped or
// open keep it themselves.
func (a *Table) Release(o *Object) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if o.users--; o.users > 0 {
		return
	}
	delete(a.all, o.key)
	if o.mapped != nil {
		_ = unix.Munmap(o.mapped) // which cannot fail for what was mapped
	}
	unix.Close(o.fd)
}

// remap has all of the object mapped, and returns its size. A program may have changed its size
// since.
func (o *Object) remap() (int64, error) {
	var st unix.Stat_t
	if err := unix.Fstat(o.fd, &st); err != nil {
		return 0, fmt.Errorf("the size of shared memory: %w", err)
	}
	whole := (st.Size + pagemap.PageSize - 1) / pagemap.PageSize * pagemap.PageSize
	if int64(len(o.mapped)) == whole {
		return st.Size, nil
	}
	if o.mapped != nil {
		if err := unix.Munmap(o.mapped); err != nil {
			return 0, fmt.Errorf("unmap shared memory: %w", err)
		}
		o.mapped = nil
	}
	if whole == 0 {
		return 0, nil
	}
	var err error
	if o.mapped, err = unix.Mmap(o.fd, 0, int(whole), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_SHARED); err != nil {
		return 0, fmt.Errorf("map %d bytes of shared memory: %w", whole, err)
	}
	return st.Size, nil
}

// eachPage goes through the pages that are no holes, by their numbers. A hole takes no memory, and
// reads as zeros: to read it would make it a page.
func (o *Object) eachPage(size int64, do func(n int64)) error {
	for at := int64(0); at < size; {
		from, err := unix.Seek(o.fd, at, unix.SEEK_DATA)
		if err == unix.ENXIO {
			return nil
		}
		if err != nil {
			return fmt.Errorf("look for the pages of shared memory: %w", err)
		}
		if at, err = unix.Seek(o.fd, from, unix.SEEK_HOLE); err != nil {
			return fmt.Errorf("look for the holes of shared memory: %w", err)
		}
		for n := from / pagemap.PageSize; n*pagemap.PageSize < at; n++ {
			do(n)
		}
	}
	return nil
}

// page is one page of what is mapped.
func (o *Object) page(n int64) []byte { return o.mapped[n*pagemap.PageSize : (n+1)*pagemap.PageSize] }

// zeroPage is what a hole reads as.
var zeroPage [pagemap.PageSize]byte

// Path is a path at which the daemon can open the object again.
func (o *Object) Path() string { return fmt.Sprintf("/proc/self/fd/%d", o.fd) }

// Save returns the content, and how many bytes of it no earlier contents hold. Its processes stand
// still meanwhile. A page that is as it was in the last contents is shared with those; a page of
// zeros takes nothing.
func (o *Object) Save() (*Contents, int64, error) {
	size, err := o.remap()
	if err != nil {
		return nil, 0, err
	}
	c := &Contents{size: size, pages: make([]*[pagemap.PageSize]byte, len(o.mapped)/pagemap.PageSize)}
	fresh := int64(0)
	err = o.eachPage(size, func(n int64) {
		now := o.page(n)
		if o.last != nil && n < int64(len(o.last.pages)) && o.last.pages[n] != nil &&
			bytes.Equal(now, o.last.pages[n][:]) {
			c.pages[n] = o.last.pages[n]
		} else if !bytes.Equal(now, zeroPage[:]) {
			c.pages[n] = new([pagemap.PageSize]byte)
			copy(c.pages[n][:], now)
			fresh += pagemap.PageSize
		}
	})
	if err == nil {
		o.last = c
	}
	return c, fresh, err
}

// PutBack gives the object the content that it had. Only pages that differ are written. What was a
// hole becomes one again, and takes no memory.
func (o *Object) PutBack(c *Contents) error {
	size, err := o.remap()
	if err == nil && size != c.size {
		if err = unix.Ftruncate(o.fd, c.size); err == nil {
			_, err = o.remap()
		}
	}
	if err != nil {
		return fmt.Errorf("put back the content of shared memory: %w", err)
	}
	present := make([]bool, len(c.pages))
	var punched error
	err = o.eachPage(c.size, func(n int64) {
		present[n] = true
		want, now := c.pages[n], o.page(n)
		switch {
		case want == nil && !bytes.Equal(now, zeroPage[:]):
			const hole = unix.FALLOC_FL_PUNCH_HOLE | unix.FALLOC_FL_KEEP_SIZE
			punched = errors.Join(punched, unix.Fallocate(o.fd, hole, n*pagemap.PageSize, pagemap.PageSize))
		case want != nil && !bytes.Equal(now, want[:]):
			copy(now, want[:])
		}
	})
	for n, want := range c.pages {
		if want != nil && !present[n] {
			copy(o.page(int64(n)), want[:])
		}
	}
	if err = errors.Join(err, punched); err == nil {
		o.last = c
	}
	return err
}

// IsUnnamed tells memory, or a file, whose content an image has to hold, by the name that /proc
// shows for what is mapped or open.
func IsUnnamed(name string) bool {
	path, deleted := strings.CutSuffix(name, " (deleted)")
	if !deleted || strings.HasPrefix(path, "/[") || strings.HasPrefix(path, "/anon_hugepage") {
		return false
	}
	return path == "/dev/zero" || strings.HasPrefix(path, "/dev/shm/") || !strings.HasPrefix(path, "/dev/")
}

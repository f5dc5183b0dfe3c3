package memory

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/incarnation"
)

// Memory that processes share, and files that were deleted while they are open, are no part of what
// a fork copies, and have no name by which their content could be put back. The daemon keeps a
// descriptor of each: the object lives on as long as an image has it, so that whatever a copy has
// mapped stays what it is, and a restore writes its content.

// objectKey tells objects apart.
type objectKey struct{ device, inode uint64 }

// object is shared memory, of whatever kind, or a deleted file.
type object struct {
	key    objectKey
	fd     int
	mapped []byte // its content, as far as the size that it had last
	// what it had when it was saved or put back last; shares pages with what it has now
	last  *contents
	users int // images that have it
}

// objects are those of a group. Images are dropped without the group's lock.
type objects struct {
	mu  sync.Mutex
	all map[objectKey]*object
}

// contents is what an object held. Pages of zeros, and holes, are nil.
type contents struct {
	size  int64
	pages []*[pageSize]byte
}

const pageSize = 4096

// take returns the object at a path of /proc that leads to it. The caller gives it back.
func (a *objects) take(path string) (*object, error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return nil, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, errors.New("it is not a file")
	}
	key := objectKey{st.Dev, st.Ino}
	a.mu.Lock()
	defer a.mu.Unlock()
	o, known := a.all[key]
	if !known {
		fd, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC, 0)
		if err != nil {
			return nil, &fs.PathError{Op: "open", Path: path, Err: err}
		}
		o = &object{key: key, fd: fd}
		if a.all == nil {
			a.all = map[objectKey]*object{}
		}
		a.all[key] = o
	}
	o.users++
	return o, nil
}

// give gives an object back, which ends with its last user.
func (a *objects) give(o *object) {
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

// remap has all of the object mapped, and returns its size.
func (o *object) remap() (int64, error) {
	var st unix.Stat_t
	if err := unix.Fstat(o.fd, &st); err != nil {
		return 0, fmt.Errorf("the size of shared memory: %w", err)
	}
	whole := (st.Size + pageSize - 1) / pageSize * pageSize
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

// eachPage goes through the pages that are no holes, by their numbers.
func (o *object) eachPage(size int64, do func(n int64)) error {
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
		for n := from / pageSize; n*pageSize < at; n++ {
			do(n)
		}
	}
	return nil
}

func (o *object) page(n int64) []byte { return o.mapped[n*pageSize : (n+1)*pageSize] }

var zeroPage [pageSize]byte

// save returns the content, and how many bytes of it no earlier contents hold.
func (o *object) save() (*contents, int64, error) {
	size, err := o.remap()
	if err != nil {
		return nil, 0, err
	}
	c := &contents{size: size, pages: make([]*[pageSize]byte, len(o.mapped)/pageSize)}
	fresh := int64(0)
	err = o.eachPage(size, func(n int64) {
		now := o.page(n)
		if o.last != nil && n < int64(len(o.last.pages)) && o.last.pages[n] != nil &&
			bytes.Equal(now, o.last.pages[n][:]) {
			c.pages[n] = o.last.pages[n]
		} else if !bytes.Equal(now, zeroPage[:]) {
			c.pages[n] = new([pageSize]byte)
			copy(c.pages[n][:], now)
			fresh += pageSize
		}
	})
	if err == nil {
		o.last = c
	}
	return c, fresh, err
}

// putBack gives the object the content that it had.
func (o *object) putBack(c *contents) error {
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
			punched = errors.Join(punched, unix.Fallocate(o.fd, hole, n*pageSize, pageSize))
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

// held is an object with the content that an image has of it.
type held struct {
	*object
	contents *contents
}

// keep has the image hold the object that a path of /proc leads to.
func (m *Image) keep(path string) (*object, error) {
	o, err := m.group.objects.take(path)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, known := range m.held {
		if known.object == o {
			m.group.objects.give(o)
			return o, nil
		}
	}
	m.held = append(m.held, held{object: o})
	return o, nil
}

// keepMapped has the image hold what processes have mapped and has no name.
func (m *Image) keepMapped(frozen []*process) error {
	for _, p := range frozen {
		for _, k := range p.unnamed {
			o, err := m.keep(fmt.Sprintf("/proc/%d/map_files/%x-%x", p.pid, k.from, k.end()))
			if err != nil {
				return incarnation.Refuse("shared memory of process %d at %#x %s: %w", p.pid, k.from, k.name,
					err)
			}
			k.object = o
		}
	}
	return nil
}

// saveObjects notes what the objects hold.
func (m *Image) saveObjects() error {
	for n := range m.held {
		c, fresh, err := m.held[n].save()
		if err != nil {
			return err
		}
		m.held[n].contents = c
		m.mu.Lock()
		m.fresh += fresh
		m.mu.Unlock()
	}
	return nil
}

// putBackObjects gives all objects of the image the content that they had. Nobody runs who could
// see it.
func (m *Image) putBackObjects() error {
	for _, h := range m.held {
		if err := h.putBack(h.contents); err != nil {
			return err
		}
	}
	return nil
}

// releaseObjects lets go of the objects of the image.
func (m *Image) releaseObjects() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, h := range m.held {
		m.group.objects.give(h.object)
	}
	m.held = nil
}

// describeUnnamed describes a descriptor of a deleted file, or of memory (memfd_create).
func (m *Image) describeUnnamed(d *descriptor, f openFile) error {
	o, err := m.keep(fmt.Sprintf("/proc/%d/fd/%d", f.pid, f.number))
	if err != nil {
		return incarnation.Refuse("descriptor %d of process %d, %s: %w", f.number, f.pid, f.link, err)
	}
	flags := d.flags &^ onlyAtOpen
	if flags&flagTemporary != 0 { // it is open already
		flags &^= unix.O_TMPFILE
	}
	d.make = func(*Restore) (int, error) {
		fd, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", o.fd), flags|unix.O_CLOEXEC, 0)
		if err != nil || flags&unix.O_PATH != 0 {
			return fd, err
		}
		if _, err := unix.Seek(fd, f.position, io.SeekStart); err != nil {
			unix.Close(fd)
			return -1, err
		}
		return fd, nil
	}
	return nil
}

// isUnnamed tells memory, or a file, whose content an image has to hold, by the name that /proc
// shows for what is mapped or open.
func isUnnamed(name string) bool {
	path, deleted := strings.CutSuffix(name, " (deleted)")
	if !deleted || strings.HasPrefix(path, "/[") || strings.HasPrefix(path, "/anon_hugepage") {
		return false
	}
	return path == "/dev/zero" || strings.HasPrefix(path, "/dev/shm/") || !strings.HasPrefix(path, "/dev/")
}

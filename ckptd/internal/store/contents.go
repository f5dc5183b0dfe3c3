package store

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys"
)

// Contents of files are kept apart from the trees that name them. Each has a count of the images
// that use it: two images of a group differ in few files.

// contentStore holds copies of the contents of files, which images share: most files of most peers
// never change. A copy is written once. It is removed when no image uses it any more. It has a lock
// of its own, since files are saved while others use the store.
type contentStore struct {
	directory string // made when it is needed

	mu   sync.Mutex // guards next and the users of all copies
	next uint64
}

// Content is what a file holds. It is a copy of the store or, if owner is nil, another file, which
// nobody may change meanwhile. Its size and its checksum are those of what was read, so that a copy
// that was changed since is found out.
type Content struct {
	owner *contentStore
	path  string
	size  int64
	bytes int64  // that the copy takes
	sum   uint32 // CRC-32C
	users int    // images
}

// blockSize is the unit of st_blocks, whatever the file system.
const blockSize = 512

// CopyOf makes a copy of what a file holds, with one user. It leaves no trace in the times of the
// file, and does not follow a link that a peer may have made meanwhile.
func (s *contentStore) CopyOf(path string, buffer []byte) (*Content, error) {
	from, err := os.OpenFile(path, unix.O_NOATIME|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	s.mu.Lock()
	s.next++
	c := &Content{owner: s, path: filepath.Join(s.directory, strconv.FormatUint(s.next, 10)), users: 1}
	s.mu.Unlock()
	to, err := os.OpenFile(c.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, unix.ENOENT) {
		if err = os.MkdirAll(s.directory, 0o700); err == nil {
			to, err = os.OpenFile(c.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		}
	}
	if err != nil {
		return nil, err
	}
	c.size, c.sum, err = copySummed(to, from, buffer)
	var st unix.Stat_t
	if err == nil {
		err = unix.Fstat(int(to.Fd()), &st)
	}
	if err = errors.Join(err, to.Close()); err != nil {
		return nil, errors.Join(err, os.Remove(c.path))
	}
	c.bytes = st.Blocks * blockSize
	return c, nil
}

// copySummed copies what is left of a file and returns the number of bytes and their checksum. The
// sum is that of what was read, so that it can be compared with what is read later.
func copySummed(to io.Writer, from *os.File, buffer []byte) (size int64, sum uint32, err error) {
	for {
		n, err := from.Read(buffer)
		size += int64(n)
		sum = crc32.Update(sum, castagnoli, buffer[:n])
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return size, sum, err
			}
		}
		if err == io.EOF {
			return size, sum, nil
		}
		if err != nil {
			return size, sum, err
		}
	}
}

// use adds a user, unless the copy is removed already. The last image that had it may just have
// been dropped, without the lock of the group.
func (c *Content) use() bool {
	c.owner.mu.Lock()
	defer c.owner.mu.Unlock()
	if c.users == 0 {
		return false
	}
	c.users++
	return true
}

// release takes one user from each of the copies, and removes those that have none left. To release
// one more often than it is used is a fault of the store, which would remove what others have.
func (s *contentStore) release(copies []*Content) error {
	var errs []error
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range copies {
		if c.users--; c.users < 0 {
			panic(fmt.Sprintf("the content %s is released more often than it is used", c.path))
		}
		if c.users > 0 {
			continue
		}
		if err := os.Remove(c.path); !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// check returns an error that says how the copy is not what was written, nil if it is. The words go
// on after the name of the file.
func (c *Content) check(buffer []byte) error {
	f, err := os.Open(c.path)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return errors.New("is missing")
		}
		return err
	}
	defer f.Close()
	return c.compare(copySummed(io.Discard, f, buffer))
}

// compare compares what was read of the copy with what was written to it. A content that is no copy
// of the store may be anything.
func (c *Content) compare(size int64, sum uint32, err error) error {
	switch {
	case err != nil || c.owner == nil:
		return err
	case size != c.size:
		return fmt.Errorf("has %d bytes, not %d", size, c.size)
	case sum != c.sum:
		return errors.New("has changed")
	}
	return nil
}

// writeTo writes the content to a file that is empty. It is compared while it is written: an error
// says that what stands there now is not to be used.
func (c *Content) writeTo(to *os.File, buffer []byte) error {
	from, err := os.OpenFile(c.path, unix.O_NOATIME, 0)
	if err != nil {
		return err
	}
	defer from.Close()
	if err := c.compare(copySummed(to, from, buffer)); err != nil {
		return fmt.Errorf("the copy %s of what is to be put back to %s: %w", c.path, to.Name(), err)
	}
	return nil
}

// CopyContent copies what a file of the machine holds to a new one. The file may be somebody
// else's, who alone could have it read without a trace.
func CopyContent(from, to string) error {
	r, err := os.Open(from)
	if err != nil {
		return err
	}
	defer r.Close()
	w, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	buffer, giveBack := sys.Borrow()
	defer giveBack()
	_, _, err = copySummed(w, r, buffer)
	return errors.Join(err, w.Close())
}

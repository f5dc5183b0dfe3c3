package ckptd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// store holds images within a budget of bytes and number. When it is exceeded the least
// useful image goes.
type store struct {
	directory string
	maxBytes  int64
	maxImages int
	// used is the number of bytes taken now. Images share files, so that it is no sum.
	used func() (int64, error)
	// free is the number of bytes that can be written to the directory.
	free func() (int64, error)

	sharing sync.Once
	shared  *contentStore

	mu     sync.Mutex
	images []*image // oldest first
	// peak is the greatest number of bytes that were taken when an image had just been written.
	peak int64
	// owed bounds what images in memory hold that was counted for others, now dropped.
	owed int64
	// written is how many bytes of the last image are in the directory.
	written int64
	next    uint64
	// base is the usefulness of the last image that had to make room.
	base float64
}

// image is a directory with what CRIU wrote (pages), and the files of the group, of which images
// share contents.
type image struct {
	id        string
	group     uint64
	first     bool // of its group
	inUse     bool // being written or restored: not to be dropped
	bytes     int64
	seal      seal
	tree      *fileNode  // the files of the group
	contents  []*content // that the tree uses
	fresh     int64      // bytes of those that no older image has
	gone      bool
	taken     time.Time // zero while it is being written
	directory string
	backend   string     // that has saved it
	saved     saved      // nil while it is being written
	held      int64      // bytes of memory outside of the directory
	visible   [][]string // how the group looked before and after, if restores are verified
	history
}

func (i *image) pages() string { return filepath.Join(i.directory, "pages") }

// contents are those of all images.
func (s *store) contents() *contentStore {
	s.sharing.Do(func() { s.shared = &contentStore{directory: filepath.Join(s.directory, "contents")} })
	return s.shared
}

// releaseFiles forgets the files of an image.
func (s *store) releaseFiles(i *image) error {
	used := i.contents
	i.tree, i.contents, i.fresh = nil, nil, 0
	return s.contents().release(used)
}

// create makes room for one more image, which is in use until settle or remove. Its parent
// may be gone.
func (s *store) create(group uint64, from history) (*image, []string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var dropped []string
	for len(s.images) >= s.maxImages {
		id, err := s.dropLeastUseful()
		if err != nil {
			return nil, dropped, fmt.Errorf("%w: it holds %d images, and none can be dropped", ErrNoRoom, len(s.images))
		}
		dropped = append(dropped, id)
	}
	for s.lacksRoom() {
		id, err := s.dropLeastUseful()
		if err != nil {
			break // it may do all the same
		}
		dropped = append(dropped, id)
	}
	s.next++
	i := &image{id: fmt.Sprintf("g%d-%d", group, s.next), group: group, inUse: true, history: from}
	for i.parent != nil && i.parent.gone {
		i.follow(i.parent)
	}
	i.base = s.base
	i.first = !slices.ContainsFunc(s.images, func(j *image) bool { return j.group == group })
	i.directory = filepath.Join(s.directory, i.id)
	if err := os.MkdirAll(i.pages(), 0o700); err != nil {
		return nil, dropped, errors.Join(fmt.Errorf("%w: %w", ErrNotStored, err), os.RemoveAll(i.directory))
	}
	s.images = append(s.images, i)
	return i, dropped, nil
}

// lacksRoom tells whether an image like the last one could not be written: the files of
// the groups are in the same place, and in no budget. It needs the lock.
func (s *store) lacksRoom() bool {
	free, err := s.free()
	return err == nil && free < s.written
}

// makeRoom drops an image that can be dropped.
func (s *store) makeRoom() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.dropLeastUseful()
	return err
}

// hold notes what an image holds in memory. Others count that as soon as it is there.
func (s *store) hold(i *image, by saved) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i.held, i.saved = by.bytes(), by
}

// settle ends the use of a finished image and drops older ones if it is over the budget.
func (s *store) settle(i *image) (dropped []string, err error) {
	if i.bytes, err = ownBytes(i.directory); err != nil {
		return nil, errors.Join(err, s.remove(i))
	}
	i.bytes += i.fresh
	s.mu.Lock()
	defer s.mu.Unlock()
	s.written = i.bytes
	i.bytes += i.held
	for {
		used, err := s.used()
		used += s.inMemory()
		if err == nil && (used <= s.maxBytes || s.owed == 0) {
			s.peak = max(s.peak, used)
		}
		if err == nil && used <= s.maxBytes {
			i.inUse, i.taken = false, time.Now()
			return dropped, nil
		}
		if err == nil && s.owed > 0 {
			s.weighAll()
			continue
		}
		id := ""
		if err == nil {
			id, err = s.dropLeastUseful()
		}
		if err != nil {
			err = fmt.Errorf("%w: with an image of %d bytes it holds %d, allowed are %d, and no older image can be dropped: %w",
				ErrNoRoom, i.bytes, used, s.maxBytes, err)
			return dropped, errors.Join(err, s.discard(i))
		}
		dropped = append(dropped, id)
	}
}

var errNoneToDrop = errors.New("all are in use or the first ones of their groups")

// inMemory is at least the number of bytes that images hold outside of the directory. It
// needs the lock.
func (s *store) inMemory() int64 {
	total := s.owed
	for _, i := range s.images {
		total += i.held
	}
	return total
}

// weighAll counts anew what images in memory hold. It needs the lock.
func (s *store) weighAll() {
	for _, i := range s.images {
		if i.saved != nil {
			i.held = i.saved.weigh()
		}
	}
	s.owed = 0
}

// dropLeastUseful needs the lock.
func (s *store) dropLeastUseful() (string, error) {
	i := leastUseful(s.images)
	if i == nil {
		return "", errNoneToDrop
	}
	s.base = max(s.base, i.usefulness())
	return i.id, s.discard(i)
}

// discard needs the lock.
func (s *store) discard(i *image) error {
	s.images = slices.DeleteFunc(s.images, func(j *image) bool { return j == i })
	i.gone = true
	for _, j := range s.images {
		if j.parent == i {
			j.follow(i)
		}
	}
	if i.saved != nil {
		i.saved.end()
		s.owed += i.held - i.saved.fixed()
	}
	return errors.Join(s.releaseFiles(i), os.RemoveAll(i.directory))
}

// use finds an image of a group and keeps it from being dropped until release.
func (s *store) use(group uint64, id string) (*image, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range s.images {
		if i.id == id && i.group == group && !i.inUse {
			i.inUse = true
			return i, nil
		}
	}
	return nil, fmt.Errorf("%w: group %d, image %.64q", ErrImageGone, group, id)
}

// restored notes that an image was of use.
func (s *store) restored(i *image) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i.uses++
	i.base = s.base
}

func (s *store) release(i *image) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i.inUse = false
}

// remove drops an image that the caller has in use.
func (s *store) remove(i *image) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.discard(i)
}

// removeGroup drops all images of a group.
func (s *store) removeGroup(group uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, i := range slices.Clone(s.images) {
		if i.group == group {
			errs = append(errs, s.discard(i))
		}
	}
	return errors.Join(errs...)
}

// copies are the processes that images of a group are.
func (s *store) copies(group uint64) (all []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range s.images {
		if i.group == group && i.saved != nil {
			all = append(all, i.saved.pids()...)
		}
	}
	return all
}

// removeMemory drops the images of a group that its end has taken.
func (s *store) removeMemory(group uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, i := range slices.Clone(s.images) {
		if i.group == group && i.saved != nil && i.saved.inMemory() {
			i.saved = nil
			errs = append(errs, s.discard(i))
		}
	}
	return errors.Join(errs...)
}

// ownBytes is the number of bytes that a tree takes on a tmpfs, files that have a name
// elsewhere, too, left out.
func ownBytes(directory string) (int64, error) {
	var total int64
	err := filepath.WalkDir(directory, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return &fs.PathError{Op: "stat", Path: path, Err: err}
		}
		if st.Nlink == 1 {
			total += st.Blocks * blockSize
		}
		return nil
	})
	return total, err
}

// bytesFree is the number of bytes that the file system of a directory has left.
func bytesFree(directory string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(directory, &st); err != nil {
		return 0, &fs.PathError{Op: "statfs", Path: directory, Err: err}
	}
	return int64(st.Bavail) * st.Bsize, nil
}

// bytesUsed is the number of bytes in use on the file system of a directory.
func bytesUsed(directory string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(directory, &st); err != nil {
		return 0, &fs.PathError{Op: "statfs", Path: directory, Err: err}
	}
	return int64(st.Blocks-st.Bfree) * st.Bsize, nil
}

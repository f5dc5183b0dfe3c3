// Package store keeps images within a budget of bytes and number: what a backend has of each, and
// the files of the group, of which images share what has not changed. It tells whether an image is
// damaged, and which one to do without.
package store

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

	"github.com/tandem-mc/tandem/ckptd/internal/wire"
)

// An image is made in three steps: Create makes room for it, Hold notes what it has in memory, and
// Commit counts what it has on disk. From then on it can be used, and be dropped.

// Store holds images within a budget of bytes and number. When it is exceeded the least
// useful image goes.
//
// Bytes are counted in two ways. What is written to the directory is what the file system says;
// what images hold in memory is counted by themselves, when they are made, and anew when the sum
// matters. Pages that several images share would be counted for each of them otherwise.
type Store struct {
	Directory string
	MaxBytes  int64
	MaxImages int
	// Used is the number of bytes taken now. Images share files, so that it is no sum.
	Used func() (int64, error)
	// Free is the number of bytes that can be written to the directory.
	Free func() (int64, error)

	sharing sync.Once
	shared  *contentStore

	mu     sync.Mutex
	images []*Image // oldest first
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

// Image is a directory with what CRIU wrote (pages), and the files of the group, of which images
// share contents.
type Image struct {
	ID        string
	group     uint64
	first     bool // of its group
	inUse     bool // being written or restored: not to be dropped
	Bytes     int64
	Manifest  manifest
	Tree      *FileNode  // the files of the group
	Contents  []*Content // that the tree uses
	Fresh     int64      // bytes of those that no older image has
	gone      bool
	taken     time.Time // zero while it is being written
	Directory string
	Backend   string     // that has saved it
	Saved     Saved      // nil while it is being written
	held      int64      // bytes of memory outside of the directory
	Visible   [][]string // how the group looked before and after, if restores are verified
	History
}

// Pages is the directory for what CRIU writes.
func (i *Image) Pages() string { return filepath.Join(i.Directory, "pages") }

// Contents are those of all images.
func (s *Store) Contents() *contentStore {
	s.sharing.Do(func() { s.shared = &contentStore{directory: filepath.Join(s.Directory, "contents")} })
	return s.shared
}

// ReleaseFiles forgets the files of an image. It is for an image that is saved again by another
// backend, or dropped.
func (s *Store) ReleaseFiles(i *Image) error {
	used := i.Contents
	i.Tree, i.Contents, i.Fresh = nil, nil, 0
	return s.Contents().release(used)
}

// Create makes room for one more image, which is in use until Commit or Remove. Its parent
// may be gone.
//
// How large the image becomes nobody knows; room is made for one like the last, so that writing it
// does not fail halfway.
func (s *Store) Create(group uint64, from History) (*Image, []string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var dropped []string
	for len(s.images) >= s.MaxImages {
		id, err := s.dropLeastUseful()
		if err != nil {
			return nil, dropped, fmt.Errorf("%w: it holds %d images, and none can be dropped", wire.ErrNoRoom,
				len(s.images))
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
	i := &Image{ID: fmt.Sprintf("g%d-%d", group, s.next), group: group, inUse: true, History: from}
	for i.Parent != nil && i.Parent.gone {
		i.follow(i.Parent)
	}
	i.base = s.base
	// The first one of a group is the way back that is always there: it is never dropped for
	// others.
	i.first = !slices.ContainsFunc(s.images, func(j *Image) bool { return j.group == group })
	i.Directory = filepath.Join(s.Directory, i.ID)
	if err := os.MkdirAll(i.Pages(), 0o700); err != nil {
		return nil, dropped, errors.Join(fmt.Errorf("%w: %w", wire.ErrNotStored, err),
			os.RemoveAll(i.Directory))
	}
	s.images = append(s.images, i)
	return i, dropped, nil
}

// lacksRoom tells whether an image like the last one could not be written: the files of
// the groups are in the same place, and in no budget. It needs the lock.
func (s *Store) lacksRoom() bool {
	free, err := s.Free()
	return err == nil && free < s.written
}

// MakeRoom drops an image that can be dropped. It is for files of groups, which are in the same
// file system, and in no budget.
func (s *Store) MakeRoom() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.dropLeastUseful()
	return err
}

// Hold notes what an image holds in memory. Others count that as soon as it is there.
func (s *Store) Hold(i *Image, by Saved) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i.held, i.Saved = by.Bytes(), by
}

// Commit ends the use of a finished image and drops older ones if it is over the budget.
//
// An estimate that is over the budget is made exact before an image has to go for it. If no other
// one can be dropped, this one is.
func (s *Store) Commit(i *Image) (dropped []string, err error) {
	if i.Bytes, err = OwnBytes(i.Directory); err != nil {
		return nil, errors.Join(err, s.Remove(i))
	}
	i.Bytes += i.Fresh
	s.mu.Lock()
	defer s.mu.Unlock()
	// What is held in memory takes no room in the directory.
	s.written = i.Bytes
	i.Bytes += i.held
	for {
		used, err := s.Used()
		used += s.inMemory()
		if err == nil && (used <= s.MaxBytes || s.owed == 0) {
			s.peak = max(s.peak, used)
		}
		if err == nil && used <= s.MaxBytes {
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
			err = fmt.Errorf(
				"%w: with an image of %d bytes it holds %d, allowed are %d, and no older image can be "+
					"dropped: %w",
				wire.ErrNoRoom, i.Bytes, used, s.MaxBytes, err)
			return dropped, errors.Join(err, s.discard(i))
		}
		dropped = append(dropped, id)
	}
}

var errNoneToDrop = errors.New("all are in use or the first ones of their groups")

// inMemory is at least the number of bytes that images hold outside of the directory. It
// needs the lock.
func (s *Store) inMemory() int64 {
	total := s.owed
	for _, i := range s.images {
		total += i.held
	}
	return total
}

// weighAll counts anew what images in memory hold. It needs the lock.
func (s *Store) weighAll() {
	for _, i := range s.images {
		if i.Saved != nil {
			i.held = i.Saved.Weigh()
		}
	}
	s.owed = 0
}

// dropLeastUseful needs the lock. dropLeastUseful drops the image that is worth least, and returns
// its id.
func (s *Store) dropLeastUseful() (string, error) {
	i := leastUseful(s.images)
	if i == nil {
		return "", errNoneToDrop
	}
	s.base = max(s.base, i.usefulness())
	return i.ID, s.discard(i)
}

// discard needs the lock. discard drops an image, and has those below it follow its parent. What it
// shared with others counts for those from then on: that much is owed until all are weighed again.
func (s *Store) discard(i *Image) error {
	s.images = slices.DeleteFunc(s.images, func(j *Image) bool { return j == i })
	i.gone = true
	for _, j := range s.images {
		if j.Parent == i {
			j.follow(i)
		}
	}
	if i.Saved != nil {
		i.Saved.End()
		s.owed += i.held - i.Saved.Fixed()
	}
	return errors.Join(s.ReleaseFiles(i), os.RemoveAll(i.Directory))
}

// Use finds an image of a group and keeps it from being dropped until release. A second use at the
// same time is refused.
func (s *Store) Use(group uint64, id string) (*Image, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range s.images {
		if i.ID == id && i.group == group && !i.inUse {
			i.inUse = true
			return i, nil
		}
	}
	return nil, fmt.Errorf("%w: group %d, image %.64q", wire.ErrImageGone, group, id)
}

// Restored notes that an image was of use.
func (s *Store) Restored(i *Image) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i.uses++
	i.base = s.base
}

// Release ends a use.
func (s *Store) Release(i *Image) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i.inUse = false
}

// Remove drops an image that the caller has in use.
func (s *Store) Remove(i *Image) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.discard(i)
}

// RemoveGroup drops all images of a group. Also those in use go: the group has ended.
func (s *Store) RemoveGroup(group uint64) error {
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

// Copies are the processes that images of a group are. They are children of the group's proxy, as
// its peers are.
func (s *Store) Copies(group uint64) (all []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range s.images {
		if i.group == group && i.Saved != nil {
			all = append(all, i.Saved.PIDs()...)
		}
	}
	return all
}

// RemoveMemory drops the images of a group that its end has taken. They are gone already, so they
// are not told to end.
func (s *Store) RemoveMemory(group uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, i := range slices.Clone(s.images) {
		if i.group == group && i.Saved != nil && i.Saved.InMemory() {
			i.Saved = nil
			errs = append(errs, s.discard(i))
		}
	}
	return errors.Join(errs...)
}

// OwnBytes is the number of bytes that a tree takes on a tmpfs, files that have a name
// elsewhere, too, left out.
func OwnBytes(directory string) (int64, error) {
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

// BytesFree is the number of bytes that the file system of a directory has left.
func BytesFree(directory string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(directory, &st); err != nil {
		return 0, &fs.PathError{Op: "statfs", Path: directory, Err: err}
	}
	return int64(st.Bavail) * st.Bsize, nil
}

// BytesUsed is the number of bytes in use on the file system of a directory.
func BytesUsed(directory string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(directory, &st); err != nil {
		return 0, &fs.PathError{Op: "statfs", Path: directory, Err: err}
	}
	return int64(st.Blocks-st.Bfree) * st.Bsize, nil
}

package driver

import (
	"errors"
	"math"
	"os"

	"github.com/tandem-mc/tandem/iocache"
)

// spillFile is where the I/O cache puts what does not fit into memory: a file without a name, which
// is made when it is needed, and gone with the process. Errors of it are those of the check. One is
// made for each cache. It grows only: records are never freed.
type spillFile struct {
	file *os.File
	end  int64
}

// Append implements iocache.Store. It returns the offset at which the data begins.
func (s *spillFile) Append(data []byte) (int64, error) {
	if s.file == nil {
		file, err := os.CreateTemp("", "tandem-cache-")
		if err != nil {
			return 0, err
		}
		// A removed file is freed by the kernel when the process ends, however it ends.
		if err := os.Remove(file.Name()); err != nil {
			return 0, errors.Join(err, file.Close())
		}
		s.file = file
	}
	if _, err := s.file.WriteAt(data, s.end); err != nil {
		return 0, err
	}
	s.end += int64(len(data))
	return s.end - int64(len(data)), nil
}

// Close frees the file, which is not used any more.
func (s *spillFile) Close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}

// ReadAt implements iocache.Store. Offsets are those that Append has returned.
func (s *spillFile) ReadAt(data []byte, offset int64) (int, error) {
	return s.file.ReadAt(data, offset)
}

// NewCache is an empty cache that spills. Nothing is created on disk before the first record is
// spilled.
func NewCache() *iocache.Cache {
	c := iocache.New(iocache.Limits{})
	c.SpillTo(&spillFile{})
	return c
}

// RoomyCache is an empty cache for what is in a file: there was room for it when it was recorded,
// however much that took. masks are the rules that were in force when the answers were recorded.
func RoomyCache(masks []iocache.Mask) *iocache.Cache {
	c := NewCache()
	c.Limit(math.MaxInt64)
	c.SetMasks(masks)
	return c
}

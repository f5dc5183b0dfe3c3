package driver

import (
	"cmp"
	"errors"
	"fmt"
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

// DefaultBytes is the memory that a cache takes unless something else is said.
const DefaultBytes = 1 << 30

// NewCache is an empty cache that spills. Nothing is created on disk before the first record is
// spilled.
func NewCache() *iocache.Cache {
	c := iocache.New(iocache.Limits{})
	c.SpillTo(&spillFile{})
	return c
}

// RoomyCache is an empty cache for what is in a file: there was room for it when it was recorded,
// however much that took. It spills beyond some bytes; 0 is the default. masks are the rules that
// were in force when the answers were recorded.
func RoomyCache(masks []iocache.Mask, bytes int64) *iocache.Cache {
	c := NewCache()
	c.Roomy(cmp.Or(bytes, DefaultBytes))
	c.SetMasks(masks)
	return c
}

// Crowding is that a cache took more memory than its limit, since it could not spill.
type Crowding struct {
	Exceeded int64  // bytes beyond the limit, at most; 0: it took no more
	Why      string // it could not spill
}

// crowding is what is known of a cache.
func crowding(c *iocache.Cache) Crowding {
	o := c.Stats().Outage
	if o.Exceeded == 0 { // the file may have failed, but it was not needed for that
		return Crowding{}
	}
	return Crowding{o.Exceeded, o.First.Error()}
}

// and is the larger one.
func (c Crowding) and(other Crowding) Crowding {
	if other.Exceeded > c.Exceeded {
		return other
	}
	return c
}

// Notes say it in a line, if there is something to say. Bytes are what was configured for the cache
// (0 is the default), or for as many caches as there are shares.
func (c Crowding) Notes(bytes int64, shares int) []string {
	if c.Exceeded == 0 {
		return nil
	}
	mib := cmp.Or(bytes, DefaultBytes) >> 20
	limit := fmt.Sprintf("cache_mib, which is %d", mib)
	if shares > 1 {
		limit = fmt.Sprintf("the share of cache_mib that each of %d workers has (cache_mib is %d)", shares,
			mib)
	}
	return []string{fmt.Sprintf("the answers of the peers took up to %d KiB more than %s: there is no room "+
		"for them in %s: %s; make room there, or name another directory by TMPDIR",
		(c.Exceeded+1023)>>10, limit, os.TempDir(), c.Why)}
}

package store

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tandem-mc/tandem/internal/sys"
)

// manifest is what the files that CRIU wrote of an image were when it was complete: their sizes and
// checksums, by their paths below the image. A group that is restored from anything else would be
// another one, and nobody would be told: CRIU notices neither a changed page nor a changed
// descriptor of a file.
type manifest map[string]fileEntry

// fileEntry is a file as it was written.
type fileEntry struct {
	size int64
	sum  uint32 // CRC-32C: processors have an instruction for it, and it finds all single errors
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ManifestOf reads the files of a finished image: a restore waits for it. If there is much to read,
// another processor helps.
func ManifestOf(image string) (manifest, error) {
	var paths []string
	var total int64
	s := manifest{}
	err := filepath.WalkDir(image, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			paths, total = append(paths, path), total+info.Size()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	const much = 1 << 20
	files, errs := make([]fileEntry, len(paths)), [2]error{}
	var helper sync.WaitGroup
	var next atomic.Int64
	// Readers take the next file when they are done with one.
	read := func(r int) {
		buffer, giveBack := sys.Borrow()
		defer giveBack()
		for n := next.Add(1) - 1; int(n) < len(paths) && errs[r] == nil; n = next.Add(1) - 1 {
			files[n], errs[r] = readEntry(paths[n], buffer)
		}
	}
	if total > much {
		helper.Go(func() { read(1) })
	}
	read(0)
	helper.Wait()
	for n, path := range paths {
		s[strings.TrimPrefix(path, image+"/")] = files[n]
	}
	return s, errors.Join(errs[:]...)
}

func readEntry(path string, buffer []byte) (f fileEntry, err error) {
	r, err := os.Open(path)
	if err != nil {
		return f, err
	}
	defer r.Close()
	f.size, f.sum, err = copySummed(io.Discard, r, buffer)
	return f, err
}

// Check returns an error that names what is not as it was, nil if all is. A file that was added
// counts: CRIU goes by the names that it finds.
func (s manifest) Check(image string) error {
	now, err := ManifestOf(image)
	if err != nil {
		return fmt.Errorf("it cannot be read: %w", err)
	}
	for name, was := range s {
		switch is, ok := now[name]; {
		case !ok:
			return fmt.Errorf("its file %s is missing", name)
		case is.size != was.size:
			return fmt.Errorf("its file %s has %d bytes, not %d", name, is.size, was.size)
		case is.sum != was.sum:
			return fmt.Errorf("its file %s has changed", name)
		}
	}
	for name := range now {
		if _, ok := s[name]; !ok {
			return fmt.Errorf("a file %s was not there", name)
		}
	}
	return nil
}

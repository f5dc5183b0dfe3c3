package store

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/wire"
)

// CannotStore returns ErrNotStored or ErrNoRoom where it is the store's fault, or that of the files
// that are to be kept there, that an image could not be written to a directory; else nil. CRIU does
// not say so where it cannot write its log either. CRIU only says that it has failed, so a file is
// written to find out.
func CannotStore(directory string, err error) error {
	if errors.Is(err, unix.ENOSPC) {
		return wire.ErrNoRoom
	}
	for _, cause := range []error{unix.EDQUOT, unix.EROFS, unix.EIO, unix.ENAMETOOLONG, errNotCopied} {
		if errors.Is(err, cause) {
			return wire.ErrNotStored
		}
	}
	const enough = 64 << 10
	probe := filepath.Join(directory, "probe")
	defer os.Remove(probe)
	err = os.WriteFile(probe, make([]byte, enough), 0o600)
	switch {
	case errors.Is(err, unix.ENOSPC):
		return wire.ErrNoRoom
	case err != nil:
		return wire.ErrNotStored
	}
	return nil
}

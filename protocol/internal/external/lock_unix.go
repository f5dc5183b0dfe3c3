//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package external

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// lock takes a file for this process. The system gives it back when the process ends, however that
// is. Otherwise two checks could write to the same files, and each would find them damaged. The
// file itself says nothing, and may be left behind.
func lock(name string) (io.Closer, error) {
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = ErrLocked
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// Package fileutil has what several rooms do with files, and what the standard library has no
// function for.
package fileutil

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// ErrLocked says that somebody else has a lock.
var ErrLocked = errors.New("another process has locked it")

// TryLock locks an open file or directory for this process, as flock(2) does: the lock ends when
// the file is closed, and with it all copies of its descriptor. The error is ErrLocked where
// somebody has it.
func TryLock(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == unix.EWOULDBLOCK {
		return ErrLocked
	}
	return err
}

// Openable is a path of a file that can be opened from the working directory: relative where that
// is shorter, as the go command has it. A file that is in the directory itself begins with "./".
// Paths that are relative already are returned unchanged.
func Openable(path string) string {
	dir, err := os.Getwd()
	if err != nil {
		return path
	}
	relative, err := filepath.Rel(dir, path)
	if err != nil || len(relative) >= len(path) {
		return path
	}
	if filepath.Dir(relative) == "." {
		return "./" + relative
	}
	return relative
}

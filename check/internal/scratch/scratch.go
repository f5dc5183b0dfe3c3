// Package scratch makes the directories in which programs are built. Each command has one of its
// own while it runs; those of commands that were killed are removed by the next one.
package scratch

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// A directory below the one for temporary files has a file in it that is locked while it is in use.
const (
	pattern  = "tandem-*"
	lockFile = "in-use"
)

// Make makes a directory, which remove removes. It also removes those of commands that were killed.
// The lock file is made after the directory. Until then sweep finds no lock to take, and leaves the
// directory alone.
func Make() (directory string, remove func(), err error) {
	sweep()
	if directory, err = os.MkdirTemp("", pattern); err != nil {
		return "", nil, err
	}
	lock, err := takeLock(directory, os.O_CREATE)
	if err != nil {
		os.RemoveAll(directory)
		return "", nil, err
	}
	return directory, func() {
		os.RemoveAll(directory)
		lock.Close()
	}, nil
}

// sweep removes the directories that nobody uses any more. What cannot be removed stays.
func sweep() {
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), pattern))
	for _, directory := range left {
		// Where this fails, it is in use, just being made, or something else.
		if lock, err := takeLock(directory, 0); err == nil {
			os.RemoveAll(directory)
			lock.Close()
		}
	}
}

// takeLock does not wait: a lock that is held is an error. It follows no links, since others may
// write in the directory for temporary files.
func takeLock(directory string, flags int) (*os.File, error) {
	lock, err := os.OpenFile(filepath.Join(directory, lockFile), os.O_RDWR|unix.O_NOFOLLOW|flags, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		lock.Close()
		return nil, err
	}
	return lock, nil
}

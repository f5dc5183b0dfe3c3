package main

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Where programs are built: a directory for each command that runs one, with a file in it that is locked meanwhile.
const (
	scratchPattern = "tandem-*"
	scratchLock    = "in-use"
)

// makeScratch makes a directory for a program that is built, which remove removes. It also removes those of commands that were killed.
func makeScratch() (directory string, remove func(), err error) {
	sweepScratch()
	if directory, err = os.MkdirTemp("", scratchPattern); err != nil {
		return "", nil, err
	}
	lock, err := lockScratch(directory, os.O_CREATE)
	if err != nil {
		os.RemoveAll(directory)
		return "", nil, err
	}
	return directory, func() {
		os.RemoveAll(directory)
		lock.Close()
	}, nil
}

// sweepScratch removes the directories that nobody uses any more. What cannot be removed stays.
func sweepScratch() {
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), scratchPattern))
	for _, directory := range left {
		if lock, err := lockScratch(directory, 0); err == nil { // else it is in use, just being made, or something else
			os.RemoveAll(directory)
			lock.Close()
		}
	}
}

func lockScratch(directory string, flags int) (*os.File, error) {
	lock, err := os.OpenFile(filepath.Join(directory, scratchLock), os.O_RDWR|unix.O_NOFOLLOW|flags, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		lock.Close()
		return nil, err
	}
	return lock, nil
}

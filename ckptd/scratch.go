package ckptd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// saveTree makes the empty directory to a copy of the directory from, owners, modes and
// times included. The entry `except` at its top is left out. Sockets, which CRIU makes
// again, are too.
func saveTree(from, to, except string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == except {
			continue
		}
		if err := copyEntry(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
			return err
		}
	}
	return copyAttributes(from, to)
}

// putBackTree makes the directory to what it was when saveTree saved it as from.
func putBackTree(from, to, except string) error {
	entries, err := os.ReadDir(to)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == except {
			continue
		}
		if err := os.RemoveAll(filepath.Join(to, e.Name())); err != nil {
			return err
		}
	}
	return saveTree(from, to, except)
}

func copyEntry(from, to string) error {
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	switch info.Mode().Type() {
	case 0:
		err = copyFile(from, to)
	case fs.ModeDir:
		if err = os.Mkdir(to, 0o700); err == nil {
			return saveTree(from, to, "")
		}
	case fs.ModeSymlink:
		var target string
		if target, err = os.Readlink(from); err == nil {
			err = os.Symlink(target, to)
		}
	case fs.ModeNamedPipe:
		err = unix.Mkfifo(to, 0o600)
	case fs.ModeSocket:
		return nil
	default:
		return fmt.Errorf("%s is a %v: a peer may have files, directories, links, pipes and sockets in its scratch directory", from, info.Mode().Type())
	}
	return errors.Join(err, copyAttributes(from, to))
}

func copyFile(from, to string) error {
	r, err := os.Open(from)
	if err != nil {
		return err
	}
	defer r.Close()
	w, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, r)
	return errors.Join(err, w.Close())
}

// copyAttributes copies owner, mode and times, in this order: chown clears mode bits.
func copyAttributes(from, to string) error {
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	st := info.Sys().(*syscall.Stat_t)
	if err := os.Lchown(to, int(st.Uid), int(st.Gid)); err != nil {
		return err
	}
	if info.Mode().Type() != fs.ModeSymlink {
		if err := unix.Chmod(to, st.Mode&0o7777); err != nil {
			return &fs.PathError{Op: "chmod", Path: to, Err: err}
		}
	}
	times := []unix.Timespec{unix.Timespec(st.Atim), unix.Timespec(st.Mtim)}
	if err := unix.UtimesNanoAt(unix.AT_FDCWD, to, times, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return &fs.PathError{Op: "utimensat", Path: to, Err: err}
	}
	return nil
}

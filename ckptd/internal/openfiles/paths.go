package openfiles

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/incarnation"
	"github.com/tandem-mc/tandem/ckptd/internal/objects"
)

// A file with a path is opened again by that, with the flags and at the position that it had. The
// path is the one that the process sees, below its root directory: the daemon sees other files at
// that path.

// harmless are the devices whose files have no state. Any two opens of them are alike.
var harmless = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

// onlyAtOpen are flags that matter when a file is opened for the first time. They would change a
// file that has been put back.
const onlyAtOpen = unix.O_CREAT | unix.O_EXCL | unix.O_TRUNC

// flagTemporary is O_TMPFILE without O_DIRECTORY, which comes with it.
const flagTemporary = unix.O_TMPFILE &^ unix.O_DIRECTORY

// describePath describes a file, a directory, a harmless device or an empty pipe with a name. The
// path is opened again, so what is there must be what it was: files of the group go back with it,
// and the machine's are read-only. A file without a name is an object that the daemon keeps. A pipe
// with a name is made by the tree of files; one end of it that is open for both does not wait for
// the other to be opened.
func describePath(hold func(path string) (*objects.Object, error), d *Descriptor, f openFile) error {
	info, err := os.Stat(fmt.Sprintf("/proc/%d/fd/%d", f.pid, f.number))
	if err != nil {
		return err
	}
	path, deleted := strings.CutSuffix(f.link, " (deleted)")
	kind := info.Mode().Type()
	switch {
	case kind == 0 && objects.IsUnnamed(f.link):
		return describeUnnamed(hold, d, f)
	case deleted:
		return incarnation.Refuse("descriptor %d of process %d is %s, which was deleted", f.number, f.pid,
			path)
	case kind == fs.ModeDir, kind == 0, slices.Contains(harmless, path):
	case kind == fs.ModeNamedPipe && f.flags&unix.O_ACCMODE == unix.O_RDWR:
		if n, err := f.unread(); err != nil || n > 0 {
			return errors.Join(err, incarnation.Refuse("%s holds %d bytes", path, n))
		}
	default:
		return incarnation.Refuse("descriptor %d of process %d, %s, is a %v", f.number, f.pid, path, kind)
	}
	flags := d.flags &^ onlyAtOpen
	d.make = func(of *Making) (int, error) {
		return OpenBelow(of.Root, path, flags, f.position, kind == 0 || kind == fs.ModeDir)
	}
	return nil
}

// OpenBelow opens a path as a process sees it whose root directory is given: no link leads out of
// that. Where seek is true, the file is at this position then. A descriptor for the path alone
// takes few other flags, and has no position; nor would O_NOCTTY be anything but an error with it.
func OpenBelow(root int, path string, flags int, position int64, seek bool) (int, error) {
	if flags&unix.O_PATH != 0 { // goes with few others
		flags &= unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW
	} else {
		flags |= unix.O_NOCTTY
	}
	fd, err := unix.Openat2(root, path, &unix.OpenHow{Flags: uint64(flags) | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_IN_ROOT})
	if err != nil {
		return -1, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	if seek && flags&unix.O_PATH == 0 {
		if _, err := unix.Seek(fd, position, unix.SEEK_SET); err != nil {
			unix.Close(fd)
			return -1, &fs.PathError{Op: "seek", Path: path, Err: err}
		}
	}
	return fd, nil
}

// describeUnnamed describes a descriptor of a deleted file, or of memory (memfd_create). It is
// opened by the descriptor that the daemon keeps of it, which makes a description of its own: with
// the flags and the position that the process had.
func describeUnnamed(hold func(path string) (*objects.Object, error), d *Descriptor, f openFile) error {
	o, err := hold(fmt.Sprintf("/proc/%d/fd/%d", f.pid, f.number))
	if err != nil {
		return incarnation.Refuse("descriptor %d of process %d, %s: %w", f.number, f.pid, f.link, err)
	}
	flags := d.flags &^ onlyAtOpen
	if flags&flagTemporary != 0 { // it is open already
		flags &^= unix.O_TMPFILE
	}
	d.make = func(*Making) (int, error) {
		fd, err := unix.Open(o.Path(), flags|unix.O_CLOEXEC, 0)
		if err != nil || flags&unix.O_PATH != 0 {
			return fd, err
		}
		if _, err := unix.Seek(fd, f.position, io.SeekStart); err != nil {
			unix.Close(fd)
			return -1, err
		}
		return fd, nil
	}
	return nil
}

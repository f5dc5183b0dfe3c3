package ckptd

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// errNotCopied: there is no copy of what is in the scratch directory.
var errNotCopied = errors.New("the peers' files cannot be copied")

// treeCopy makes one directory a copy of another: contents, owners, modes, times and hard
// links. Sockets are left out: CRIU makes them again. Nobody may write to either meanwhile.
type treeCopy struct {
	from, to string
	except   string // an entry at the top that is left alone
	// base, if not empty, is an older copy. Files that are the same there are linked, not
	// copied: most files of most peers never change.
	base  string
	links map[uint64]string // inodes with several names: the first copied name
	kept  map[string]bool   // names of what is the same already, and of directories
	// known are files of the group, which the one directory is, that are the same as some of images, as the other is one; mapped are
	// inodes, and paths below the group's directory, of files that may be written without a trace.
	known  stamps
	mapped mappedFiles
}

// mappedFiles are files that processes have mapped and share with it, by their inodes and by their paths below the
// directory of the group.
type mappedFiles struct {
	inodes map[uint64]bool
	names  map[string]bool
}

// save fills the empty directory to.
func (c treeCopy) save() error {
	c.links = map[uint64]string{}
	return c.fill(".")
}

// putBack changes the directory to where it differs.
func (c treeCopy) putBack() error {
	c.links, c.kept = map[uint64]string{}, map[string]bool{}
	if err := c.clear("."); err != nil {
		return err
	}
	return c.fill(".")
}

// clear removes from the directory dir of to what is not the same in from.
func (c treeCopy) clear(dir string) error {
	entries, err := os.ReadDir(filepath.Join(c.to, dir))
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		if name == c.except {
			continue
		}
		if c.kept[name], err = c.keep(name, e); err != nil {
			return err
		}
		if c.kept[name] {
			continue
		}
		if err := os.RemoveAll(filepath.Join(c.to, name)); err != nil {
			return err
		}
	}
	return nil
}

// keep tells whether an entry of to can stay: a file that is the same, or a directory, in which it has been cleared.
func (c treeCopy) keep(name string, e fs.DirEntry) (bool, error) {
	from, to := filepath.Join(c.from, name), filepath.Join(c.to, name)
	if !e.IsDir() {
		return c.same(name, to, from)
	}
	var source unix.Stat_t
	if err := unix.Lstat(from, &source); err != nil || source.Mode&unix.S_IFMT != unix.S_IFDIR {
		return false, ignoreMissing(from, err)
	}
	return true, c.clear(name)
}

// fill copies what is missing in the directory dir of to.
func (c treeCopy) fill(dir string) error {
	entries, err := os.ReadDir(filepath.Join(c.from, dir))
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		if name == c.except {
			continue
		}
		if err := c.copyEntry(name, e); err != nil {
			return err
		}
	}
	return copyAttributes(filepath.Join(c.from, dir), filepath.Join(c.to, dir))
}

func (c treeCopy) copyEntry(name string, e fs.DirEntry) (err error) {
	from, to := filepath.Join(c.from, name), filepath.Join(c.to, name)
	switch kind := e.Type(); {
	case kind == fs.ModeDir:
		if !c.kept[name] {
			if err := os.Mkdir(to, 0o700); err != nil {
				return err
			}
		}
		return c.fill(name)
	case c.kept[name] || kind == fs.ModeSocket:
		return nil
	case kind == 0:
		return c.copyFile(name)
	case kind == fs.ModeSymlink:
		var target string
		if target, err = os.Readlink(from); err == nil {
			err = os.Symlink(target, to)
		}
	case kind == fs.ModeNamedPipe:
		err = unix.Mkfifo(to, 0o600)
	default:
		return fmt.Errorf("%w: %s is a %v: a peer may have files, directories, links, pipes and sockets in its scratch directory", errNotCopied, from, kind)
	}
	return errors.Join(err, copyAttributes(from, to))
}

// copyFile makes a regular file: a link to one that was copied before, or a copy.
func (c treeCopy) copyFile(name string) error {
	from, to := filepath.Join(c.from, name), filepath.Join(c.to, name)
	var st unix.Stat_t
	if err := unix.Lstat(from, &st); err != nil {
		return &fs.PathError{Op: "stat", Path: from, Err: err}
	}
	if first, ok := c.links[st.Ino]; ok {
		return os.Link(first, to)
	}
	if st.Nlink > 1 {
		c.links[st.Ino] = to
	} else if c.base != "" {
		older := filepath.Join(c.base, name)
		if same, err := c.same(name, from, older); err == nil && same && os.Link(older, to) == nil {
			return nil
		}
	}
	err := errors.Join(copyContent(from, to), copyAttributes(from, to))
	if saving := c.kept == nil; saving && err == nil && !c.mapped.inodes[st.Ino] && !c.mapped.names[name] {
		var copied unix.Stat_t
		if err = unix.Lstat(to, &copied); err == nil {
			c.known.note(from, copied.Ino)
		}
	}
	return err
}

func copyContent(from, to string) error {
	r, err := os.OpenFile(from, unix.O_NOATIME, 0)
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

// same tells whether a file of the group and one of an image are the same, and notes it if they are.
func (c treeCopy) same(name, live, image string) (bool, error) {
	if c.known == nil {
		return sameFile(live, image)
	}
	var s, t unix.Stat_t
	if err := unix.Lstat(live, &s); err != nil {
		return false, ignoreMissing(live, err)
	}
	if err := unix.Lstat(image, &t); err != nil {
		return false, ignoreMissing(image, err)
	}
	mapped := c.mapped.inodes[s.Ino] || c.mapped.names[name]
	if alike(&s, &t) && !mapped && c.known.same(&s, t.Ino) {
		return true, nil
	}
	same, err := sameFile(live, image)
	if delete(c.known, s.Ino); err == nil && same && !mapped {
		c.known.note(live, t.Ino)
	}
	return same, err
}

// alike tells whether both are regular files with the same attributes.
func alike(s, t *unix.Stat_t) bool {
	return s.Mode == t.Mode && s.Mode&unix.S_IFMT == unix.S_IFREG && s.Uid == t.Uid && s.Gid == t.Gid && s.Size == t.Size && s.Mtim == t.Mtim
}

// sameFile tells whether both are regular files with the same content and attributes. It
// compares the contents: times do not tell what was written through a mapping.
func sameFile(a, b string) (bool, error) {
	var s, t unix.Stat_t
	if err := unix.Lstat(a, &s); err != nil {
		return false, ignoreMissing(a, err)
	}
	if err := unix.Lstat(b, &t); err != nil {
		return false, ignoreMissing(b, err)
	}
	if !alike(&s, &t) {
		return false, nil
	}
	if s.Ino == t.Ino || s.Size == 0 {
		return true, nil
	}
	return sameContent(a, b, int(s.Size))
}

// sameContent compares files of the same size. Small ones are read, which takes less than to map them.
func sameContent(a, b string, size int) (bool, error) {
	const small = 64 << 10
	content := mapFile
	if size <= small {
		content = readSmall
	}
	x, release, err := content(a, size)
	if err != nil {
		return false, err
	}
	defer release()
	y, release, err := content(b, size)
	if err != nil {
		return false, err
	}
	defer release()
	return bytes.Equal(x, y), nil
}

func ignoreMissing(path string, err error) error {
	if err == nil || err == unix.ENOENT || err == unix.ENOTDIR {
		return nil
	}
	return &fs.PathError{Op: "stat", Path: path, Err: err}
}

func mapFile(path string, size int) (content []byte, release func(), err error) {
	f, err := os.OpenFile(path, unix.O_NOATIME, 0)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	if content, err = unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED); err != nil {
		return nil, nil, &fs.PathError{Op: "mmap", Path: path, Err: err}
	}
	return content, func() { unix.Munmap(content) }, nil
}

func readSmall(path string, size int) (content []byte, release func(), err error) {
	content, err = readRoomBy(path, size+1, unix.O_NOATIME) // of which the last byte shows the end at once
	return content, func() {}, err
}

package store

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys"
)

// The files of a group go back in two passes. The first removes what is not as the image has it;
// the second makes what is missing then. So files that are moved, or whose kinds have changed, are
// never in each other's way, and there is room for what is made.

// TreeRestorer changes a directory to what a tree is, where it differs. Nobody may write to it
// meanwhile.
//
// What is the same stays, with its inode: peers in memory have it open or mapped. All else is
// removed first and made then, so that there is room for it.
type TreeRestorer struct {
	FileComparison
	Except string // an entry at the top that is left alone

	buffer []byte
	// Of files with several names: which inode is which node, and a path of each node that is
	// there.
	inodes map[uint64]*FileNode
	paths  map[*FileNode]string
}

// Restore makes the directory what root is.
func (r *TreeRestorer) Restore(root *FileNode, directory string) (err error) {
	if r.settled, err = settledBefore(); err != nil {
		return err
	}
	var giveBack func()
	r.buffer, giveBack = sys.Borrow()
	defer giveBack()
	r.inodes, r.paths = map[uint64]*FileNode{}, map[*FileNode]string{}
	// What can stay is known before anything is made: a file may be a link to one of another
	// directory.
	missing := map[*FileNode][]string{}
	if err := r.clear(root, directory, "", missing); err != nil {
		return err
	}
	return r.fill(root, directory, missing)
}

// clear removes from a directory what is not the same in its node, and notes which entries of the
// node are missing then.
func (r *TreeRestorer) clear(n *FileNode, path, below string, missing map[*FileNode][]string) error {
	fd, err := openDirectory(unix.AT_FDCWD, path)
	if err != nil {
		return &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	names, err := namesIn(fd)
	if err != nil {
		return &fs.PathError{Op: "read", Path: path, Err: err}
	}
	kept := 0
	there := make(map[string]bool, len(names))
	for _, name := range names {
		if below == "" && name == r.Except {
			continue
		}
		keep, err := r.keep(fd, name, filepath.Join(path, name), joinBelow(below, name), n.children[name],
			missing)
		if err != nil {
			return err
		}
		if there[name] = keep; keep {
			kept++
		} else if err := os.RemoveAll(filepath.Join(path, name)); err != nil {
			return err
		}
	}
	// Nothing of it is missing.
	if kept == len(n.children) {
		return nil
	}
	for name := range n.children {
		if !there[name] {
			missing[n] = append(missing[n], name)
		}
	}
	return nil
}

// keep tells whether an entry can stay: a file that is the same, or a directory, which it clears.
// Of a file with several names the first one that is the same stays for the node, and others only
// if they are names of the same inode.
func (r *TreeRestorer) keep(
	dir int, name, path, below string, n *FileNode, missing map[*FileNode][]string,
) (bool, error) {
	if n == nil {
		return false, nil
	}
	var st unix.Stat_t
	if err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return false, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	switch {
	case st.Mode&unix.S_IFMT == unix.S_IFDIR && n.is(unix.S_IFDIR):
		return true, r.clear(n, path, below, missing)
	case st.Nlink == 1 && n.names == 1:
		return r.same(path, below, &st, n)
	}
	if other := r.inodes[st.Ino]; other != nil {
		return other == n, nil
	}
	if r.paths[n] != "" {
		return false, nil // another inode is the node already
	}
	same, err := r.same(path, below, &st, n)
	if same {
		r.inodes[st.Ino], r.paths[n] = n, path
	}
	return same, err
}

// fill makes what is missing in a directory and in those below it. Times of directories come last,
// since to make an entry changes them.
func (r *TreeRestorer) fill(n *FileNode, path string, missing map[*FileNode][]string) error {
	// In order, since what is made first has the lower inode number, which peers can see.
	for _, name := range slices.Sorted(slices.Values(missing[n])) {
		child := n.children[name]
		if err := r.create(child, filepath.Join(path, name)); err != nil {
			return err
		}
		if child.is(unix.S_IFDIR) {
			missing[child] = slices.Collect(maps.Keys(child.children))
		}
	}
	for _, name := range n.directories() {
		if err := r.fill(n.children[name], filepath.Join(path, name), missing); err != nil {
			return err
		}
	}
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	if n.hasAttributes(&st) && n.read == st.Atim {
		return nil
	}
	return setAttributes(path, n)
}

// directories are the names of those in a directory, sorted.
func (n *FileNode) directories() (names []string) {
	for name, child := range n.children {
		if child.is(unix.S_IFDIR) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// create makes an entry, of a directory only the entry itself, of which everything is missing then.
// A second name of a file is a link to the first one.
func (r *TreeRestorer) create(n *FileNode, path string) error {
	switch n.mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return os.Mkdir(path, 0o700)
	case unix.S_IFLNK:
		if err := os.Symlink(n.target, path); err != nil {
			return err
		}
	case unix.S_IFIFO:
		if err := unix.Mkfifo(path, 0o600); err != nil {
			return &fs.PathError{Op: "mkfifo", Path: path, Err: err}
		}
	case unix.S_IFREG:
		if first := r.paths[n]; first != "" {
			return os.Link(first, path)
		}
		if n.names > 1 {
			r.paths[n] = path
		}
		if err := r.write(n.content, path); err != nil {
			return err
		}
	default:
		panic(fmt.Sprintf("%s was saved as a file of mode %o, which no tree has", path, n.mode))
	}
	return setAttributes(path, n)
}

// write makes a file with this content. A copy that is damaged is an error only here: it is not
// left in the place of the file unnoticed.
func (r *TreeRestorer) write(c *Content, path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(c.writeTo(f, r.buffer), f.Close())
}

// setAttributes sets owner, mode and times, in this order: chown clears mode bits. A symbolic link
// has no mode.
func setAttributes(path string, n *FileNode) error {
	if err := os.Lchown(path, int(n.uid), int(n.gid)); err != nil {
		return err
	}
	if !n.is(unix.S_IFLNK) {
		if err := unix.Chmod(path, n.mode&0o7777); err != nil {
			return &fs.PathError{Op: "chmod", Path: path, Err: err}
		}
	}
	times := []unix.Timespec{n.read, n.modified}
	if err := unix.UtimesNanoAt(unix.AT_FDCWD, path, times, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return &fs.PathError{Op: "utimensat", Path: path, Err: err}
	}
	return nil
}

// Check returns an error that names a file whose copy in the store is not what was written, nil if
// there is none. Copies that a restore to the directory would not read are left out; the directory
// may be empty, and all are looked at then. It reads, and changes nothing, so it can be done while
// the group still runs.
func (c *FileComparison) Check(root *FileNode, directory string) error {
	buffer, giveBack := sys.Borrow()
	defer giveBack()
	return c.checkBelow(root, unix.AT_FDCWD, directory, "", buffer)
}

// checkBelow is Check for a directory: live is its name in the open directory dir, and empty where
// it is not there.
func (c *FileComparison) checkBelow(n *FileNode, dir int, live, below string, buffer []byte) error {
	fd := -1
	if live != "" {
		var err error
		if fd, err = openDirectory(dir, live); err == nil {
			defer unix.Close(fd)
		} // else all of it would be read
	}
	for name, child := range n.children {
		var st unix.Stat_t
		path := joinBelow(below, name)
		there := fd >= 0 && unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil
		switch {
		case child.is(unix.S_IFDIR):
			if !there {
				name = ""
			}
			if err := c.checkBelow(child, fd, name, path, buffer); err != nil {
				return err
			}
		case child.is(unix.S_IFREG) && !(there && c.trusted(&st, path, child)):
			if err := child.content.check(buffer); err != nil {
				return fmt.Errorf("its file files/%s %w", path, err)
			}
		}
	}
	return nil
}

// CopyTree makes an existing directory a copy of another one. No copies are made in a store: the
// contents are read from the files themselves.
func CopyTree(from, to string) error {
	s := TreeSaver{CopyOf: func(path string, size int64) (*Content, error) {
		return &Content{path: path, size: size}, nil
	}}
	root, err := s.Save(from, nil)
	if err != nil {
		return err
	}
	return (&TreeRestorer{}).Restore(root, to)
}

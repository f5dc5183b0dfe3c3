package store

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys"
)

// The files of a group are saved as a tree of nodes. An image has a tree; trees of several images
// share nodes and contents of what has not changed between them. To save walks through the
// directory beside the tree of the image before, and makes nodes only where something is another.

// errNotCopied: there is no copy of what is in the scratch directory.
var errNotCopied = errors.New("the peers' files cannot be copied")

// FileNode is a file, directory, symbolic link or pipe as an image has it: content, owner, mode,
// times and hard links. Nodes do not change, so that images share those of what has not changed.
// Sockets are left out: CRIU makes them again.
type FileNode struct {
	mode     uint32 // with the type, as in st_mode
	uid, gid uint32
	read     unix.Timespec
	modified unix.Timespec
	names    uint64               // of a file: more than one if it has hard links, which then share the node
	content  *Content             // of a file
	target   string               // of a symbolic link
	children map[string]*FileNode // of a directory
}

// is tells whether a node is of a kind, S_IFREG or another one.
func (n *FileNode) is(kind uint32) bool { return n.mode&unix.S_IFMT == kind }

// hasAttributes tells whether a file has the owner, the mode and the time of modification of the
// node.
func (n *FileNode) hasAttributes(st *unix.Stat_t) bool {
	return n.mode == st.Mode && n.uid == st.Uid && n.gid == st.Gid && n.modified == st.Mtim
}

// MappedFiles are files that processes have mapped and share with it, by their inodes and by their
// paths below the directory of the group.
type MappedFiles struct {
	Inodes map[uint64]bool
	Names  map[string]bool
}

// has tells whether a file is mapped. Names count, too: a file that was put back since has another
// inode.
func (m MappedFiles) has(st *unix.Stat_t, name string) bool { return m.Inodes[st.Ino] || m.Names[name] }

// FileComparison is how files of a group, to which nobody may write meanwhile, are compared with
// those of images. To compare is the most that a checkpoint of many files takes, so contents are
// only read where nothing tells that they are the same.
type FileComparison struct {
	Known   Stamps
	Mapped  MappedFiles // may be written to without a trace
	settled int64       // as of settledBefore
}

// trusted tells whether a file is known to be as a node has it, without a look at its content.
func (c *FileComparison) trusted(live *unix.Stat_t, name string, n *FileNode) bool {
	return n.is(unix.S_IFREG) && n.hasAttributes(live) && n.content.size == live.Size &&
		c.Known.same(live, n.content) && !c.Mapped.has(live, name)
}

// same tells whether a file is as a node has it, and notes it if it is. What is compared is known
// from then on, unless it is mapped, or was changed too short a time ago: see Stamps.
func (c *FileComparison) same(path, name string, live *unix.Stat_t, n *FileNode) (bool, error) {
	if !n.is(unix.S_IFREG) || !n.hasAttributes(live) || n.content.size != live.Size {
		return false, nil
	}
	mapped := c.Mapped.has(live, name)
	if !mapped && c.Known.same(live, n.content) {
		return true, nil
	}
	same, err := sameContent(path, n.content.path, live.Size)
	delete(c.Known, live.Ino)
	if err == nil && same && !mapped {
		c.Known.note(live, n.content, c.settled)
	}
	return same, err
}

// TreeSaver makes nodes of the files of a group. One is used once. Whatever it has used of the
// store is in Used also after an error, to be released.
type TreeSaver struct {
	FileComparison
	Except string // an entry at the top that is left alone
	// CopyOf makes the copy of what a file of so many bytes holds.
	CopyOf func(path string, size int64) (*Content, error)

	Used  []*Content           // by the tree, in the store: to be released
	Fresh int64                // bytes that the store has more
	links map[uint64]*FileNode // inodes with several names
	seen  Stamps               // what is known of those files that there are
}

// Save returns the tree of a directory. Where something is the same in base, which may be nil, it
// takes the node from there.
func (s *TreeSaver) Save(directory string, base *FileNode) (root *FileNode, err error) {
	if s.settled, err = settledBefore(); err != nil {
		return nil, err
	}
	s.links, s.seen = map[uint64]*FileNode{}, Stamps{}
	fd, err := openDirectory(unix.AT_FDCWD, directory)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: directory, Err: err}
	}
	defer unix.Close(fd)
	if root, err = s.directory(fd, directory, "", base); err != nil {
		return nil, err
	}
	if s.Known != nil { // files that are gone are forgotten
		clear(s.Known)
		maps.Copy(s.Known, s.seen)
	}
	return root, nil
}

// directory makes the node of an open directory, or returns base if all of it is the same: then the
// trees of two images share it.
func (s *TreeSaver) directory(fd int, path, below string, base *FileNode) (*FileNode, error) {
	if base == nil || !base.is(unix.S_IFDIR) {
		base = &FileNode{}
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	names, err := namesIn(fd)
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: path, Err: err}
	}
	n := nodeOf(&st)
	n.children = make(map[string]*FileNode, len(names))
	// A directory that is the same in all that it shows, and in all that is in it, is the node that
	// there is.
	same := base.hasAttributes(&st) && base.read == st.Atim
	for _, name := range names {
		if below == "" && name == s.Except {
			continue
		}
		child, err := s.entry(fd, name, filepath.Join(path, name), joinBelow(below, name),
			base.children[name])
		if err != nil {
			return nil, err
		}
		if child != nil {
			n.children[name] = child
			same = same && child == base.children[name]
		}
	}
	if same && len(n.children) == len(base.children) {
		return base, nil
	}
	return n, nil
}

// entry returns the node of an entry of a directory, nil for what is left out. Sockets are left
// out, since whoever binds makes them; devices are an error.
func (s *TreeSaver) entry(dir int, name, path, below string, base *FileNode) (n *FileNode, err error) {
	var st unix.Stat_t
	if err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return nil, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		fd, err := openDirectory(dir, name)
		if err != nil {
			return nil, &fs.PathError{Op: "open", Path: path, Err: err}
		}
		defer unix.Close(fd)
		return s.directory(fd, path, below, base)
	case unix.S_IFSOCK:
		return nil, nil
	case unix.S_IFREG:
		return s.file(path, below, &st, base)
	case unix.S_IFLNK:
		n = nodeOf(&st)
		n.target, err = os.Readlink(path)
	case unix.S_IFIFO:
		n = nodeOf(&st)
	default:
		return nil, notCopied(path)
	}
	return n, err
}

// notCopied says of what kind a file is that no tree has, such as a device.
func notCopied(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	const may = "a peer may have files, directories, links, pipes and sockets in its scratch directory"
	return fmt.Errorf("%w: %s is a %v: %s", errNotCopied, path, info.Mode().Type(), may)
}

// file makes the node of a file. Names of one inode get one node, however many there are, so that
// they are names of one file again.
func (s *TreeSaver) file(path, below string, st *unix.Stat_t, base *FileNode) (n *FileNode, err error) {
	if first := s.links[st.Ino]; first != nil {
		return first, nil
	}
	if n, err = s.shared(path, below, st, base); err != nil {
		return nil, err
	}
	if n == nil {
		n = nodeOf(st)
		if n.content, err = s.CopyOf(path, st.Size); err != nil {
			return nil, err
		}
		s.Fresh += n.content.bytes
		if !s.Mapped.has(st, below) {
			s.Known.note(st, n.content, s.settled)
		}
	}
	if n.content.owner != nil {
		s.Used = append(s.Used, n.content)
	}
	if known, ok := s.Known[st.Ino]; ok {
		s.seen[st.Ino] = known
	}
	if st.Nlink > 1 {
		s.links[st.Ino] = n
	}
	return n, nil
}

// shared returns a node with the content of base, which has one user more then. It returns nil if
// the file is another one.
func (s *TreeSaver) shared(path, below string, st *unix.Stat_t, base *FileNode) (*FileNode, error) {
	if base == nil || !base.is(unix.S_IFREG) || base.content.owner == nil || !base.content.use() {
		return nil, nil
	}
	same, err := s.same(path, below, st, base)
	if err != nil || !same {
		return nil, errors.Join(err, base.content.owner.release([]*Content{base.content}))
	}
	// A node of several names may stand for another inode, too.
	if base.read == st.Atim && base.names == 1 && st.Nlink == 1 {
		return base, nil
	}
	n := nodeOf(st)
	n.content = base.content
	return n, nil
}

// nodeOf makes a node of what the kernel tells of a file, without its content.
func nodeOf(st *unix.Stat_t) *FileNode {
	return &FileNode{mode: st.Mode, uid: st.Uid, gid: st.Gid, read: st.Atim, modified: st.Mtim,
		names: st.Nlink}
}

// joinBelow is the path of an entry of a directory, below the directory that is saved.
func joinBelow(below, name string) string {
	if below == "" {
		return name
	}
	return below + "/" + name
}

// openDirectory opens a directory without a trace in its time of access.
func openDirectory(dir int, name string) (fd int, err error) {
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_NOATIME | unix.O_CLOEXEC
	for {
		if fd, err = unix.Openat(dir, name, flags, 0); err != unix.EINTR {
			return fd, err
		}
	}
}

// namesIn are the names in a directory, without those of itself and its parent. They come in the
// order of the directory.
func namesIn(fd int) (names []string, err error) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := unix.Getdents(fd, buffer)
		if err == unix.EINTR {
			continue
		}
		if n <= 0 || err != nil {
			return names, err
		}
		_, _, names = unix.ParseDirent(buffer[:n], -1, names)
	}
}

// sameContent tells whether a file of the group holds what a copy does. They are read, and not
// mapped: holes of a file stay what they are, and a copy that is damaged is only another content.
// An error is only about the file of the group: a copy that cannot be read is another content.
func sameContent(live, copied string, size int64) (bool, error) {
	if size == 0 {
		return true, nil
	}
	a, err := openQuietly(live)
	if err != nil {
		return false, err
	}
	defer unix.Close(a)
	b, err := openQuietly(copied)
	if err != nil {
		return false, nil
	}
	defer unix.Close(b)
	buffer, giveBack := sys.Borrow()
	defer giveBack()
	ours, theirs := buffer[:sys.BufferSize/2], buffer[sys.BufferSize/2:]
	for at := int64(0); at < size; {
		n, err := sys.Retry(func() (int, error) { return unix.Pread(a, ours, at) })
		if err != nil || n == 0 {
			return false, &fs.PathError{Op: "read", Path: live, Err: cmp.Or(err, error(unix.EIO))}
		}
		m, err := sys.Retry(func() (int, error) { return unix.Pread(b, theirs[:n], at) })
		if err != nil || m != n || !bytes.Equal(ours[:n], theirs[:n]) {
			return false, nil
		}
		at += int64(n)
	}
	return true, nil
}

// openQuietly opens a file to read it without a trace in its time of access.
func openQuietly(path string) (int, error) {
	const flags = unix.O_RDONLY | unix.O_NOATIME | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := sys.Retry(func() (int, error) { return unix.Open(path, flags, 0) })
	if err != nil {
		return -1, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return fd, nil
}

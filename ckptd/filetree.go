package ckptd

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

// errNotCopied: there is no copy of what is in the scratch directory.
var errNotCopied = errors.New("the peers' files cannot be copied")

// fileNode is a file, directory, symbolic link or pipe as an image has it: content, owner, mode,
// times and hard links. Nodes do not change, so that images share those of what has not changed.
// Sockets are left out: CRIU makes them again.
type fileNode struct {
	mode     uint32 // with the type, as in st_mode
	uid, gid uint32
	read     unix.Timespec
	modified unix.Timespec
	names    uint64               // of a file: more than one if it has hard links, which then share the node
	content  *content             // of a file
	target   string               // of a symbolic link
	children map[string]*fileNode // of a directory
}

func (n *fileNode) is(kind uint32) bool { return n.mode&unix.S_IFMT == kind }

// hasAttributes tells whether a file has the owner, the mode and the time of modification of the node.
func (n *fileNode) hasAttributes(st *unix.Stat_t) bool {
	return n.mode == st.Mode && n.uid == st.Uid && n.gid == st.Gid && n.modified == st.Mtim
}

// mappedFiles are files that processes have mapped and share with it, by their inodes and by their
// paths below the directory of the group.
type mappedFiles struct {
	inodes map[uint64]bool
	names  map[string]bool
}

func (m mappedFiles) has(st *unix.Stat_t, name string) bool { return m.inodes[st.Ino] || m.names[name] }

// fileComparison is how files of a group, to which nobody may write meanwhile, are compared with those
// of images.
type fileComparison struct {
	known   stamps
	mapped  mappedFiles // may be written to without a trace
	settled int64       // as of settledBefore
}

// trusted tells whether a file is known to be as a node has it, without a look at its content.
func (c *fileComparison) trusted(live *unix.Stat_t, name string, n *fileNode) bool {
	return n.is(unix.S_IFREG) && n.hasAttributes(live) && n.content.size == live.Size &&
		c.known.same(live, n.content) && !c.mapped.has(live, name)
}

// same tells whether a file is as a node has it, and notes it if it is.
func (c *fileComparison) same(path, name string, live *unix.Stat_t, n *fileNode) (bool, error) {
	if !n.is(unix.S_IFREG) || !n.hasAttributes(live) || n.content.size != live.Size {
		return false, nil
	}
	mapped := c.mapped.has(live, name)
	if !mapped && c.known.same(live, n.content) {
		return true, nil
	}
	same, err := sameContent(path, n.content.path, live.Size)
	delete(c.known, live.Ino)
	if err == nil && same && !mapped {
		c.known.note(live, n.content, c.settled)
	}
	return same, err
}

// treeSaver makes nodes of the files of a group.
type treeSaver struct {
	fileComparison
	except string // an entry at the top that is left alone
	// copyOf makes the copy of what a file of so many bytes holds.
	copyOf func(path string, size int64) (*content, error)

	used  []*content           // by the tree, in the store: to be released
	fresh int64                // bytes that the store has more
	links map[uint64]*fileNode // inodes with several names
	seen  stamps               // what is known of those files that there are
}

// save returns the tree of a directory. Where something is the same in base, which may be nil, it
// takes the node from there.
func (s *treeSaver) save(directory string, base *fileNode) (root *fileNode, err error) {
	if s.settled, err = settledBefore(); err != nil {
		return nil, err
	}
	s.links, s.seen = map[uint64]*fileNode{}, stamps{}
	fd, err := openDirectory(unix.AT_FDCWD, directory)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: directory, Err: err}
	}
	defer unix.Close(fd)
	if root, err = s.directory(fd, directory, "", base); err != nil {
		return nil, err
	}
	if s.known != nil { // files that are gone are forgotten
		clear(s.known)
		maps.Copy(s.known, s.seen)
	}
	return root, nil
}

func (s *treeSaver) directory(fd int, path, below string, base *fileNode) (*fileNode, error) {
	if base == nil || !base.is(unix.S_IFDIR) {
		base = &fileNode{}
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
	n.children = make(map[string]*fileNode, len(names))
	same := base.hasAttributes(&st) && base.read == st.Atim
	for _, name := range names {
		if below == "" && name == s.except {
			continue
		}
		child, err := s.entry(fd, name, filepath.Join(path, name), joinBelow(below, name), base.children[name])
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

// entry returns the node of an entry of a directory, nil for what is left out.
func (s *treeSaver) entry(dir int, name, path, below string, base *fileNode) (n *fileNode, err error) {
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

func notCopied(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	const may = "a peer may have files, directories, links, pipes and sockets in its scratch directory"
	return fmt.Errorf("%w: %s is a %v: %s", errNotCopied, path, info.Mode().Type(), may)
}

func (s *treeSaver) file(path, below string, st *unix.Stat_t, base *fileNode) (n *fileNode, err error) {
	if first := s.links[st.Ino]; first != nil {
		return first, nil
	}
	if n, err = s.shared(path, below, st, base); err != nil {
		return nil, err
	}
	if n == nil {
		n = nodeOf(st)
		if n.content, err = s.copyOf(path, st.Size); err != nil {
			return nil, err
		}
		s.fresh += n.content.bytes
		if !s.mapped.has(st, below) {
			s.known.note(st, n.content, s.settled)
		}
	}
	if n.content.owner != nil {
		s.used = append(s.used, n.content)
	}
	if known, ok := s.known[st.Ino]; ok {
		s.seen[st.Ino] = known
	}
	if st.Nlink > 1 {
		s.links[st.Ino] = n
	}
	return n, nil
}

// shared returns a node with the content of base, which has one user more then. It returns nil if
// the file is another one.
func (s *treeSaver) shared(path, below string, st *unix.Stat_t, base *fileNode) (*fileNode, error) {
	if base == nil || !base.is(unix.S_IFREG) || base.content.owner == nil || !base.content.use() {
		return nil, nil
	}
	same, err := s.same(path, below, st, base)
	if err != nil || !same {
		return nil, errors.Join(err, base.content.owner.release([]*content{base.content}))
	}
	// A node of several names may stand for another inode, too.
	if base.read == st.Atim && base.names == 1 && st.Nlink == 1 {
		return base, nil
	}
	n := nodeOf(st)
	n.content = base.content
	return n, nil
}

func nodeOf(st *unix.Stat_t) *fileNode {
	return &fileNode{mode: st.Mode, uid: st.Uid, gid: st.Gid, read: st.Atim, modified: st.Mtim, names: st.Nlink}
}

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

// namesIn are the names in a directory, without those of itself and its parent.
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

// sameContent tells whether a file of the group holds what a copy does. They are read, and not mapped:
// holes of a file stay what they are, and a copy that is damaged is only another content.
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
	buffer, giveBack := borrow()
	defer giveBack()
	ours, theirs := buffer[:bufferSize/2], buffer[bufferSize/2:]
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

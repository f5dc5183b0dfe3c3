package openfiles

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/incarnation"
	"github.com/tandem-mc/tandem/ckptd/internal/wire"
	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/internal/sys/netns"
	"github.com/tandem-mc/tandem/internal/sys/osthread"
	"github.com/tandem-mc/tandem/internal/sys/sockdiag"
	"github.com/tandem-mc/tandem/internal/sys/sockopt"
)

// A Unix socket that listens, or gets datagrams, is found by its name. An abstract name belongs to
// the network of the group. A path is a file of the group, of a kind that trees of files leave out:
// binding makes it, so it has to be given the owner, the mode and the times that it had.
//
// Connected sockets are refused, but for the ends of a socketpair(2) that are both of the peers:
// see describeUnix and checkPairs. What is on the way between two of them could hold descriptors.

// unixSocket is a Unix socket that is not connected: it listens, or gets datagrams, or does nothing
// yet. Its queue is empty.
type unixSocket struct {
	kind, flags int
	// as it was bound: a path, or with @ in front an abstract name; empty: it was not
	name      string
	root      string // of the process, in the group's tree: / or that of an image
	directory string // in the group's tree, in which a relative path is looked up
	listens   bool
	backlog   int
	options   []option
	file      *unix.Stat_t // at the path; nil: there is none, or it is not the socket's
	above     unix.Stat_t  // of the directory of that
}

// carriedUnix are the options that a new socket gets from the old one. What is set anyway on a new
// one is left as it is.
var carriedUnix = []int{unix.SO_PASSCRED, unix.SO_RCVLOWAT, unix.SO_RCVTIMEO, unix.SO_SNDTIMEO,
	unix.SO_PRIORITY, unix.SO_TIMESTAMP}

// describeLonely describes a Unix socket that is not connected, or refuses. A connection that
// nobody has accepted would have to be made by a process that may be gone; a peer that is about to
// accept it is not quiescent. Options that were not read are left out.
func describeLonely(network *os.File, d *Descriptor, f openFile, fd, kind int) error {
	if n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0); err != nil || n > 0 &&
		kind == unix.SOCK_DGRAM {
		return errors.Join(err, incarnation.Refuse(
			"descriptor %d of process %d is a Unix socket with a message that was not read", f.number, f.pid))
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		return err
	}
	s := &unixSocket{kind: kind, flags: f.flags & (unix.O_NONBLOCK | unix.O_APPEND)}
	if a, ok := name.(*unix.SockaddrUnix); ok {
		s.name = a.Name
	}
	accepts, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ACCEPTCONN)
	if err != nil {
		return err
	}
	// What waits to be accepted shows only to sock_diag, by the inode.
	if s.listens = accepts != 0; s.listens {
		number, err := sys.Inode(fd)
		if err != nil {
			return err
		}
		pending := uint32(0)
		if pending, s.backlog, err = sockdiag.UnixQueue(network, number); err != nil {
			return fmt.Errorf("%w: descriptor %d of process %d, a Unix socket: %w", incarnation.ErrRefused,
				f.number, f.pid, err)
		}
		if pending > 0 {
			return fmt.Errorf("%w: a connection to the Unix socket %s was not accepted", wire.ErrNotQuiescent,
				s.name)
		}
	}
	for _, o := range carriedUnix {
		if value, err := sockopt.Get(fd, unix.SOL_SOCKET, o); err == nil {
			s.options = append(s.options, option{unix.SOL_SOCKET, o, value})
		}
	}
	if err := s.describeFile(f.pid); err != nil {
		return err
	}
	d.make = s.make
	return nil
}

// describeFile notes what is at the path that the socket is bound to. The socket lives on without
// its file, and somebody else may have put another one there: then the new socket is bound, and its
// file removed again. Times are noted since programs can see when something was changed.
func (s *unixSocket) describeFile(pid int) (err error) {
	if s.name == "" || s.name[0] == '@' {
		return nil
	}
	if s.directory, err = os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid)); err != nil {
		return err
	}
	if s.root, err = os.Readlink(fmt.Sprintf("/proc/%d/root", pid)); err != nil {
		return err
	}
	path := s.name
	if !filepath.IsAbs(path) {
		below, _ := strings.CutPrefix(s.directory, strings.TrimSuffix(s.root, "/"))
		path = filepath.Join(below, path)
	}
	if !strings.HasPrefix(path, "/") {
		return incarnation.Refuse("the directory of the Unix socket %s cannot be seen", s.name)
	}
	root := fmt.Sprintf("/proc/%d/root", pid)
	var st unix.Stat_t
	if err := unix.Lstat(root+path, &st); err == nil && st.Mode&unix.S_IFMT == unix.S_IFSOCK {
		s.file = &st
	}
	if err := unix.Stat(root+filepath.Dir(path), &s.above); err != nil {
		return incarnation.Refuse("the directory of the Unix socket %s: %w", s.name, err)
	}
	return nil
}

// make makes a socket like it, in the network of the group. The listening queue begins empty, as it
// was.
func (s *unixSocket) make(of *Making) (fd int, err error) {
	err = netns.InFile(of.Network, func() (err error) {
		fd, err = unix.Socket(unix.AF_UNIX, s.kind|unix.SOCK_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return -1, err
	}
	for _, o := range s.options {
		if now, e := sockopt.Get(fd, o.level, o.name); err == nil &&
			(e != nil || string(now) != string(o.value)) {
			err = sockopt.Set(fd, o.level, o.name, o.value)
		}
	}
	if err == nil && s.name != "" {
		err = s.bind(of, fd)
	}
	if err == nil && s.listens {
		err = unix.Listen(fd, s.backlog)
	}
	if err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_SETFL, s.flags)
	}
	if err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("the Unix socket %s: %w", s.name, err)
	}
	return fd, nil
}

// bind binds a socket as one in the group would. Its file, and the directory of that, look as they
// did. The path is looked up by the thread that binds, so that takes the root and the directory of
// the group for a moment; the thread ends afterwards. A file of that name is the old socket's,
// which cannot be bound to again.
func (s *unixSocket) bind(of *Making, fd int) error {
	if s.name[0] == '@' {
		return unix.Bind(fd, &unix.SockaddrUnix{Name: s.name})
	}
	return osthread.Run(func() error {
		// The root directory of a thread is its process's otherwise.
		if err := unix.Unshare(unix.CLONE_FS); err != nil {
			return err
		}
		err := errors.Join(unix.Fchdir(of.Root), unix.Chroot("."), unix.Chdir(s.directory),
			unix.Chroot(s.root))
		if err != nil {
			return err
		}
		if err := unix.Unlink(s.name); err != nil && err != unix.ENOENT {
			return &fs.PathError{Op: "unlink", Path: s.name, Err: err}
		}
		if err := unix.Bind(fd, &unix.SockaddrUnix{Name: s.name}); err != nil {
			return err
		}
		if s.file == nil {
			return errors.Join(unix.Unlink(s.name), setTimes(filepath.Dir(s.name), &s.above))
		}
		return errors.Join(unix.Lchown(s.name, int(s.file.Uid), int(s.file.Gid)),
			unix.Chmod(s.name, s.file.Mode&0o7777),
			setTimes(s.name, s.file), setTimes(filepath.Dir(s.name), &s.above))
	})
}

// setTimes gives a file the times that it had: programs can see when a directory was changed. A
// symbolic link is not followed.
func setTimes(path string, st *unix.Stat_t) error {
	return unix.UtimesNanoAt(unix.AT_FDCWD, path, []unix.Timespec{st.Atim, st.Mtim}, unix.AT_SYMLINK_NOFOLLOW)
}

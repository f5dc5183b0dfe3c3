// Package openfiles describes the open files of stopped processes, and opens others like them.
//
// A Survey looks at the descriptors of all processes of a group: files, pipes, sockets and what the
// kernel has beside. It refuses what could not be made again as it is. Its Record has a function
// for each description that makes another one like it. A Making calls these while a group is
// restored, and the Descriptors of a process say which number each one had there.
package openfiles

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/incarnation"
	"github.com/tandem-mc/tandem/ckptd/internal/objects"
)

// Descriptor is an open file of a process, with all that it takes to open another like it. A
// process has descriptors; several of these, also of several processes, may be of one description,
// which has the flags and the position.
type Descriptor struct {
	Number      int
	closeOnExec bool
	flags       int // of the description
	// Twin is the index of an earlier descriptor of the same description in the same process, or
	// -1.
	Twin      int
	make      opener
	watched   []registration // of an epoll instance
	pair      [2]uint64      // of a socketpair: inodes of this end and the other
	locks     []lock         // on its file
	pipe      string         // that it is an end of
	inherited bool           // the description is also that of a process described before
}

// Descriptors are all of a process, in the order of their numbers. That is the order in which they
// are made, and sent.
type Descriptors []Descriptor

// opener opens a file as it was; of is what it opens it for. It is called in the daemon, and
// returns a descriptor of the daemon's.
type opener func(of *Making) (int, error)

// Record has what is known of the open files of a group: all that it takes to open others like
// them. It does not change once it is complete. An image keeps it, and makes files by it as often
// as it is restored.
type Record struct {
	sockets []*socket // of TCP
	makers  []opener  // of all descriptions of open files
}

// Survey describes the open files of a group whose processes are stopped. It is for one goroutine.
// What it finds in one process it looks for in the next.
type Survey struct {
	record  Record
	outputs []*os.File
	network *os.File
	hold    func(path string) (*objects.Object, error)
	known   []openFile // of the processes that were described so far
	all     []surveyed
}

// surveyed are the descriptors of one process. When all have been described, ends of pipes and
// pairs are looked for in them.
type surveyed struct {
	pid         int
	descriptors Descriptors
}

// NewSurvey begins with a group in this network namespace, which writes to these outputs of the
// daemon. What is open and has no name is given to hold, by a path of /proc: it has to keep it.
func NewSurvey(outputs []*os.File, network *os.File,
	hold func(path string) (*objects.Object, error)) *Survey {
	return &Survey{outputs: outputs, network: network, hold: hold}
}

// End returns what was found out. It refuses a group that shares a pipe, a pair of sockets or a
// connection with somebody else. These can only be judged when all processes have been described.
func (s *Survey) End() (*Record, error) {
	if err := errors.Join(checkPairs(s.all), checkPipes(s.all)); err != nil {
		return nil, err
	}
	return &s.record, connectEnds(s.record.sockets)
}

// MaxDescriptors is how many descriptors a process may have: they travel in one message. The limit
// of the kernel is a little higher, and mapped files and namespaces travel with them.
const MaxDescriptors = 240

// Describe describes the open files of a stopped process, or refuses what it does not know. Files
// that the process shares with one that was described before are known by that.
//
// Descriptors come in the order of their numbers. That of a description that an earlier descriptor
// of the same process has, too, is only noted as the twin of that.
func (s *Survey) Describe(pid int) (found Descriptors, err error) {
	others, all := s.known, []openFile(nil)
	directory := fmt.Sprintf("/proc/%d/fd", pid)
	entries, err := os.ReadDir(directory)
	if err != nil {
		return nil, err
	}
	if len(entries) > MaxDescriptors {
		return nil, incarnation.Refuse("process %d has %d open files, more than %d", pid, len(entries),
			MaxDescriptors)
	}
	// By this descriptors are duplicated; it is opened once for all of them.
	pidfd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(pidfd)
	var numbers []int
	for _, e := range entries {
		number, err := strconv.Atoi(e.Name())
		if err != nil {
			return nil, err
		}
		numbers = append(numbers, number)
	}
	// The directory lists them in any order.
	slices.Sort(numbers)
	for _, number := range numbers {
		f, err := openFileOf(pid, pidfd, number)
		if err != nil {
			return nil, err
		}
		d := Descriptor{Number: number, flags: f.flags &^ unix.O_CLOEXEC,
			closeOnExec: f.flags&unix.O_CLOEXEC != 0, Twin: -1, locks: f.locks}
		if d.Twin, err = f.findTwin(all); err != nil {
			return nil, err
		}
		if d.Twin < 0 {
			if f.description, err = s.describeOnce(&d, f, others); err != nil {
				return nil, err
			}
		}
		all = append(all, f)
		found = append(found, d)
	}
	s.known = append(s.known, all...)
	s.all = append(s.all, surveyed{pid, found})
	return found, nil
}

// describeOnce describes a description that may be one of another process, too, and returns its
// index. Processes that share one share its position and its flags, so it is made only once.
// Whether it was inherited in a fork or sent over a Unix socket, the kernel does not tell, and it
// does not matter.
func (s *Survey) describeOnce(d *Descriptor, f openFile, others []openFile) (description int,
	err error) {
	n, err := f.findTwin(others)
	if err != nil {
		return -1, err
	}
	if n >= 0 {
		d.inherited = true
		description = others[n].description
	} else {
		description = len(s.record.makers)
		if err := s.describe(d, f); err != nil {
			return -1, err
		}
		s.record.makers = append(s.record.makers, f.locking(d.make))
	}
	d.make = func(of *Making) (int, error) { return of.once(description) }
	return description, nil
}

// locking has a description locked as soon as it is made. A lock of a description is held through
// any of its descriptors, so the daemon can take it for the process.
func (f openFile) locking(open opener) opener {
	if len(f.locks) == 0 {
		return open
	}
	return func(of *Making) (int, error) {
		fd, err := open(of)
		for _, l := range f.locks {
			if err == nil {
				err = l.lockDescription(fd)
			}
		}
		if err != nil && fd >= 0 {
			unix.Close(fd)
		}
		return fd, err
	}
}

// describe finds out how to make a description, or refuses. The kind shows in the link of the
// descriptor in /proc. What is not listed here, such as io_uring, inotify or a pidfd, is refused by
// its name.
func (s *Survey) describe(d *Descriptor, f openFile) error {
	kind, _, _ := strings.Cut(f.link, "[")
	switch {
	case kind == "pipe:":
		return describePipe(s.outputs, d, f)
	case kind == "socket:":
		return s.describeSocket(d, f)
	case strings.HasPrefix(f.link, "/"):
		return describePath(s.hold, d, f)
	case f.link == "anon_inode:[eventpoll]":
		return describeEpoll(d, f)
	case f.link == "anon_inode:[eventfd]":
		return describeEventfd(d, f)
	case f.link == "anon_inode:[timerfd]":
		return describeTimerfd(d, f)
	case f.link == "anon_inode:[signalfd]" || f.link == "anon_inode:[signalfd4]":
		return describeSignalfd(d, f)
	}
	return incarnation.Refuse("descriptor %d of process %d is %s", f.number, f.pid, f.link)
}

// AddSocket describes a socket of TCP and returns its index in Making.Sockets. One that is known
// already, since the proxy or another process has it, too, is not described again.
func (s *Survey) AddSocket(fd int) (int, error) {
	t, err := describeTCP(fd)
	if err != nil {
		return -1, err
	}
	for n, known := range s.record.sockets {
		if known.inode == t.inode {
			return n, nil
		}
	}
	s.record.sockets = append(s.record.sockets, t)
	return len(s.record.sockets) - 1, nil
}

// describeSocket finds out of what kind a socket is, and describes it. The link has only its inode;
// the rest is asked of a duplicate.
func (s *Survey) describeSocket(d *Descriptor, f openFile) error {
	fd, err := f.duplicate()
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	domain, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	if err != nil {
		return err
	}
	kind, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	switch {
	case err != nil:
		return err
	case domain == unix.AF_UNIX:
		return describeUnix(s.network, d, f, fd)
	case domain == unix.AF_NETLINK:
		return describeNetlink(d, f, fd, kind)
	case kind == unix.SOCK_DGRAM:
		return describeUDP(d, f, fd, domain)
	}
	// By the time that it is made all sockets of TCP are there, since both ends of a connection are
	// made together: see MakeSockets.
	n, err := s.AddSocket(fd)
	d.make = func(of *Making) (int, error) {
		return unix.FcntlInt(uintptr(of.Sockets[n]), unix.F_DUPFD_CLOEXEC, 0)
	}
	return err
}

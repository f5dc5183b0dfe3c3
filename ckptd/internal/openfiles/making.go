package openfiles

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys"
)

// The daemon makes the files of all processes itself, since it has the rights for it, and sends
// each process descriptors of its own. What is shared among processes is made once and sent several
// times.

// Making makes the open files of a group again. It is for one goroutine at a time. Whatever it
// opens in the daemon is closed at the end, whether the restore has succeeded or not.
type Making struct {
	Network *os.File // network namespace of the group
	Root    int      // root directory of the process whose files are made
	Sockets []int    // of TCP: see MakeSockets

	record *Record
	pipes  map[string][2]int // both ends of pipes and pairs of sockets, by their names
	made   map[int]int       // descriptions of open files, by their index
	opened []int
}

// Make begins to make files; nothing is open yet. It is called once for each restore of the image.
func (r *Record) Make() *Making {
	return &Making{record: r, pipes: map[string][2]int{}, made: map[int]int{}}
}

// MakeSockets makes all sockets of TCP, with their connections, in the network namespace of the
// calling thread: the two ends of a connection can only be made together.
func (of *Making) MakeSockets() (err error) {
	of.Sockets, err = makeSockets(of.record.sockets)
	if err == nil {
		of.CloseLater(of.Sockets...)
	}
	return err
}

// CloseLater has descriptors closed at the end of the making.
func (of *Making) CloseLater(fds ...int) { of.opened = append(of.opened, fds...) }

// Close closes all that was opened. The processes have descriptors of their own.
func (of *Making) Close() { sys.CloseAll(of.opened) }

// Open opens files like those of a process, one for each description, in the order of Descriptors.
// Numbers do not matter yet: the daemon sends the descriptors in this order, and the process gives
// them their numbers.
func (of *Making) Open(all Descriptors) (fds []int, err error) {
	for _, d := range all {
		if d.Twin >= 0 {
			continue
		}
		fd, err := d.make(of)
		if err != nil {
			return nil, fmt.Errorf("descriptor %d: %w", d.Number, err)
		}
		of.CloseLater(fd)
		fds = append(fds, fd)
	}
	return fds, nil
}

// once makes a description, or gets a descriptor of it where it was made before. Processes that
// share a description get descriptors of the same one, and so see each other move its position as
// they did.
func (of *Making) once(description int) (int, error) {
	if fd, made := of.made[description]; made {
		return unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	}
	fd, err := of.record.makers[description](of)
	if err == nil {
		of.made[description] = fd
	}
	return fd, err
}

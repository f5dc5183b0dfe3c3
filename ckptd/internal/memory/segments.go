package memory

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/incarnation"
	"github.com/tandem-mc/tandem/ckptd/internal/mappings"
	"github.com/tandem-mc/tandem/ckptd/internal/process"
)

// Segments of System V have numbers that nobody can choose, so they must not go while an image is
// there that needs them: copies are attached to them. A restore removes those that have come since.

// segments are the System V shared memory of a group. Their content is held as that of any shared
// memory; what there is beside that is which ones there are.
type segments []segment

// segment is a piece of System V shared memory. Copies are attached to it, so that it lives on
// while they do.
type segment struct {
	id uint64
	// is what a restore must find unchanged: key, owner, mode and size.
	is [56]byte
}

// Commands of shmctl(2).
const (
	shmRemove = 0
	shmStat   = 13 // by its place in the kernel's table
	shmInfo   = 14
)

// shmctl is called by a thread in the namespace of the group. It blocks nowhere, so the scheduler
// of Go need not know of it.
func shmctl(id uint64, command uintptr, buffer *[112]byte) (uint64, unix.Errno) {
	r, _, errno := unix.RawSyscall(unix.SYS_SHMCTL, uintptr(id), command, uintptr(unsafe.Pointer(buffer)))
	return uint64(r), errno
}

// listSegments lists those in the namespace of the calling thread, in the order of their ids. The
// kernel numbers the places of its table, of which some may be free.
func listSegments() (all segments, err error) {
	var buffer [112]byte // struct shmid_ds, and more than struct shm_info
	last, errno := shmctl(0, shmInfo, &buffer)
	if errno == unix.ENOSYS {
		return nil, nil
	}
	if errno != 0 {
		return nil, fmt.Errorf("count the System V shared memory of the group: %w", errno)
	}
	if binary.NativeEndian.Uint32(buffer[:]) == 0 {
		return nil, nil
	}
	for n := range last + 1 {
		id, errno := shmctl(n, shmStat, &buffer)
		if errno == unix.EINVAL { // a free place
			continue
		}
		if errno != 0 {
			return nil, fmt.Errorf("look at the System V shared memory of the group: %w", errno)
		}
		s := segment{id: id}
		copy(s.is[:], buffer[:])
		all = append(all, s)
	}
	return all, nil
}

// check refuses memory to which nobody is attached: no image would hold its content. What is
// attached shows as memory without a name, under the number of the segment as its inode.
func (all segments) check(frozen []*process.Frozen) error {
	for _, s := range all {
		shows := func(m *mappings.Mapping) bool {
			return m.Inode == s.id && strings.HasPrefix(m.Name, "/SYSV")
		}
		attached := func(p *process.Frozen) bool { return slices.ContainsFunc(p.Memory.Unnamed, shows) }
		if !slices.ContainsFunc(frozen, attached) {
			return incarnation.Refuse(
				"the group has System V shared memory (%d), to which no process is attached", s.id)
		}
	}
	return nil
}

// putBack removes segments that were made since. It is called on the tracer's thread. One that was
// removed since cannot be made again, since its number could not be chosen: each of all must still
// be there, with the same number, key, owner and size.
func (all segments) putBack() error {
	now, err := listSegments()
	if err != nil {
		return err
	}
	for _, s := range now {
		if slices.ContainsFunc(all, func(was segment) bool { return was.id == s.id }) {
			continue
		}
		if _, errno := shmctl(s.id, shmRemove, nil); errno != 0 {
			return fmt.Errorf("remove System V shared memory: %w", errno)
		}
	}
	for _, was := range all {
		if !slices.Contains(now, was) {
			return errors.New(
				"a segment of System V shared memory was removed, or is another's, since the checkpoint")
		}
	}
	return nil
}

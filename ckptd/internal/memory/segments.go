package memory

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/incarnation"
	"github.com/tandem-mc/tandem/ckptd/internal/mappings"
	"github.com/tandem-mc/tandem/ckptd/internal/process"
)

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

// shmctl is called by a thread in the namespace of the group.
func shmctl(id uint64, command uintptr, buffer *[112]byte) (uint64, unix.Errno) {
	r, _, errno := unix.RawSyscall(unix.SYS_SHMCTL, uintptr(id), command, uintptr(unsafe.Pointer(buffer)))
	return uint64(r), errno
}

// listSegments lists those in the namespace of the calling thread, in the order of their ids.
func listSegments() (all []segment, err error) {
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

// checkSegments refuses memory to which nobody is attached: no image would hold its content.
func (m *Image) checkSegments(frozen []*process.Process) error {
	for _, s := range m.segments {
		attached := func(k *mappings.Mapping) bool {
			return k.Inode == s.id && len(k.Name) > 5 &&
				k.Name[:5] == "/SYSV"
		}
		if !slices.ContainsFunc(frozen, func(p *process.Process) bool {
			return slices.ContainsFunc(p.Unnamed,
				attached)
		}) {
			return incarnation.Refuse(
				"the group has System V shared memory (%d), to which no process is attached", s.id)
		}
	}
	return nil
}

// putBackSegments removes segments that were made since. It is called on the tracer's thread.
func (m *Image) putBackSegments() error {
	now, err := listSegments()
	if err != nil {
		return err
	}
	for _, s := range now {
		if slices.ContainsFunc(m.segments, func(was segment) bool { return was.id == s.id }) {
			continue
		}
		if _, errno := shmctl(s.id, shmRemove, nil); errno != 0 {
			return fmt.Errorf("remove System V shared memory: %w", errno)
		}
	}
	for _, was := range m.segments {
		if !slices.Contains(now, was) {
			return errors.New(
				"a segment of System V shared memory was removed, or is another's, since the checkpoint")
		}
	}
	return nil
}

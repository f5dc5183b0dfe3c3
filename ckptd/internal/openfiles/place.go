package openfiles

import (
	"encoding/binary"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/tracer"
)

// A restored process gets descriptors in one message, as 0, 1, 2 and so on, and gives them the
// numbers that they had. The calls for that are planned here: they are part of the program that
// makes the process again. They must hold whatever the numbers are, since a descriptor may have to
// go where another one is.

// Descriptions is how many descriptions the descriptors are of. Twins come without a descriptor of
// their own.
func (all Descriptors) Descriptions() (count int) {
	for _, d := range all {
		if d.Twin < 0 {
			count++
		}
	}
	return count
}

// Above is the lowest number above those of all descriptors. From there on numbers are free.
func (all Descriptors) Above() (above int) {
	for _, d := range all {
		above = max(above, d.Number+1)
	}
	return above
}

// FreeNumbers are the lowest numbers that no descriptor has: those that the next files would get.
// The kernel gives out the lowest free number, so that a batch of calls can count on them.
func (all Descriptors) FreeNumbers(count int) (free []int) {
	for number := 0; len(free) < count; number++ {
		if !slices.ContainsFunc(all, func(d Descriptor) bool { return d.Number == number }) {
			free = append(free, number)
		}
	}
	return free
}

// Place adds the calls that give descriptors their numbers, and what belongs to the process and not
// to the description. One descriptor of each description is there, as 0, 1, 2, in their order.
func (all Descriptors) Place(b *tracer.Batch) {
	var first []Descriptor // of their descriptions, in the order of their numbers
	for _, d := range all {
		if d.Twin < 0 {
			first = append(first, d)
		}
	}
	// Each has a number that is not below its place: from the last one on, none is in the
	// way of another.
	for n := len(first) - 1; n >= 0; n-- {
		d := first[n]
		if d.Number != n {
			b.Add("move a descriptor", unix.SYS_DUP3, uint64(n), uint64(d.Number), closeOnExecFlag(d))
			b.Add("close a descriptor", unix.SYS_CLOSE, uint64(n))
		} else if !d.closeOnExec {
			// It is in its place, where it was received close-on-exec.
			b.Add("keep a descriptor", unix.SYS_FCNTL, uint64(n), unix.F_SETFD, 0)
		}
	}
	for _, d := range all {
		if d.Twin >= 0 {
			b.Add("duplicate a descriptor", unix.SYS_DUP3, uint64(all[d.Twin].Number),
				uint64(d.Number), closeOnExecFlag(d))
		}
	}
	defer all.lockFiles(b)
	// What an epoll instance watches has its number only now.
	for _, d := range all {
		for _, w := range d.watched {
			event := binary.NativeEndian.AppendUint32(nil, w.events)
			event = binary.NativeEndian.AppendUint64(event, w.data)
			b.Add("watch a descriptor", unix.SYS_EPOLL_CTL, uint64(d.Number), unix.EPOLL_CTL_ADD,
				uint64(w.number), b.Put(event))
		}
	}
}

// closeOnExecFlag is the flag for dup3(2). All are received close-on-exec, so the flag has to be
// set only where a descriptor is moved or duplicated.
func closeOnExecFlag(d Descriptor) uint64 {
	if d.closeOnExec {
		return unix.O_CLOEXEC
	}
	return 0
}

// lockFiles adds the calls that take the locks which belong to the process. It would lose those on
// a file when it closes any descriptor of that, so they come last. The processes that held such a
// lock have ended.
func (all Descriptors) lockFiles(b *tracer.Batch) {
	for _, d := range all {
		for _, l := range d.locks {
			if l.class != "POSIX" {
				continue
			}
			r := l.ranged()
			text := unsafe.Slice((*byte)(unsafe.Pointer(&r)), unsafe.Sizeof(r))
			b.Add("take the lock on a file", unix.SYS_FCNTL, uint64(d.Number), unix.F_SETLK, b.Put(text))
		}
	}
}

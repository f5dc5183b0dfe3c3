// Package process has the stages of a process that goes back in memory.
//
// A Frozen process is a peer, or what one has forked, stopped for a checkpoint. Examine and
// ExamineMemory read what /proc tells of it, and refuse what could not be made again. Inject gives
// it room for system calls that the daemon has it carry out. Fork, or Interrogate for one that a
// peer has forked, asks by these what only the process can tell. Thaw lets it go on.
//
// What an image knows of a process is Saved: Fork returns that of the copy. A Revival makes
// processes like those that were saved. These are Restored, and run once they are released.
//
// All of it is for the tracer's goroutine, but for ExamineMemory and SaveDifference.
package process

import (
	"encoding/binary"
	"maps"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/openfiles"
	"github.com/tandem-mc/tandem/ckptd/internal/paths"
	"github.com/tandem-mc/tandem/ckptd/internal/store"
)

// Saved is what an image knows of a process: all that it takes to make another one like it, but for
// the content of its memory, which is that of the copy.
//
// It is small beside the copy, and of an image with many peers there is one for each. Images of the
// same peer share what has no name, and pages of what it has forked.
type Saved struct {
	// PID is that of the copy, as the daemon sees it. What a peer has forked has no copy: it is
	// that of the process itself then, and may be somebody else's by now.
	PID         int
	Inner       int // in the group's pid namespace
	Children    []*Saved
	Descriptors openfiles.Descriptors
	Memory      AddressSpace
	Tables      int64 // bytes of page tables

	threads    []*thread
	attributes attributes
	descent    *descent // nil: it is a peer
	calls      uint64   // address of the mapping for calls; 0: there is none
}

// attributes are what a process has of its own and a fork of it would not have. A process gets them
// back by calls of its own.
type attributes struct {
	timers    [3]unix.Itimerval // real, virtual, profiling
	subreaper uint64            // 1: it adopts orphans
	directory string
}

// tracee is the stopped copy. It forks whenever the image is restored, and is never let go.
func (s *Saved) tracee() tracee { return tracee{s.PID, s.calls, s.threads[0].registers} }

const timerBytes = 32

// decodeTimer reads a struct itimerval of the kernel.
func decodeTimer(b []byte) (t unix.Itimerval) {
	word := func(n int) int64 { return int64(binary.NativeEndian.Uint64(b[8*n:])) }
	t.Interval = unix.Timeval{Sec: word(0), Usec: word(1)}
	t.Value = unix.Timeval{Sec: word(2), Usec: word(3)}
	return t
}

// encodeTimer writes one, the interval first.
func encodeTimer(t unix.Itimerval) (b []byte) {
	for _, word := range []int64{t.Interval.Sec, t.Interval.Usec, t.Value.Sec, t.Value.Usec} {
		b = binary.NativeEndian.AppendUint64(b, uint64(word))
	}
	return b
}

// MappedFilesOf are the files that processes have mapped and do not copy when they write, with
// those of all that they have forked.
func MappedFilesOf(all []*Saved) store.MappedFiles {
	f := store.MappedFiles{Inodes: map[uint64]bool{}, Names: map[string]bool{}}
	for _, p := range all {
		for _, m := range p.Memory.mappings {
			if m.Shared && m.Inode != 0 {
				f.Inodes[m.Inode] = true
				f.Names[strings.TrimPrefix(m.Name, paths.Run+"/")] = true
			}
		}
		below := MappedFilesOf(p.Children)
		maps.Copy(f.Inodes, below.Inodes)
		maps.Copy(f.Names, below.Names)
	}
	return f
}

package process

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/mappings"
	"github.com/tandem-mc/tandem/ckptd/internal/openfiles"
	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/internal/sys/osthread"
	"github.com/tandem-mc/tandem/internal/sys/ptrace"
)

// A process is made again by a fork of the copy, so it has the memory that it had without a copy of
// its pages. What a fork does not carry over is in its plan. What a peer had forked is forked by
// the new process, as it was by the old one, so that each is the other's child or parent again.

// Revival is what it takes to make the processes of a group again. The group's processes are made
// one after the other, parents before what they have forked: a description of an open file is made
// when the first of them needs it.
type Revival struct {
	Files *openfiles.Making // what they had open
	Clock *os.File          // time namespace to be in
	Here  *unix.CPUSet      // where they run until they are released
}

// MakePeer makes a process like a peer that was saved, by a fork of the copy; it does not run yet.
//
// The copy forks once more, with the process ID of the peer, and stays as it is. The fork becomes
// the peer: it gets files, network, time, threads and timers.
func (r *Revival) MakePeer(s *Saved) (*Restored, error) {
	q := s.restored()
	fds, remapped, err := r.open(s)
	if err != nil {
		return nil, err
	}
	q.remapped = len(remapped) > 0
	p := planPeer(q, len(fds), remapped)
	// A fork inherits it, and so runs beside the tracer until it is released.
	if err := osthread.SetProcessors(s.PID, r.Here); err != nil {
		return nil, err
	}
	if q.PID, err = s.tracee().fork(p.first, p.made); err != nil {
		return nil, err
	}
	if err := q.carryOut(p, fds); err != nil {
		return nil, err
	}
	// At the end of the longest line everything is mapped anew: a new line begins.
	if q.Generation = s.Memory.Generation + 1; s.Memory.Generation >= MaxGeneration {
		q.Generation = 0
	}
	for _, m := range remapped {
		if m.Shared {
			continue
		}
		if err := m.CopyOwn(s.PID, q.PID); err != nil {
			return nil, err
		}
	}
	return q, ptrace.WriteMemory(q.PID, s.Memory.wiped...)
}

// open opens files like those that the process had, twins left out, then those to be mapped again,
// and last the namespaces to enter: the order in which plan.install has them.
func (r *Revival) open(s *Saved) (fds []int, remapped []mappings.Remap, err error) {
	if fds, err = r.Files.Open(s.Descriptors); err != nil {
		return nil, nil, err
	}
	remapped, files, err := r.remaps(s)
	r.Files.CloseLater(files...)
	if err != nil {
		return nil, nil, err
	}
	fds = append(fds, files...)
	return append(fds, int(r.Files.Network.Fd()), int(r.Clock.Fd())), remapped, nil
}

// A restored process maps some of its memory anew, and gets its own pages of that copied into it.
// Files that were put back may be other files than those that the copy had mapped. And the longer a
// line of forks, each from the one before it, the more the kernel has to do for every further one
// (memory is listed with all ancestors that may share its pages): at the end of a long line,
// everything is mapped anew.

// remaps lists the mappings to be made anew, and opens their files. Also after an error these are
// the caller's.
//
// A file of the group is mapped anew if it is another file now. All else only at the end of a long
// line.
func (r *Revival) remaps(s *Saved) (list []mappings.Remap, fds []int, err error) {
	for n, m := range s.Memory.mappings {
		replaced := false
		if m.InGroup() {
			if replaced, err = isReplaced(m, r.Files.Root); err != nil {
				return list, fds, err
			}
		}
		fd := -1
		switch {
		case replaced:
			access := unix.O_RDONLY
			if m.Shared {
				access = unix.O_RDWR
			}
			fd, err = openfiles.OpenBelow(r.Files.Root, m.Name, access, 0, false)
		case !s.Memory.isRemapped(n):
			continue
		case m.Inode != 0: // the very file that the copy has, whatever its name leads to now
			fd, err = unix.Open(fmt.Sprintf("/proc/%d/map_files/%x-%x", s.PID, m.From, m.End()),
				unix.O_RDONLY|unix.O_CLOEXEC, 0)
		}
		if err != nil {
			return list, fds, fmt.Errorf("open %s to map it anew: %w", m.Name, err)
		}
		if fd >= 0 {
			fds = append(fds, fd)
		}
		list = append(list, mappings.Remap{Mapping: m, FromFile: fd >= 0})
	}
	return list, fds, nil
}

// isReplaced tells whether the file at the path is another one since it was put back.
func isReplaced(m *mappings.Mapping, root int) (bool, error) {
	fd, err := openfiles.OpenBelow(root, m.Name, unix.O_PATH, 0, false)
	if err != nil {
		return false, err
	}
	defer unix.Close(fd)
	now, err := sys.Inode(fd)
	return now != m.Inode, err
}

// MakeChildren has a restored process, which does not run yet, fork those that it had forked. It
// returns also those that it has made before an error.
func (r *Revival) MakeChildren(parent *Restored, children []*Saved) (all []*Restored, err error) {
	for _, c := range children {
		q, err := r.makeChild(parent, c)
		if err != nil {
			return all, fmt.Errorf("make process %d again: %w", c.Inner, err)
		}
		all = append(all, q)
		below, err := r.MakeChildren(q, c.Children)
		all = append(all, below...)
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

// makeChild has a restored parent fork one child, and makes that what it was. Its parts are those
// of MakePeer, but memory is made the child's instead of the parent's.
func (r *Revival) makeChild(parent *Restored, c *Saved) (*Restored, error) {
	q := c.restored()
	// The list of mappings is compared in full, since many of them may be new.
	q.calls, q.remapped = parent.calls, true
	var err error
	if q.PID, err = parent.tracee().forkChild(q.Inner, c.descent.exitSignal); err != nil {
		return nil, err
	}
	fds, err := r.Files.Open(c.Descriptors)
	if err != nil {
		return nil, err
	}
	files, err := c.descent.memory.open(r.Files.Root)
	r.Files.CloseLater(files...)
	if err != nil {
		return nil, err
	}
	fds = append(fds, files...)
	p := planChild(q, len(fds))
	if err := q.makePair(p); err != nil {
		return nil, err
	}
	if err := q.carryOut(p, fds); err != nil {
		return nil, err
	}
	return q, c.descent.memory.write(q.PID)
}

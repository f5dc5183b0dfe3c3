package process

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/mappings"
	"github.com/tandem-mc/tandem/ckptd/internal/openfiles"
	"github.com/tandem-mc/tandem/internal/sys"
)

// A restored process maps some of its memory anew, and gets its own pages of that copied
// into it. Files that were put back may be other files than those that the copy had
// mapped. And the longer a line of forks, each from the one before it, the more the kernel
// has to do for every further one (memory is listed with all ancestors that may share its
// pages): at the end of a long line, everything is mapped anew.

// MaxGeneration is how many forks may lie between a process and one that shares no page
// with others.
const MaxGeneration = 32

// remaps lists the mappings to be made anew, and opens their files.
func (r *Revival) remaps(p *Process) (list []mappings.Remap, fds []int, err error) {
	for n, m := range p.mappings {
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
		case !p.isRemapped(n):
			continue
		case m.Inode != 0:
			fd, err = unix.Open(fmt.Sprintf("/proc/%d/map_files/%x-%x", p.PID, m.From, m.End()),
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

// isRemapped tells whether mapping n is made anew since the line of forks is long.
func (p *Process) isRemapped(n int) bool {
	return p.Generation >= MaxGeneration && p.mappings[n].Renewable() && !mappings.Mergeable(p.mappings, n) &&
		!mappings.Mergeable(p.mappings, n+1)
}

// mayRemap lists what a restore of a copy may make anew: all files of the group may be other files
// by then.
func (p *Process) mayRemap() (list []mappings.Remap) {
	for n, m := range p.mappings {
		if m.InGroup() || p.isRemapped(n) {
			list = append(list, mappings.Remap{Mapping: m, FromFile: m.InGroup() || m.Inode != 0})
		}
	}
	return list
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

package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/incarnation"
	"github.com/tandem-mc/tandem/ckptd/internal/mappings"
	"github.com/tandem-mc/tandem/ckptd/internal/openfiles"
	"github.com/tandem-mc/tandem/ckptd/internal/pagemap"
	"github.com/tandem-mc/tandem/internal/sys"
)

// A child has its memory from a fork of its parent, some time ago. So most of it is the parent's
// still: the same mappings, and the same pages of the machine. An image of the child is what is
// not. Where the restored parent forks, only that has to be changed.

// difference is how the memory of a process differs from that of its parent: what has to be done to
// a fork of the parent so that it has the memory of the process.
type difference struct {
	unmapped []pagemap.Region // what the parent has mapped, and it has not as it is
	remapped []mappings.Remap // what it has mapped, and the parent has not as it is
	pages    []OwnPage        // those that it does not share with the parent, in their order
	emptied  []pagemap.Region // where the parent has pages, and it has none
}

// OwnPage is a page with its content, which images share where it is the same. Its content never
// changes, so images hold the same one where a page has stayed as it was.
type OwnPage struct {
	address uint64
	content *[pagemap.PageSize]byte
}

// compareMappings finds out what a fork of a parent would have to unmap and to map anew, from the
// mappings of both in the order of their addresses, and which ones both have. One pass goes through
// both lists, as in a merge. A mapping of the parent that is none of the process's is unmapped,
// also where the process has another one.
func compareMappings(pid int, parents, own []*mappings.Mapping) (
	d difference, common []pagemap.Region, err error,
) {
	n := 0
	unmapBefore := func(end uint64) {
		for n < len(parents) && parents[n].From < end {
			d.unmapped = append(d.unmapped, parents[n].Region())
			n++
		}
	}
	for _, m := range own {
		unmapBefore(m.From)
		if n < len(parents) && parents[n].SameAs(m) {
			common = append(common, m.Region())
			n++
			continue
		}
		r, err := remapOf(pid, m)
		if err != nil {
			return d, nil, err
		}
		d.remapped = append(d.remapped, r)
	}
	unmapBefore(^uint64(0))
	return d, common, nil
}

// refuseKernels refuses a process that has unmapped what the kernel gives to every process, such as
// the vDSO: no restore takes that away from a fork.
func (d *difference) refuseKernels(pid int, parents []*mappings.Mapping) error {
	for _, r := range d.unmapped {
		for _, m := range parents {
			if m.IsKernels() && m.From < r.To && r.From < m.End() {
				return incarnation.Refuse("process %d has unmapped %s", pid, m.Name)
			}
		}
	}
	return nil
}

// withHeapOf are the mappings of a parent as they are once brk(2) was called in a fork of it: its
// heap is as long as the child's then, if the child has not mapped anything else there.
func withHeapOf(parents, own []*mappings.Mapping, brk uint64) []*mappings.Mapping {
	const size = pagemap.PageSize
	whole := func(at uint64) uint64 { return (at + size - 1) / size * size }
	all := slices.Clone(parents)
	is := func(m *mappings.Mapping) bool { return m.Name == "[heap]" }
	n, k := slices.IndexFunc(all, is), slices.IndexFunc(own, is)
	if n >= 0 && k >= 0 && all[n].From == own[k].From && own[k].End() == whole(brk) {
		heap := *all[n]
		heap.Length = own[k].Length
		all[n] = &heap
	}
	return all
}

// remapOf tells how a mapping of a process is made anew, or refuses. It may have no flag that a new
// mapping could not be given, and be of a file that can be opened, or of nothing.
func remapOf(pid int, m *mappings.Mapping) (mappings.Remap, error) {
	for _, flag := range m.Flags {
		if !mappings.IsRenewable(flag) && !slices.Contains([]string{"sh", "ms", "dw"}, flag) {
			return mappings.Remap{}, incarnation.Refuse(
				"memory of process %d at %#x %s has the flag %s, which its parent's has not", pid, m.From,
				m.Name, flag)
		}
	}
	anonymous := m.Name == "" || m.Name == "[heap]" || m.Name == "[stack]" || m.GivenName() != ""
	switch {
	case m.Object != nil, strings.HasPrefix(m.Name, "/") && m.Inode != 0:
		return mappings.Remap{Mapping: m, FromFile: true}, nil
	case anonymous && !m.Shared:
		return mappings.Remap{Mapping: m, FromFile: false}, nil
	}
	return mappings.Remap{}, incarnation.Refuse("memory of process %d at %#x is %s, which its parent has not",
		pid, m.From, m.Name)
}

// open opens the files of what is to be mapped anew, as the group has them now. A library that is
// another file than it was is an error: the child would run other code. Also after an error the
// descriptors are the caller's.
func (d *difference) open(root int) (fds []int, err error) {
	for _, m := range d.remapped {
		if !m.FromFile {
			continue
		}
		access := unix.O_RDONLY
		if m.Shared && (m.InGroup() || m.Object != nil) {
			access = unix.O_RDWR
		}
		var fd int
		if m.Object != nil {
			fd, err = unix.Open(m.Object.Path(), access|unix.O_CLOEXEC, 0)
		} else {
			fd, err = openfiles.OpenBelow(root, m.Name, access, 0, false)
		}
		if err != nil {
			return fds, fmt.Errorf("open %s to map it: %w", m.Name, err)
		}
		fds = append(fds, fd)
		if now, err := sys.Inode(fd); err != nil || now != m.Inode && !m.InGroup() {
			return fds, errors.Join(err, fmt.Errorf("%s is another file than it was", m.Name))
		}
	}
	return fds, nil
}

// most is how many pages are read or written at a time.
const most = sys.BufferSize / pagemap.PageSize

// read reads pages of a process, and counts the bytes that no earlier image of it has. Earlier
// pages are in the order of their addresses, too, so that one pass finds those at the same address.
func (d *difference) read(pid int, all []pagemap.Region, earlier []OwnPage) (fresh int64, err error) {
	// The daemon may read where the process itself may not.
	memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		return 0, err
	}
	defer memory.Close()
	buffer, giveBack := sys.Borrow()
	defer giveBack()
	for _, r := range all {
		for r.From < r.To {
			part := buffer[:min(most*pagemap.PageSize, r.To-r.From)]
			if _, err := memory.ReadAt(part, int64(r.From)); err != nil {
				return 0, fmt.Errorf("read pages of process %d: %w", pid, err)
			}
			for ; len(part) > 0; part = part[pagemap.PageSize:] {
				for len(earlier) > 0 && earlier[0].address < r.From {
					earlier = earlier[1:]
				}
				page := OwnPage{address: r.From}
				if len(earlier) > 0 && earlier[0].address == r.From &&
					bytes.Equal(earlier[0].content[:], part[:pagemap.PageSize]) {
					page.content = earlier[0].content
				} else {
					page.content = new([pagemap.PageSize]byte)
					copy(page.content[:], part)
					fresh += pagemap.PageSize
				}
				d.pages = append(d.pages, page)
				r.From += pagemap.PageSize
			}
		}
	}
	return fresh, nil
}

// write writes the pages into a stopped process, runs of neighbours at once. Pages that the parent
// has and the child had not were emptied by then: see plan.freeMemory.
func (d *difference) write(pid int) error {
	// The daemon may write where the process itself may not.
	memory, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer memory.Close()
	buffer, giveBack := sys.Borrow()
	defer giveBack()
	for n := 0; n < len(d.pages); {
		first, count := d.pages[n].address, 0
		for n < len(d.pages) && count < most && d.pages[n].address == first+uint64(count)*pagemap.PageSize {
			copy(buffer[count*pagemap.PageSize:], d.pages[n].content[:])
			n, count = n+1, count+1
		}
		if _, err := memory.WriteAt(buffer[:count*pagemap.PageSize], int64(first)); err != nil {
			return fmt.Errorf("write pages of process %d: %w", pid, err)
		}
	}
	return nil
}

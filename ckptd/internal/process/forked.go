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

// forked is how the memory of a process differs from that of its parent.
type forked struct {
	unmapped []pagemap.Region // what the parent has mapped, and it has not as it is
	remapped []mappings.Remap // what it has mapped, and the parent has not as it is
	pages    []OwnPage        // those that it does not share with the parent, in their order
	emptied  []pagemap.Region // where the parent has pages, and it has none
}

// OwnPage is a page with its content, which images share where it is the same.
type OwnPage struct {
	address uint64
	content *[pagemap.PageSize]byte
}

// OwnPages are the pages that a process does not share with its parent, once they are saved.
func (p *Process) OwnPages() []OwnPage { return p.descent.memory.pages }

// CompareMappings finds out what a fork of the parent would have to unmap and to map anew. It
// returns what both have.
func (p *Process) CompareMappings() (common []*mappings.Mapping, err error) {
	f := &p.descent.memory
	*f = forked{}
	parents := p.Parent.withHeapOf(p)
	n := 0
	for _, m := range p.mappings {
		for n < len(parents) && parents[n].From < m.From {
			f.unmapped = append(f.unmapped, parents[n].Region())
			n++
		}
		if n < len(parents) && parents[n].SameAs(m) {
			common = append(common, m)
			n++
			continue
		}
		r, err := p.remapOf(m)
		if err != nil {
			return nil, err
		}
		f.remapped = append(f.remapped, r)
		for n < len(parents) && parents[n].From < m.End() {
			f.unmapped = append(f.unmapped, parents[n].Region())
			n++
		}
	}
	for ; n < len(parents); n++ {
		f.unmapped = append(f.unmapped, parents[n].Region())
	}
	for _, r := range f.unmapped {
		for _, m := range p.Parent.mappings {
			if m.IsKernels() && m.From < r.To && r.From < m.End() {
				return nil, incarnation.Refuse("process %d has unmapped %s", p.PID, m.Name)
			}
		}
	}
	return common, nil
}

// withHeapOf are the mappings as they are once brk(2) was called.
func (p *Process) withHeapOf(c *Process) []*mappings.Mapping {
	const size = pagemap.PageSize
	whole := func(at uint64) uint64 { return (at + size - 1) / size * size }
	all := slices.Clone(p.mappings)
	is := func(m *mappings.Mapping) bool { return m.Name == "[heap]" }
	n, k := slices.IndexFunc(all, is), slices.IndexFunc(c.mappings, is)
	if n >= 0 && k >= 0 && all[n].From == c.mappings[k].From && c.mappings[k].End() == whole(c.descent.brk) {
		heap := *all[n]
		heap.Length = c.mappings[k].Length
		all[n] = &heap
	}
	return all
}

// remapOf tells how a mapping is made anew, or refuses.
func (p *Process) remapOf(m *mappings.Mapping) (mappings.Remap, error) {
	for _, flag := range m.Flags {
		if !mappings.IsRenewable(flag) && !slices.Contains([]string{"sh", "ms", "dw"}, flag) {
			return mappings.Remap{}, incarnation.Refuse(
				"memory of process %d at %#x %s has the flag %s, which its parent's has not", p.PID, m.From,
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
		p.PID, m.From, m.Name)
}

// open opens the files of what is to be mapped anew, as the group has them now. A library that is
// another file than it was is an error: the child would run other code.
func (f *forked) open(r *Revival) (fds []int, err error) {
	for _, m := range f.remapped {
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
			fd, err = openfiles.OpenBelow(r.Files.Root, m.Name, access, 0, false)
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

// SavePages notes the pages that a frozen process does not share with its parent. Those that an
// earlier image of it has with the same content are shared with that.
func (p *Process) SavePages(common []*mappings.Mapping, earlier []OwnPage) (fresh int64, err error) {
	var regions []pagemap.Region
	for _, m := range common {
		regions = append(regions, m.Region())
	}
	d, err := pagemap.Compare(p.PID, p.Parent.PID, regions, p.calls())
	if err != nil {
		return 0, err
	}
	f := &p.descent.memory
	f.emptied = d.Emptied
	return f.read(p.PID, d.Own, earlier)
}

// read reads pages of a process.
func (f *forked) read(pid int, all []pagemap.Region, earlier []OwnPage) (fresh int64, err error) {
	memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid)) // may read where the process may not
	if err != nil {
		return 0, err
	}
	defer memory.Close()
	const most = sys.BufferSize / pagemap.PageSize // pages at a time
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
				f.pages = append(f.pages, page)
				r.From += pagemap.PageSize
			}
		}
	}
	return fresh, nil
}

// write writes the pages into a stopped process, runs of neighbours at once.
func (f *forked) write(pid int) error {
	// may write where the process may not
	memory, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer memory.Close()
	const most = sys.BufferSize / pagemap.PageSize // pages at a time
	buffer, giveBack := sys.Borrow()
	defer giveBack()
	for n := 0; n < len(f.pages); {
		first, count := f.pages[n].address, 0
		for n < len(f.pages) && count < most && f.pages[n].address == first+uint64(count)*pagemap.PageSize {
			copy(buffer[count*pagemap.PageSize:], f.pages[n].content[:])
			n, count = n+1, count+1
		}
		if _, err := memory.WriteAt(buffer[:count*pagemap.PageSize], int64(first)); err != nil {
			return fmt.Errorf("write pages of process %d: %w", pid, err)
		}
	}
	return nil
}

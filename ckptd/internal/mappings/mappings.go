// Package mappings has the pieces of a process's address space: how the kernel describes them,
// which ones change with the group, and how a process maps one anew so that it looks as it did.
package mappings

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/objects"
	"github.com/tandem-mc/tandem/ckptd/internal/pagemap"
	"github.com/tandem-mc/tandem/ckptd/internal/paths"
	"github.com/tandem-mc/tandem/ckptd/internal/verify"
)

// Mapping is a piece of a process's address space, as /proc/PID/smaps describes it.
type Mapping struct {
	From, Length, offset, Inode uint64
	Protection                  uint64
	Shared                      bool
	Name                        string // of the file, or of what else it is
	Flags                       []string
	Touched                     bool            // it has pages of the process's own
	Object                      *objects.Object // of which it shows a part, if that has no name
}

// Region is where it lies, as package pagemap has it.
func (m *Mapping) Region() pagemap.Region { return pagemap.Region{From: m.From, To: m.End()} }

// End is the address behind it.
func (m *Mapping) End() uint64 { return m.From + m.Length }

// InGroup tells a file that changes with the group. What the proxy's directory holds is no
// part of a checkpoint, and stays.
func (m *Mapping) InGroup() bool {
	return strings.HasPrefix(m.Name, paths.Run+"/") && !m.IsProxys()
}

// IsProxys tells a file of the proxy, which is not saved.
func (m *Mapping) IsProxys() bool {
	return strings.HasPrefix(m.Name, paths.Run+"/"+paths.ProxyDirectory+"/")
}

// IsKernels tells memory that the kernel gives to every process.
func (m *Mapping) IsKernels() bool {
	return strings.HasPrefix(m.Name, "[vvar") || m.Name == "[vdso]" || m.Name == "[vsyscall]"
}

// IsFirstLine tells the first line about a mapping, "FROM-TO FLAGS OFFSET DEVICE INODE NAME",
// from the others, "Name: value".
func IsFirstLine(line []byte) bool {
	first := line[0] // of a name it is a capital letter
	return first >= '0' && first <= '9' || first >= 'a' && first <= 'f'
}

// Parse reads the first line about a mapping. Flags, Touched and Object do not stand there. Numbers
// of addresses and offsets are hexadecimal, and that of the inode is not. A name may have spaces,
// also at its end.
func Parse(line string) (*Mapping, error) {
	from, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "-")
	to, rest, _ := strings.Cut(rest, " ")
	flags, rest, _ := strings.Cut(rest, " ")
	offset, rest, _ := strings.Cut(rest, " ")
	_, rest, _ = strings.Cut(rest, " ") // the device
	inode, rest, _ := strings.Cut(rest, " ")
	if len(flags) != 4 {
		return nil, fmt.Errorf("a mapping reads %q", line)
	}
	m := &Mapping{Name: strings.TrimLeft(rest, " "), Shared: flags[3] == 's'}
	end := uint64(0)
	for _, n := range [...]struct {
		to   *uint64
		text string
		base int
	}{{&m.From, from, 16}, {&end, to, 16}, {&m.offset, offset, 16}, {&m.Inode, inode, 10}} {
		var err error
		if *n.to, err = strconv.ParseUint(n.text, n.base, 64); err != nil {
			return nil, fmt.Errorf("a mapping reads %q: %w", line, err)
		}
	}
	m.Length = end - m.From
	for n, bit := range [...]uint64{unix.PROT_READ, unix.PROT_WRITE, unix.PROT_EXEC} {
		if flags[n] != '-' {
			m.Protection |= bit
		}
	}
	return m, nil
}

// SameAs tells whether a fork of the one would have the other as it is: then a child has it from
// its parent, and it is not mapped anew.
func (m *Mapping) SameAs(o *Mapping) bool {
	return m.From == o.From && m.Length == o.Length && m.offset == o.offset && m.Inode == o.Inode &&
		m.Protection == o.Protection && m.Shared == o.Shared && m.Name == o.Name &&
		slices.Equal(m.lastingFlags(), o.lastingFlags())
}

// lastingFlags leaves out what changes as memory is written. The kernel sets "sd" (soft dirty) by
// itself.
func (m *Mapping) lastingFlags() []string {
	return slices.DeleteFunc(slices.Clone(m.Flags), func(flag string) bool { return flag == "sd" })
}

// Mergeable tells whether the kernel might make one mapping of number n and the one before it if
// they were new. Then neither is made anew: the process would show other mappings than it had.
func Mergeable(all []*Mapping, n int) bool {
	if n == 0 || n == len(all) {
		return false
	}
	a, b := all[n-1], all[n]
	return a.End() == b.From && a.Protection == b.Protection && a.Shared == b.Shared &&
		slices.Equal(a.Flags, b.Flags) && a.lastingName() == b.lastingName() &&
		a.Inode == b.Inode && (a.Inode == 0 || a.offset+a.Length == b.offset)
}

// lastingName is the name of a mapping without what the kernel calls memory after its place, such
// as [heap], which keeps nothing apart.
func (m *Mapping) lastingName() string {
	if m.Inode == 0 {
		return m.GivenName()
	}
	return m.Name
}

// WithoutRenewed leaves out of lines of /proc/PID/maps the devices and inodes of files that may
// have been renewed: a file of the group that was put back is another one with the same name.
func WithoutRenewed(maps string) string {
	var out strings.Builder
	for line := range strings.Lines(maps) {
		if at := strings.Index(line, " "+paths.Run+"/"); at >= 0 {
			fields := strings.Fields(line[:at])
			line = strings.Join(fields[:3], " ") + line[at:]
		}
		out.WriteString(line)
	}
	return out.String()
}

// Joined are the lines of /proc/PID/maps, one for mappings that continue each other. They are for a
// comparison in which it does not matter where one ends and the next begins.
func Joined(maps string) []string {
	var lines []string
	for line := range strings.Lines(WithoutRenewed(maps)) {
		lines = append(lines, "process 0: mapping "+strings.TrimSuffix(line, "\n"))
	}
	return verify.JoinMappings(lines)
}

package process

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/openfiles"
	"github.com/tandem-mc/tandem/ckptd/internal/pagemap"
	"github.com/tandem-mc/tandem/ckptd/internal/paths"
	"github.com/tandem-mc/tandem/ckptd/internal/tracer"
	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/internal/sys/ptrace"
)

// A restored process maps some of its memory anew, and gets its own pages of that copied
// into it. Files that were put back may be other files than those that the copy had
// mapped. And the longer a line of forks, each from the one before it, the more the kernel
// has to do for every further one (memory is listed with all ancestors that may share its
// pages): at the end of a long line, everything is mapped anew.

// MaxGeneration is how many forks may lie between a process and one that shares no page
// with others.
const MaxGeneration = 32

// remap is a mapping to be made anew.
type remap struct {
	*Mapping
	fromFile bool
}

// remaps lists the mappings to be made anew, and opens their files.
func (r *Revival) remaps(p *Process) (list []remap, fds []int, err error) {
	for n, m := range p.mappings {
		replaced := false
		if m.inGroup() {
			if replaced, err = m.replaced(r.Files.Root); err != nil {
				return list, fds, err
			}
		}
		fd := -1
		switch {
		case replaced:
			access := unix.O_RDONLY
			if m.shared {
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
		list = append(list, remap{m, fd >= 0})
	}
	return list, fds, nil
}

// isRemapped tells whether mapping n is made anew since the line of forks is long.
func (p *Process) isRemapped(n int) bool {
	return p.Generation >= MaxGeneration && p.mappings[n].renewable() && !p.mergeable(n) && !p.mergeable(n+1)
}

// mayRemap lists what a restore of a copy may make anew: all files of the group may be other files
// by then.
func (p *Process) mayRemap() (list []remap) {
	for n, m := range p.mappings {
		if m.inGroup() || p.isRemapped(n) {
			list = append(list, remap{m, m.inGroup() || m.Inode != 0})
		}
	}
	return list
}

// replaced tells whether the file at the path is another one since it was put back.
func (m *Mapping) replaced(root int) (bool, error) {
	fd, err := openfiles.OpenBelow(root, m.Name, unix.O_PATH, 0, false)
	if err != nil {
		return false, err
	}
	defer unix.Close(fd)
	now, err := sys.Inode(fd)
	return now != m.Inode, err
}

// advice are the flags of a mapping that madvise(2) sets.
var advice = map[string]uint64{
	"rr": unix.MADV_RANDOM, "sr": unix.MADV_SEQUENTIAL, "mg": unix.MADV_MERGEABLE, "hg": unix.MADV_HUGEPAGE,
	"nh": unix.MADV_NOHUGEPAGE, "dd": unix.MADV_DONTDUMP, "wf": unix.MADV_WIPEONFORK,
}

// plain are flags of a mapping that follow from how it is made.
var plain = []string{"rd", "wr", "ex", "mr", "mw", "me", "ac", "nr", "gd", "sd"}

// renewable tells whether a mapping just like this one can be made, and whether that is of
// any use.
func (m *Mapping) renewable() bool {
	if m.shared || !m.touched || m.isKernels() {
		return false
	}
	for _, flag := range m.flags {
		if _, advised := advice[flag]; !advised && !slices.Contains(plain, flag) {
			return false
		}
	}
	return m.Inode != 0 || m.Name == "" || m.Name == "[heap]" || m.Name == "[stack]" || m.givenName() != ""
}

// givenName is the name that a program has given to memory.
func (m *Mapping) givenName() string {
	name, ok := strings.CutPrefix(m.Name, "[anon:")
	if !ok {
		return ""
	}
	return strings.TrimSuffix(name, "]")
}

func (m *Mapping) has(flag string) bool { return slices.Contains(m.flags, flag) }

// mergeable tells whether the kernel might make one mapping of number n and the one before
// it if they were new.
func (p *Process) mergeable(n int) bool {
	if n == 0 || n == len(p.mappings) {
		return false
	}
	a, b := p.mappings[n-1], p.mappings[n]
	return a.End() == b.From && a.protection == b.protection && a.shared == b.shared &&
		slices.Equal(a.flags, b.flags) && a.lastingName() == b.lastingName() &&
		a.Inode == b.Inode && (a.Inode == 0 || a.offset+a.length == b.offset)
}

// lastingName is the name of a mapping without what the kernel calls memory after its place, such
// as [heap], which keeps nothing apart.
func (m *Mapping) lastingName() string {
	if m.Inode == 0 {
		return m.givenName()
	}
	return m.Name
}

// mapAnew adds the calls that make a mapping anew.
func mapAnew(b *tracer.Batch, m remap, fd uint64) {
	flags, protection := uint64(unix.MAP_PRIVATE|unix.MAP_FIXED), m.protection
	if m.shared {
		flags = unix.MAP_SHARED | unix.MAP_FIXED
	}
	if !m.fromFile {
		flags |= unix.MAP_ANONYMOUS
	}
	if m.has("nr") {
		flags |= unix.MAP_NORESERVE
	}
	if m.has("gd") {
		flags |= unix.MAP_GROWSDOWN
	}
	if m.has("ac") { // it could be written to once, if not now
		protection |= unix.PROT_WRITE
	}
	b.Add("map memory anew", unix.SYS_MMAP, m.From, m.length, protection, flags, fd, m.offset)
	if protection != m.protection {
		b.Add("protect memory", unix.SYS_MPROTECT, m.From, m.length, m.protection)
	}
	for flag, a := range advice {
		if m.has(flag) {
			b.Add("advise on memory", unix.SYS_MADVISE, m.From, m.length, a)
		}
	}
	if name := m.givenName(); name != "" {
		b.Add("name memory", unix.SYS_PRCTL, unix.PR_SET_VMA, unix.PR_SET_VMA_ANON_NAME, m.From, m.length,
			b.Put(append([]byte(name), 0)))
	}
}

// copyOwn copies the pages of a mapping that are a process's own, and not a file's.
func (m *Mapping) copyOwn(from, to int) error {
	table, err := os.Open(fmt.Sprintf("/proc/%d/pagemap", from))
	if err != nil {
		return err
	}
	defer table.Close()
	// may write where the process may not
	memory, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", to), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer memory.Close()
	size := uint64(os.Getpagesize())
	most := min(m.length/size, 64) // pages at a time
	buffer, entries := make([]byte, most*size), make([]byte, 8*most)
	for at := m.From; at < m.End(); at += most * size {
		count := min(most, (m.End()-at)/size)
		if _, err := table.ReadAt(entries[:8*count], int64(8*(at/size))); err != nil {
			return err
		}
		for first, run := range pagemap.OwnRuns(entries[:8*count]) {
			part, address := buffer[:run*size], at+first*size
			if err := ptrace.ReadMemory(from, ptrace.Piece{Address: address, Content: part}); err != nil {
				return err
			}
			if _, err := memory.WriteAt(part, int64(address)); err != nil {
				return err
			}
		}
	}
	return nil
}

// withoutRenewed leaves out of mappings the inodes of files that may have been renewed.
func withoutRenewed(maps string) string {
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

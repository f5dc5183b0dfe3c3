package mappings

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/pagemap"
	"github.com/tandem-mc/tandem/ckptd/internal/tracer"
	"github.com/tandem-mc/tandem/internal/sys/ptrace"
)

// To map memory anew is to replace a mapping by one that looks the same to the program and to
// /proc, of the same file or of none, with the same protection, flags, advice and name.

// Remap is a mapping to be made anew, from a file or from nothing.
type Remap struct {
	*Mapping
	FromFile bool
}

// advice are the flags of a mapping that madvise(2) sets.
var advice = map[string]uint64{
	"rr": unix.MADV_RANDOM, "sr": unix.MADV_SEQUENTIAL, "mg": unix.MADV_MERGEABLE, "hg": unix.MADV_HUGEPAGE,
	"nh": unix.MADV_NOHUGEPAGE, "dd": unix.MADV_DONTDUMP, "wf": unix.MADV_WIPEONFORK,
}

// plain are flags of a mapping that follow from how it is made.
var plain = []string{"rd", "wr", "ex", "mr", "mw", "me", "ac", "nr", "gd", "sd"}

// IsRenewable tells whether a new mapping can be given this flag.
func IsRenewable(flag string) bool {
	_, advised := advice[flag]
	return advised || slices.Contains(plain, flag)
}

// Renewable tells whether a mapping just like this one can be made, and whether that is of any use.
// Shared memory is the same for all that have it, and memory that was not touched costs nothing.
func (m *Mapping) Renewable() bool {
	if m.Shared || !m.Touched || m.IsKernels() {
		return false
	}
	for _, flag := range m.Flags {
		if !IsRenewable(flag) {
			return false
		}
	}
	return m.Inode != 0 || m.Name == "" || m.Name == "[heap]" || m.Name == "[stack]" || m.GivenName() != ""
}

// GivenName is the name that a program has given to memory.
func (m *Mapping) GivenName() string {
	name, ok := strings.CutPrefix(m.Name, "[anon:")
	if !ok {
		return ""
	}
	return strings.TrimSuffix(name, "]")
}

// has tells whether the mapping has a flag.
func (m *Mapping) has(flag string) bool { return slices.Contains(m.Flags, flag) }

// MapAnew adds the calls that make a mapping anew, in the place of what is there. Its file is open
// as descriptor fd of the process that carries out the calls. What mmap(2) cannot say is said by
// further calls: protection that was reduced later, advice, and a name.
func MapAnew(b *tracer.Batch, m Remap, fd uint64) {
	flags, protection := uint64(unix.MAP_PRIVATE|unix.MAP_FIXED), m.Protection
	if m.Shared {
		flags = unix.MAP_SHARED | unix.MAP_FIXED
	}
	if !m.FromFile {
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
	b.Add("map memory anew", unix.SYS_MMAP, m.From, m.Length, protection, flags, fd, m.offset)
	if protection != m.Protection {
		b.Add("protect memory", unix.SYS_MPROTECT, m.From, m.Length, m.Protection)
	}
	for flag, a := range advice {
		if m.has(flag) {
			b.Add("advise on memory", unix.SYS_MADVISE, m.From, m.Length, a)
		}
	}
	if name := m.GivenName(); name != "" {
		b.Add("name memory", unix.SYS_PRCTL, unix.PR_SET_VMA, unix.PR_SET_VMA_ANON_NAME, m.From, m.Length,
			b.Put(append([]byte(name), 0)))
	}
}

// CopyOwn copies the pages of a mapping that are a process's own, and not a file's, from one
// stopped process to another. Pages that are a file's are there as soon as the file is mapped. The
// page table says which ones they are; runs of them are copied at once.
func (m *Mapping) CopyOwn(from, to int) error {
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
	most := min(m.Length/size, 64) // pages at a time
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

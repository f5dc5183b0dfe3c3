package process

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/incarnation"
	"github.com/tandem-mc/tandem/ckptd/internal/mappings"
	"github.com/tandem-mc/tandem/ckptd/internal/objects"
	"github.com/tandem-mc/tandem/ckptd/internal/pagemap"
	"github.com/tandem-mc/tandem/ckptd/internal/paths"
	"github.com/tandem-mc/tandem/ckptd/internal/store"
	"github.com/tandem-mc/tandem/ckptd/internal/tracer"
	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/internal/sys/procfs"
	"github.com/tandem-mc/tandem/internal/sys/ptrace"
)

// ExamineMemory reads the mappings of a frozen process and refuses those that a fork does
// not carry over as they are.
func (p *Process) ExamineMemory() (err error) {
	if p.sizes, err = pagemap.Sizes(p.PID); err != nil {
		return err
	}
	// else memory is mapped anew, which takes the flags
	if p.Parent == nil && len(p.Children) == 0 && p.Generation+1 < MaxGeneration {
		if err := p.examinePages(); !errors.Is(err, pagemap.ErrNoScan) {
			return err
		}
	}
	return p.examineFlags()
}

// examinePages is examineMemory without the flags of mappings, which take the kernel long to
// list. Those that matter show elsewhere: see examineKinds.
func (p *Process) examinePages() (err error) {
	if p.own, err = pagemap.OwnPages(p.PID, p.calls()); err != nil {
		return err
	}
	if p.Private, err = pagemap.ExclusiveBytes(p.PID, p.own); err != nil {
		return err
	}
	if p.maps, err = mappingsOf(p.PID, 0); err != nil {
		return err
	}
	for line := range strings.Lines(p.maps) {
		m, err := mappings.Parse(line)
		if err != nil {
			return fmt.Errorf("process %d: %w", p.PID, err)
		}
		if err := p.examineMapping(m); err != nil {
			return err
		}
		m.Touched = pagemap.Touched(p.own, m.Region())
		p.mappings = append(p.mappings, m)
	}
	return nil
}

// examineFlags does so with all that the kernel tells. That takes long: the kernel goes through
// every page to count, so examinePages is used where nothing depends on flags.
func (p *Process) examineFlags() error {
	p.Private, p.Unnamed = 0, nil
	path := fmt.Sprintf("/proc/%d/smaps", p.PID)
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	buffer, giveBack := sys.Borrow()
	defer giveBack()
	text, err := procfs.ReadAll(fd, buffer[:0])
	if err != nil {
		return &fs.PathError{Op: "read", Path: path, Err: err}
	}
	var lines strings.Builder
	var m *mappings.Mapping
	for line := range bytes.Lines(text) {
		if mappings.IsFirstLine(line) {
			lines.Write(line)
			if m, err = mappings.Parse(string(line)); err != nil {
				return fmt.Errorf("process %d: %w", p.PID, err)
			}
			p.mappings = append(p.mappings, m)
			continue
		}
		switch name, value, _ := bytes.Cut(line, []byte(":")); string(name) {
		case "Private_Dirty", "Private_Hugetlb":
			p.Private += procfs.ParseKibibytes(string(value))
		case "Anonymous":
			m.Touched = procfs.ParseKibibytes(string(value)) > 0
		case "VmFlags":
			m.Flags = strings.Fields(string(value))
		}
	}
	p.maps = lines.String()
	for _, m := range p.mappings {
		if err := p.examineMapping(m); err != nil {
			return err
		}
	}
	return nil
}

// examineMapping refuses memory that is shared with others, or that a fork does not carry
// over.
func (p *Process) examineMapping(m *mappings.Mapping) error {
	if m.IsKernels() || m.IsProxys() {
		return nil
	}
	writable := m.Protection&unix.PROT_WRITE != 0
	switch {
	case objects.IsUnnamed(m.Name):
		p.Unnamed = append(p.Unnamed, m)
	case m.Shared && m.InGroup(): // the file goes back by itself
	case m.Shared && (writable || !strings.HasPrefix(m.Name, "/") || strings.HasPrefix(m.Name, "/dev/")):
		return incarnation.Refuse("process %d has shared memory at %#x %s", p.PID, m.From, m.Name)
	case m.Name != "/dev/zero" && strings.HasPrefix(m.Name, "/dev/"):
		return incarnation.Refuse("memory of process %d at %#x is that of a device, %s", p.PID, m.From,
			m.Name)
	case strings.HasSuffix(m.Name, " (deleted)"):
		return incarnation.Refuse("process %d has mapped %s, which was deleted", p.PID, m.Name)
	}
	for _, flag := range m.Flags {
		if why, ok := flagsRefused[flag]; ok {
			return incarnation.Refuse("memory of process %d at %#x %s", p.PID, m.From, why)
		}
		if flag == "wf" {
			if err := p.keepWiped(m); err != nil {
				return err
			}
		}
	}
	return nil
}

// Flags of mappings, as /proc/PID/smaps has them, that a fork does not carry over.
var flagsRefused = map[string]string{
	"dc": "is not inherited by a fork", "io": "is that of a device", "pf": "is that of a device",
	"um": "is watched by userfaultfd", "uw": "is watched by userfaultfd", "ui": "is watched by userfaultfd",
	"lo": "is locked", "ss": "is a shadow stack", "ht": "has huge pages",
}

// maxWiped bounds the memory that a fork does not inherit: state of random generators.
const maxWiped = 1 << 20

// keepWiped reads memory that a fork would find wiped, and that a restore writes: the state of
// random generators, whose next numbers must be those that followed the checkpoint.
func (p *Process) keepWiped(m *mappings.Mapping) error {
	if m.Length > maxWiped {
		return incarnation.Refuse("%d bytes of memory of process %d are wiped by a fork", m.Length, p.PID)
	}
	w := ptrace.Piece{Address: m.From, Content: make([]byte, m.Length)}
	if err := ptrace.ReadMemory(p.PID, w); err != nil {
		return err
	}
	p.wiped = append(p.wiped, w)
	return nil
}

// roomForMaps is enough for the list of a few hundred mappings.
const roomForMaps = 32 << 10

// mappingsOf is what p.maps is for another process, without the mapping for calls.
func mappingsOf(pid int, injected uint64) (string, error) {
	text, err := procfs.ReadSized(fmt.Sprintf("/proc/%d/maps", pid), roomForMaps)
	if err != nil || injected == 0 {
		return string(text), err
	}
	var out strings.Builder
	own := fmt.Sprintf("%x-%x ", injected, injected+tracer.InjectionSize)
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, own) {
			out.WriteString(line)
		}
	}
	return out.String(), nil
}

// checkMappings compares the mappings of a restored process with those at the checkpoint: in
// full where some of them were made anew, and else their sizes, since a fork has the same.
func (p *Process) checkMappings(renewed bool) error {
	if !renewed {
		sizes, err := pagemap.Sizes(p.PID)
		if err == nil && sizes != p.sizes {
			err = fmt.Errorf("its mappings have %s pages, and not %s", sizes, p.sizes)
		}
		return err
	}
	now, err := mappingsOf(p.PID, 0)
	if err != nil || mappings.WithoutRenewed(now) == mappings.WithoutRenewed(p.maps) {
		return err
	}
	// In a fork the kernel may have joined some that it has kept apart in the process that there
	// was.
	if p.Parent != nil && slices.Equal(mappings.Joined(now), mappings.Joined(p.maps)) {
		return nil
	}
	return fmt.Errorf("its mappings are\n%sand not\n%s", now, p.maps)
}

// MappedFilesOf are the files that processes have mapped and do not copy when they write.
func MappedFilesOf(all []*Process) store.MappedFiles {
	f := store.MappedFiles{Inodes: map[uint64]bool{}, Names: map[string]bool{}}
	for _, p := range all {
		for _, m := range p.mappings {
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

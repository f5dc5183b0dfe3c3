package process

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/incarnation"
	"github.com/tandem-mc/tandem/ckptd/internal/objects"
	"github.com/tandem-mc/tandem/ckptd/internal/pagemap"
	"github.com/tandem-mc/tandem/ckptd/internal/paths"
	"github.com/tandem-mc/tandem/ckptd/internal/store"
	"github.com/tandem-mc/tandem/ckptd/internal/tracer"
	"github.com/tandem-mc/tandem/ckptd/internal/verify"
	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/internal/sys/procfs"
	"github.com/tandem-mc/tandem/internal/sys/ptrace"
)

// Mapping is a piece of a process's address space, as /proc/PID/smaps describes it.
type Mapping struct {
	From, length, offset, Inode uint64
	protection                  uint64
	shared                      bool
	Name                        string // of the file, or of what else it is
	flags                       []string
	touched                     bool            // it has pages of the process's own
	Object                      *objects.Object // of which it shows a part, if that has no name
}

// region is where it lies.
func (m *Mapping) region() pagemap.Region { return pagemap.Region{From: m.From, To: m.End()} }

// End is the address behind it.
func (m *Mapping) End() uint64 { return m.From + m.length }

// inGroup tells a file that changes with the group. What the proxy's directory holds is no
// part of a checkpoint, and stays.
func (m *Mapping) inGroup() bool {
	return strings.HasPrefix(m.Name, paths.Run+"/") && !m.isProxys()
}

func (m *Mapping) isProxys() bool {
	return strings.HasPrefix(m.Name, paths.Run+"/"+paths.ProxyDirectory+"/")
}

// isKernels tells memory that the kernel gives to every process.
func (m *Mapping) isKernels() bool {
	return strings.HasPrefix(m.Name, "[vvar") || m.Name == "[vdso]" || m.Name == "[vsyscall]"
}

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
		m, err := parseMapping(line)
		if err != nil {
			return fmt.Errorf("process %d: %w", p.PID, err)
		}
		if err := p.examineMapping(m); err != nil {
			return err
		}
		m.touched = pagemap.Touched(p.own, m.region())
		p.mappings = append(p.mappings, m)
	}
	return nil
}

// examineFlags does so with all that the kernel tells.
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
	var m *Mapping
	for line := range bytes.Lines(text) {
		if isMapping(line) {
			lines.Write(line)
			if m, err = parseMapping(string(line)); err != nil {
				return fmt.Errorf("process %d: %w", p.PID, err)
			}
			p.mappings = append(p.mappings, m)
			continue
		}
		switch name, value, _ := bytes.Cut(line, []byte(":")); string(name) {
		case "Private_Dirty", "Private_Hugetlb":
			p.Private += procfs.ParseKibibytes(string(value))
		case "Anonymous":
			m.touched = procfs.ParseKibibytes(string(value)) > 0
		case "VmFlags":
			m.flags = strings.Fields(string(value))
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

// isMapping tells the first line about a mapping, "FROM-TO FLAGS OFFSET DEVICE INODE NAME",
// From the others, "Name: value".
func isMapping(line []byte) bool {
	first := line[0] // of a name it is a capital letter
	return first >= '0' && first <= '9' || first >= 'a' && first <= 'f'
}

func parseMapping(line string) (*Mapping, error) {
	from, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "-")
	to, rest, _ := strings.Cut(rest, " ")
	flags, rest, _ := strings.Cut(rest, " ")
	offset, rest, _ := strings.Cut(rest, " ")
	_, rest, _ = strings.Cut(rest, " ") // the device
	inode, rest, _ := strings.Cut(rest, " ")
	if len(flags) != 4 {
		return nil, fmt.Errorf("a mapping reads %q", line)
	}
	m := &Mapping{Name: strings.TrimLeft(rest, " "), shared: flags[3] == 's'}
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
	m.length = end - m.From
	for n, bit := range [...]uint64{unix.PROT_READ, unix.PROT_WRITE, unix.PROT_EXEC} {
		if flags[n] != '-' {
			m.protection |= bit
		}
	}
	return m, nil
}

// examineMapping refuses memory that is shared with others, or that a fork does not carry
// over.
func (p *Process) examineMapping(m *Mapping) error {
	if m.isKernels() || m.isProxys() {
		return nil
	}
	writable := m.protection&unix.PROT_WRITE != 0
	switch {
	case objects.IsUnnamed(m.Name):
		p.Unnamed = append(p.Unnamed, m)
	case m.shared && m.inGroup(): // the file goes back by itself
	case m.shared && (writable || !strings.HasPrefix(m.Name, "/") || strings.HasPrefix(m.Name, "/dev/")):
		return incarnation.Refuse("process %d has shared memory at %#x %s", p.PID, m.From, m.Name)
	case m.Name != "/dev/zero" && strings.HasPrefix(m.Name, "/dev/"):
		return incarnation.Refuse("memory of process %d at %#x is that of a device, %s", p.PID, m.From,
			m.Name)
	case strings.HasSuffix(m.Name, " (deleted)"):
		return incarnation.Refuse("process %d has mapped %s, which was deleted", p.PID, m.Name)
	}
	for _, flag := range m.flags {
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

// keepWiped reads memory that a fork would find wiped.
func (p *Process) keepWiped(m *Mapping) error {
	if m.length > maxWiped {
		return incarnation.Refuse("%d bytes of memory of process %d are wiped by a fork", m.length, p.PID)
	}
	w := ptrace.Piece{Address: m.From, Content: make([]byte, m.length)}
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
	if err != nil || withoutRenewed(now) == withoutRenewed(p.maps) {
		return err
	}
	// In a fork the kernel may have joined some that it has kept apart in the process that there
	// was.
	if p.Parent != nil && slices.Equal(joined(now), joined(p.maps)) {
		return nil
	}
	return fmt.Errorf("its mappings are\n%sand not\n%s", now, p.maps)
}

// joined are the lines of /proc/PID/maps, one for mappings that continue each other.
func joined(maps string) []string {
	var lines []string
	for line := range strings.Lines(withoutRenewed(maps)) {
		lines = append(lines, "process 0: mapping "+strings.TrimSuffix(line, "\n"))
	}
	return verify.JoinMappings(lines)
}

// MappedFilesOf are the files that processes have mapped and do not copy when they write.
func MappedFilesOf(all []*Process) store.MappedFiles {
	f := store.MappedFiles{Inodes: map[uint64]bool{}, Names: map[string]bool{}}
	for _, p := range all {
		for _, m := range p.mappings {
			if m.shared && m.Inode != 0 {
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

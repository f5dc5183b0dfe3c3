package process

import (
	"bytes"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/incarnation"
	"github.com/tandem-mc/tandem/ckptd/internal/mappings"
	"github.com/tandem-mc/tandem/ckptd/internal/objects"
	"github.com/tandem-mc/tandem/ckptd/internal/pagemap"
	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/internal/sys/procfs"
	"github.com/tandem-mc/tandem/internal/sys/ptrace"
)

// A fork inherits memory as it is, with few exceptions: what is shared is the same memory and no
// copy, and a program may have asked that some is left out, or wiped. These are found in two ways.
// The flags of all mappings tell, but the kernel takes long to list them. So the copy is compared
// with the process: where both have the same pages, nothing was left out.

// AddressSpace is what an image knows of the memory of a process: where it is, and of what kind.
//
// Its content is not here: pages are the copy's, files are the group's or the machine's, and what
// is shared is held by the daemon.
type AddressSpace struct {
	Private    int64               // bytes that it shares with no other process
	Unnamed    []*mappings.Mapping // what is shared and has no name
	Generation int                 // forks since the process shared no page with another

	mappings []*mappings.Mapping
	maps     string         // the mappings, as /proc shows them
	sizes    [3]string      // of the mappings, see pagemap.Sizes
	wiped    []ptrace.Piece // pages whose content a fork does not inherit
}

// readMappings reads the mappings of a stopped process without their flags. These are its own
// pages.
func (a *AddressSpace) readMappings(pid int, own []pagemap.Region) (err error) {
	if a.maps, err = mapsOf(pid); err != nil {
		return err
	}
	for line := range strings.Lines(a.maps) {
		m, err := mappings.Parse(line)
		if err != nil {
			return fmt.Errorf("process %d: %w", pid, err)
		}
		if err := a.admit(pid, m); err != nil {
			return err
		}
		m.Touched = pagemap.Touched(own, m.Region())
		a.mappings = append(a.mappings, m)
	}
	return nil
}

// readFlags reads the mappings of a stopped process with all that the kernel tells. That takes
// long: the kernel goes through every page to count, so readMappings is used where nothing depends
// on flags.
func (a *AddressSpace) readFlags(pid int) error {
	a.Private, a.Unnamed = 0, nil
	path := fmt.Sprintf("/proc/%d/smaps", pid)
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
	if err := a.parseFlags(text); err != nil {
		return fmt.Errorf("process %d: %w", pid, err)
	}
	for _, m := range a.mappings {
		if err := a.admit(pid, m); err != nil {
			return err
		}
	}
	return nil
}

// parseFlags reads /proc/PID/smaps: for each mapping a line as in maps, and then lines of names and
// values. Sizes are in kibibytes. A page counts as private to the process if no other one has it.
func (a *AddressSpace) parseFlags(smaps []byte) (err error) {
	var lines strings.Builder
	var m *mappings.Mapping
	for line := range bytes.Lines(smaps) {
		if mappings.IsFirstLine(line) {
			lines.Write(line)
			if m, err = mappings.Parse(string(line)); err != nil {
				return err
			}
			a.mappings = append(a.mappings, m)
			continue
		}
		if m == nil {
			return fmt.Errorf("%q is about no mapping", line)
		}
		switch name, value, _ := bytes.Cut(line, []byte(":")); string(name) {
		case "Private_Dirty", "Private_Hugetlb":
			a.Private += procfs.ParseKibibytes(string(value))
		case "Anonymous":
			m.Touched = procfs.ParseKibibytes(string(value)) > 0
		case "VmFlags":
			m.Flags = strings.Fields(string(value))
		}
	}
	a.maps = lines.String()
	return nil
}

// admit refuses memory that is shared with others, or that a fork does not carry over. It notes
// what is shared among the peers and has no name, and what a fork would wipe.
func (a *AddressSpace) admit(pid int, m *mappings.Mapping) error {
	if m.IsKernels() || m.IsProxys() {
		return nil
	}
	writable := m.Protection&unix.PROT_WRITE != 0
	switch {
	case objects.IsUnnamed(m.Name):
		a.Unnamed = append(a.Unnamed, m)
	case m.Shared && m.InGroup(): // the file goes back by itself
	case m.Shared && (writable || !strings.HasPrefix(m.Name, "/") || strings.HasPrefix(m.Name, "/dev/")):
		return incarnation.Refuse("process %d has shared memory at %#x %s", pid, m.From, m.Name)
	case m.Name != "/dev/zero" && strings.HasPrefix(m.Name, "/dev/"):
		return incarnation.Refuse("memory of process %d at %#x is that of a device, %s", pid, m.From, m.Name)
	case strings.HasSuffix(m.Name, " (deleted)"):
		return incarnation.Refuse("process %d has mapped %s, which was deleted", pid, m.Name)
	}
	for _, flag := range m.Flags {
		if why, ok := flagsRefused[flag]; ok {
			return incarnation.Refuse("memory of process %d at %#x %s", pid, m.From, why)
		}
		if flag == "wf" {
			if err := a.saveWiped(pid, m); err != nil {
				return err
			}
		}
	}
	return nil
}

// flagsRefused are flags of mappings, as /proc/PID/smaps has them, that a fork does not carry over.
var flagsRefused = map[string]string{
	"dc": "is not inherited by a fork", "io": "is that of a device", "pf": "is that of a device",
	"um": "is watched by userfaultfd", "uw": "is watched by userfaultfd", "ui": "is watched by userfaultfd",
	"lo": "is locked", "ss": "is a shadow stack", "ht": "has huge pages",
}

// maxWiped bounds the memory that a fork does not inherit: state of random generators. Such memory
// is some pages in all programs that have it.
const maxWiped = 1 << 20

// saveWiped reads memory that a fork would find wiped, and that a restore writes: the state of
// random generators, whose next numbers must be those that followed the checkpoint.
func (a *AddressSpace) saveWiped(pid int, m *mappings.Mapping) error {
	if m.Length > maxWiped {
		return incarnation.Refuse("%d bytes of memory of process %d are wiped by a fork", m.Length, pid)
	}
	w := ptrace.Piece{Address: m.From, Content: make([]byte, m.Length)}
	if err := ptrace.ReadMemory(pid, w); err != nil {
		return err
	}
	a.wiped = append(a.wiped, w)
	return nil
}

// isRemapped tells whether mapping n is made anew since the line of forks is long. The kernel would
// join new mappings that it keeps apart now, and the process would show others than it had: such
// mappings stay.
func (a *AddressSpace) isRemapped(n int) bool {
	return a.Generation >= MaxGeneration && a.mappings[n].Renewable() && !mappings.Mergeable(a.mappings, n) &&
		!mappings.Mergeable(a.mappings, n+1)
}

// mayRemap lists what a restore of a copy may make anew: all files of the group may be other files
// by then.
func (a *AddressSpace) mayRemap() (list []mappings.Remap) {
	for n, m := range a.mappings {
		if m.InGroup() || a.isRemapped(n) {
			list = append(list, mappings.Remap{Mapping: m, FromFile: m.InGroup() || m.Inode != 0})
		}
	}
	return list
}

// check compares the mappings of a restored process with those at the checkpoint: in full where
// some of them were made anew, and else their sizes, since a fork has the same. A difference is an
// error of the restore: the program would run with other memory than it had.
func (a *AddressSpace) check(pid int, remapped, isChild bool) error {
	if !remapped {
		sizes, err := pagemap.Sizes(pid)
		if err == nil && sizes != a.sizes {
			err = fmt.Errorf("its mappings have %s pages, and not %s", sizes, a.sizes)
		}
		return err
	}
	now, err := mapsOf(pid)
	if err != nil || mappings.WithoutRenewed(now) == mappings.WithoutRenewed(a.maps) {
		return err
	}
	// In a fork the kernel may have joined some that it has kept apart in the process that there
	// was.
	if isChild && slices.Equal(mappings.Joined(now), mappings.Joined(a.maps)) {
		return nil
	}
	return fmt.Errorf("its mappings are\n%sand not\n%s", now, a.maps)
}

// roomForMaps is enough for the list of a few hundred mappings.
const roomForMaps = 32 << 10

// mapsOf is /proc/PID/maps of a process that has no mapping for calls.
func mapsOf(pid int) (string, error) {
	text, err := procfs.ReadSized(fmt.Sprintf("/proc/%d/maps", pid), roomForMaps)
	return string(text), err
}

// MaxGeneration is how many forks may lie between a process and one that shares no page with
// others.
const MaxGeneration = 32

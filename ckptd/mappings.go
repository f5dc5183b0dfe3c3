//go:build amd64

package ckptd

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// examineMemory reads the mappings of a frozen process and refuses those that a fork does
// not carry over as they are.
func (p *process) examineMemory() error {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps", p.pid))
	if err != nil {
		return err
	}
	var maps strings.Builder
	var mapping string
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		switch name {
		case "Private_Dirty", "Private_Hugetlb":
			kibibytes, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			if err != nil {
				return fmt.Errorf("a mapping of process %d has %q", p.pid, line)
			}
			p.private += kibibytes << 10
		case "VmFlags":
			if err := p.examineFlags(mapping, value); err != nil {
				return err
			}
		default:
			if !isMapping(line) {
				continue
			}
			mapping = strings.TrimSuffix(line, "\n")
			maps.WriteString(line)
			if err := p.examineMapping(mapping); err != nil {
				return err
			}
		}
	}
	p.maps = maps.String()
	return nil
}

// isMapping tells the first line about a mapping, "FROM-TO FLAGS OFFSET DEVICE INODE NAME",
// from the others, "Name: value".
func isMapping(line string) bool {
	from, _, ok := strings.Cut(line, "-")
	if !ok {
		return false
	}
	_, err := strconv.ParseUint(from, 16, 64)
	return err == nil
}

// examineMapping refuses memory that is shared with others, or with an older self.
func (p *process) examineMapping(line string) error {
	fields := strings.Fields(line)
	if len(fields) < 5 || len(fields[1]) != 4 {
		return fmt.Errorf("a mapping of process %d reads %q", p.pid, line)
	}
	name := strings.Join(fields[5:], " ")
	// What the proxy's directory holds is no part of a checkpoint, and stays.
	if strings.HasPrefix(name, filepath.Join(runDirectory, proxyDirectory)+"/") {
		return nil
	}
	inGroup := strings.HasPrefix(name, runDirectory+"/")
	switch shared := fields[1][3] == 's'; {
	case strings.HasSuffix(name, " (deleted)"):
		return refuse("process %d has mapped %s, which was deleted", p.pid, name)
	case shared && (fields[1][1] == 'w' || inGroup || !strings.HasPrefix(name, "/") || strings.HasPrefix(name, "/dev/")):
		return refuse("process %d has shared memory at %s %s", p.pid, fields[0], name)
	case inGroup:
		return p.addFileMapping(fields, name)
	}
	return nil
}

// fileMapping is a mapping of a file that changes with the group.
type fileMapping struct {
	from, length, offset, inode uint64
	protection                  uint64
	path                        string
}

func (p *process) addFileMapping(fields []string, path string) error {
	m := fileMapping{path: path}
	from, to, _ := strings.Cut(fields[0], "-")
	end := uint64(0)
	for _, n := range []struct {
		to   *uint64
		text string
		base int
	}{{&m.from, from, 16}, {&end, to, 16}, {&m.offset, fields[2], 16}, {&m.inode, fields[4], 10}} {
		var err error
		if *n.to, err = strconv.ParseUint(n.text, n.base, 64); err != nil {
			return fmt.Errorf("a mapping of process %d: %w", p.pid, err)
		}
	}
	m.length = end - m.from
	for n, bit := range []uint64{unix.PROT_READ, unix.PROT_WRITE, unix.PROT_EXEC} {
		if fields[1][n] != '-' {
			m.protection |= bit
		}
	}
	p.fileMappings = append(p.fileMappings, m)
	return nil
}

// renewed tells whether the file at the path is another one since it was put back.
func (m fileMapping) renewed(root int) (bool, error) {
	fd, err := openBelow(root, m.path, unix.O_PATH, 0, false)
	if err != nil {
		return false, err
	}
	defer unix.Close(fd)
	now, err := inode(fd)
	return now != m.inode, err
}

// Bits of an entry of /proc/PID/pagemap: Documentation/admin-guide/mm/pagemap.rst.
const (
	pagePresent = 1 << 63
	pageSwapped = 1 << 62
	pageOfFile  = 1 << 61
)

// copyWritten copies the pages of a mapping that the process from has written to, and that
// are not the file's any more.
func (m fileMapping) copyWritten(from, to int) error {
	size := uint64(os.Getpagesize())
	entries := make([]byte, 8*m.length/size)
	err := withProcFile(from, "pagemap", os.O_RDONLY, func(f *os.File) error {
		_, err := f.ReadAt(entries, int64(8*m.from/size))
		return err
	})
	if err != nil {
		return err
	}
	page := make([]byte, size)
	return withProcFile(to, "mem", os.O_RDWR, func(f *os.File) error { // which may write where the process may not
		for n := uint64(0); n < m.length/size; n++ {
			entry := binary.NativeEndian.Uint64(entries[8*n:])
			if entry&(pagePresent|pageSwapped) == 0 || entry&pageOfFile != 0 {
				continue
			}
			address := m.from + n*size
			if err := readMemory(from, address, page); err != nil {
				return err
			}
			if _, err := f.WriteAt(page, int64(address)); err != nil {
				return err
			}
		}
		return nil
	})
}

func withProcFile(pid int, name string, flags int, f func(*os.File) error) error {
	file, err := os.OpenFile(fmt.Sprintf("/proc/%d/%s", pid, name), flags, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	return f(file)
}

// withoutRenewed leaves out of mappings the inodes of files that may have been renewed.
func withoutRenewed(maps string) string {
	var out strings.Builder
	for line := range strings.Lines(maps) {
		if at := strings.Index(line, " "+runDirectory+"/"); at >= 0 {
			fields := strings.Fields(line[:at])
			line = strings.Join(fields[:3], " ") + line[at:]
		}
		out.WriteString(line)
	}
	return out.String()
}

// Flags of mappings, as /proc/PID/smaps has them, that a fork does not carry over.
var flagsRefused = map[string]string{
	"dc": "is not inherited by a fork", "io": "is that of a device", "pf": "is that of a device",
	"um": "is watched by userfaultfd", "uw": "is watched by userfaultfd", "ui": "is watched by userfaultfd",
	"lo": "is locked", "ss": "is a shadow stack", "ht": "has huge pages",
}

func (p *process) examineFlags(mapping, flags string) error {
	where, _, _ := strings.Cut(mapping, " ")
	if strings.Contains(mapping, "[vvar") || strings.Contains(mapping, "[vdso]") || strings.Contains(mapping, "[vsyscall]") {
		return nil
	}
	for flag := range strings.FieldsSeq(flags) {
		if why, ok := flagsRefused[flag]; ok {
			return refuse("memory of process %d at %s %s", p.pid, where, why)
		}
		if flag == "wf" {
			if err := p.keepWiped(where); err != nil {
				return err
			}
		}
	}
	return nil
}

// maxWiped bounds the memory that a fork does not inherit: state of random generators.
const maxWiped = 1 << 20

// keepWiped reads memory that a fork would find wiped.
func (p *process) keepWiped(where string) error {
	from, to, _ := strings.Cut(where, "-")
	begin, err1 := strconv.ParseUint(from, 16, 64)
	end, err2 := strconv.ParseUint(to, 16, 64)
	if err1 != nil || err2 != nil || end <= begin {
		return fmt.Errorf("a mapping of process %d is at %q", p.pid, where)
	}
	if end-begin > maxWiped {
		return refuse("%d bytes of memory of process %d are wiped by a fork", end-begin, p.pid)
	}
	w := page{address: begin, content: make([]byte, end-begin)}
	if err := readMemory(p.pid, begin, w.content); err != nil {
		return err
	}
	p.wiped = append(p.wiped, w)
	return nil
}

// mappingsOf is what p.maps is for another process, without the mapping for calls.
func mappingsOf(pid int, injected uint64) (string, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil || injected == 0 {
		return string(text), err
	}
	var out strings.Builder
	own := fmt.Sprintf("%x-%x ", injected, injected+injectionSize)
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, own) {
			out.WriteString(line)
		}
	}
	return out.String(), nil
}

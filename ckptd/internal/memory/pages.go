package memory

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd/internal/incarnation"
	"github.com/tandem-mc/tandem/ckptd/internal/tracer"
	"github.com/tandem-mc/tandem/internal/sys/procfs"
)

// What a fork carries over shows in the pages that a process has of its own: where the copy
// has the same ones, nothing was wiped. The kernel lists them quickly since Linux 6.7.

// region is a run of pages.
type region struct{ from, to uint64 }

// scanArguments are struct pm_scan_arg of PAGEMAP_SCAN: linux/fs.h.
type scanArguments struct {
	size, flags, start, end, walked, regions, room, most uint64
	inverted, all, any, wanted                           uint64
}

// Values for PAGEMAP_SCAN: linux/fs.h.
const (
	pagemapScan    = 0xc0606610
	scanOfFile     = 1 << 2
	scanPresent    = 1 << 3
	scanSwapped    = 1 << 4
	scanZero       = 1 << 5
	endOfAddresses = 1<<47 - 4096
)

// errNoScan says that this Linux has no PAGEMAP_SCAN.
var errNoScan = errors.New("this Linux does not list the pages of a process")

// ownPages lists the pages of a stopped process that are neither a file's nor empty, but for
// those of the mapping for calls.
func ownPages(pid int, injected uint64) (own []region, err error) {
	pagemap, err := openPagemap(pid)
	if err != nil {
		return nil, err
	}
	defer unix.Close(pagemap)
	var found [256]struct{ from, to, categories uint64 }
	a := scanArguments{
		end: endOfAddresses, regions: uint64(uintptr(unsafe.Pointer(&found))), room: uint64(len(found)),
		inverted: scanOfFile | scanZero, all: scanOfFile | scanZero, any: scanPresent | scanSwapped,
	}
	a.size = uint64(unsafe.Sizeof(a))
	for a.start < a.end {
		n, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(pagemap), pagemapScan,
			uintptr(unsafe.Pointer(&a)))
		if errno == unix.ENOTTY {
			return nil, errNoScan
		}
		if errno != 0 {
			return nil, fmt.Errorf("list the pages of process %d: %w", pid, errno)
		}
		for _, f := range found[:n] {
			// other memory may lie beside it
			if f.to > injected && f.from < injected+tracer.InjectionSize {
				own = appendRegion(own, region{f.from, min(f.to, max(f.from, injected))})
				f.from = max(f.from, min(f.to, injected+tracer.InjectionSize))
			}
			own = appendRegion(own, region{f.from, f.to})
		}
		a.start = a.walked
	}
	return own, nil
}

// appendRegion joins regions that touch.
func appendRegion(all []region, r region) []region {
	switch last := len(all) - 1; {
	case r.from >= r.to:
	case last >= 0 && all[last].to == r.from:
		all[last].to = r.to
	default:
		all = append(all, r)
	}
	return all
}

func openPagemap(pid int) (int, error) {
	fd, err := unix.Open(fmt.Sprintf("/proc/%d/pagemap", pid), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("look at the pages of process %d: %w", pid, err)
	}
	return fd, nil
}

const pageExclusive = 1 << 56 // of an entry of /proc/PID/pagemap: no other process has it

// exclusiveBytes is how much of these pages only this process has.
func exclusiveBytes(pid int, own []region) (total int64, err error) {
	pagemap, err := openPagemap(pid)
	if err != nil {
		return 0, err
	}
	defer unix.Close(pagemap)
	size := uint64(os.Getpagesize())
	const most = 1024 // pages at a time
	entries := make([]byte, 8*most)
	for _, r := range own {
		for r.from < r.to {
			n, err := unix.Pread(pagemap, entries[:min(8*most, 8*(r.to-r.from)/size)], int64(8*(r.from/size)))
			if err != nil || n <= 0 {
				return 0, fmt.Errorf("look at the pages of process %d: %w", pid, errors.Join(err, unix.EIO))
			}
			for ; n >= 8; n -= 8 {
				if e := binary.NativeEndian.Uint64(entries[n-8:]); e&pageExclusive != 0 {
					total += int64(size)
				}
				r.from += size
			}
		}
	}
	return total, nil
}

// examinePages is examineMemory without the flags of mappings, which take the kernel long to
// list. Those that matter show elsewhere: see examineKinds.
func (p *process) examinePages() (err error) {
	if p.own, err = ownPages(p.pid, 0); err != nil {
		return err
	}
	if p.private, err = exclusiveBytes(p.pid, p.own); err != nil {
		return err
	}
	if p.maps, err = mappingsOf(p.pid, 0); err != nil {
		return err
	}
	for line := range strings.Lines(p.maps) {
		m, err := parseMapping(line)
		if err != nil {
			return fmt.Errorf("process %d: %w", p.pid, err)
		}
		if err := p.examineMapping(m); err != nil {
			return err
		}
		m.touched = m.touches(p.own)
		p.mappings = append(p.mappings, m)
	}
	return nil
}

func (m *mapping) touches(own []region) bool {
	n, _ := slices.BinarySearchFunc(own, m.from, func(r region, at uint64) int {
		if r.to <= at {
			return -1
		}
		return 1
	})
	return n < len(own) && own[n].from < m.end()
}

// inherited sees whether the copy of a process has what that has.
func (p *process) inherited(copied *process) error {
	sizes, err := memorySizes(p.pid)
	if err != nil {
		return err
	}
	if now, err := memorySizes(copied.pid); err != nil || now != sizes {
		return errors.Join(err, incarnation.Refuse("memory of process %d is not inherited by a fork", p.pid))
	}
	if p.own == nil {
		return nil
	}
	own, err := ownPages(copied.pid, p.injected)
	if err != nil || slices.Equal(own, p.own) {
		return err
	}
	// Some was wiped: which shows in the flags of mappings.
	p.mappings, p.wiped = nil, nil
	if err := p.examineFlags(); err != nil {
		return err
	}
	copied.mappings, copied.wiped = p.mappings, p.wiped
	return nil
}

// memorySizes are the sizes of all mappings, of those of code, and of those of data.
func memorySizes(pid int) (sizes [3]string, err error) {
	text, err := procfs.Read(fmt.Sprintf("/proc/%d/statm", pid))
	if f := strings.Fields(string(text)); len(f) >= 6 {
		return [3]string{f[0], f[3], f[5]}, nil
	}
	return sizes, fmt.Errorf("read the sizes of the memory of process %d: %w", pid,
		errors.Join(err, unix.EIO))
}

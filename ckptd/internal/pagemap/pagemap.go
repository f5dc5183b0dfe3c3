// Package pagemap looks at the pages of a process by what the kernel shows of its page table: which
// ones are its own, which ones only it has, and in which ones it differs from its parent.
package pagemap

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys/procfs"
)

// What a fork carries over shows in the pages that a process has of its own: where the copy
// has the same ones, nothing was wiped. The kernel lists them quickly since Linux 6.7.

// PageSize is the size of a page, in bytes.
const PageSize = 4096

// Region is a run of pages: the addresses of its first byte, and of the byte behind it. Both are
// multiples of the page size.
type Region struct{ From, To uint64 }

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

// ErrNoScan says that this Linux has no PAGEMAP_SCAN.
var ErrNoScan = errors.New("this Linux does not list the pages of a process")

// OwnPages lists the pages of a stopped process that are neither a file's nor empty. Those of one
// region are left out: there the daemon has put code, which is no memory of the program. The kernel
// goes on from where the array was full.
func OwnPages(pid int, without Region) (own []Region, err error) {
	pagemap, err := open(pid)
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
			return nil, ErrNoScan
		}
		if errno != 0 {
			return nil, fmt.Errorf("list the pages of process %d: %w", pid, errno)
		}
		for _, f := range found[:n] {
			// other memory may lie beside it
			if f.to > without.From && f.from < without.To {
				own = appendRegion(own, Region{f.from, min(f.to, max(f.from, without.From))})
				f.from = max(f.from, min(f.to, without.To))
			}
			own = appendRegion(own, Region{f.from, f.to})
		}
		a.start = a.walked
	}
	return own, nil
}

// appendRegion adds a region behind all others. It joins regions that touch, and leaves out empty
// ones, so that two lists of the same pages are equal.
func appendRegion(all []Region, r Region) []Region {
	switch last := len(all) - 1; {
	case r.From >= r.To:
	case last >= 0 && all[last].To == r.From:
		all[last].To = r.To
	default:
		all = append(all, r)
	}
	return all
}

// open opens the page table of a process for reading: an entry of 8 bytes for each page. Numbers of
// pages show only to a reader with CAP_SYS_ADMIN.
func open(pid int) (int, error) {
	fd, err := unix.Open(fmt.Sprintf("/proc/%d/pagemap", pid), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("look at the pages of process %d: %w", pid, err)
	}
	return fd, nil
}

// ExclusiveBytes is how much of these pages only this process has: the kernel would get that much
// memory back if the process ended. The kernel marks a page that no other process has mapped.
func ExclusiveBytes(pid int, own []Region) (total int64, err error) {
	pagemap, err := open(pid)
	if err != nil {
		return 0, err
	}
	defer unix.Close(pagemap)
	size := uint64(os.Getpagesize())
	const most = 1024 // pages at a time
	entries := make([]byte, 8*most)
	for _, r := range own {
		for r.From < r.To {
			n, err := unix.Pread(pagemap, entries[:min(8*most, 8*(r.To-r.From)/size)], int64(8*(r.From/size)))
			if err != nil || n <= 0 {
				return 0, fmt.Errorf("look at the pages of process %d: %w", pid, errors.Join(err, unix.EIO))
			}
			for ; n >= 8; n -= 8 {
				if e := binary.NativeEndian.Uint64(entries[n-8:]); e&exclusive != 0 {
					total += int64(size)
				}
				r.From += size
			}
		}
	}
	return total, nil
}

// Touched tells whether a process has pages of its own in a region; own are all of them, in their
// order. They are found by halving.
func Touched(own []Region, in Region) bool {
	n, _ := slices.BinarySearchFunc(own, in.From, func(r Region, at uint64) int {
		if r.To <= at {
			return -1
		}
		return 1
	})
	return n < len(own) && own[n].From < in.To
}

// Sizes are the sizes of all mappings of a process, of those of code, and of those of data, in
// pages. They are cheap to read, and differ where a fork has not inherited a mapping.
func Sizes(pid int) (sizes [3]string, err error) {
	text, err := procfs.Read(fmt.Sprintf("/proc/%d/statm", pid))
	if f := strings.Fields(string(text)); len(f) >= 6 {
		return [3]string{f[0], f[3], f[5]}, nil
	}
	return sizes, fmt.Errorf("read the sizes of the memory of process %d: %w", pid,
		errors.Join(err, unix.EIO))
}

// Bits of an entry of /proc/PID/pagemap: Documentation/admin-guide/mm/pagemap.rst. A page is in
// memory (present), or swapped out, and it may be that of a file, which the process has not
// changed.
const (
	present   = 1 << 63
	swapped   = 1 << 62
	ofFile    = 1 << 61
	exclusive = 1 << 56 // no other process has the page
)

// OwnRuns goes through the runs of pages that are a process's own, in entries of its page table. Of
// each run it yields the number of the first page, and how many there are. A run is read or written
// at once.
func OwnRuns(entries []byte) func(yield func(first, run uint64) bool) {
	own := func(n uint64) bool {
		e := binary.NativeEndian.Uint64(entries[8*n:])
		return e&(present|swapped) != 0 && e&ofFile == 0
	}
	count := uint64(len(entries) / 8)
	return func(yield func(first, run uint64) bool) {
		for n := uint64(0); n < count; n++ {
			first := n
			for n < count && own(n) {
				n++
			}
			if n > first && !yield(first, n-first) {
				return
			}
		}
	}
}

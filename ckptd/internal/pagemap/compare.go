package pagemap

import (
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Difference is how the pages of a process differ from those of its parent.
type Difference struct {
	Own     []Region // pages that it does not share with the parent
	Emptied []Region // where the parent has pages, and it has none
}

// Compare compares the pages of a stopped process with those of its parent. They have common
// regions mapped alike, in the order of their addresses; without is left out of both: see OwnPages.
//
// A page that both have in the same place of the machine's memory is shared since the fork, and
// equal. Any other one may differ: to tell, its content would have to be read.
func Compare(pid, parent int, common []Region, without Region) (d Difference, err error) {
	own, err := OwnPages(pid, without)
	if err != nil {
		return d, err
	}
	parents, err := OwnPages(parent, without)
	if err != nil {
		return d, err
	}
	c := comparison{pid: pid, common: common}
	if c.tables[0], err = open(pid); err != nil {
		return d, err
	}
	defer unix.Close(c.tables[0])
	if c.tables[1], err = open(parent); err != nil {
		return d, err
	}
	defer unix.Close(c.tables[1])
	if d.Own, err = c.runs(own, differs, true); err == nil {
		d.Emptied, err = c.runs(parents, isEmptied, false)
	}
	return d, err
}

// differs tells whether a page is another one than the parent's at its place. Pages are compared by
// where they are, and not by what they hold.
func differs(own, parents uint64) bool {
	const number = 1<<55 - 1 // of the page in the memory of the machine; 0: it is hidden
	return own&present == 0 || parents&present == 0 || own&number != parents&number || own&number == 0
}

// isEmptied tells whether a process has no page of its own any more. Then it reads zeros there, or
// what the file has.
func isEmptied(own, _ uint64) bool { return own&(present|swapped) == 0 || own&ofFile != 0 }

// comparison compares the pages of a process with those of its parent.
type comparison struct {
	pid    int
	common []Region // what both have mapped alike
	tables [2]int   // descriptors of the page tables: of the process, of its parent
}

// runs returns those pages of regions of which wanted tells by both entries of the page tables.
// Outside of what both have mapped alike, all are wanted, or none. Pages and common regions are in
// the order of their addresses, so one pass goes through both, and through the page tables by the
// thousand.
func (c *comparison) runs(all []Region, wanted func(own, parents uint64) bool, outside bool) (found []Region,
	err error) {
	const most = 1024 // pages at a time
	var entries [2][8 * most]byte
	next := 0
	for _, r := range all {
		for r.From < r.To {
			for next < len(c.common) && c.common[next].To <= r.From {
				next++
			}
			if next == len(c.common) || r.From < c.common[next].From {
				end := r.To
				if next < len(c.common) {
					end = min(end, c.common[next].From)
				}
				if outside {
					found = appendRegion(found, Region{r.From, end})
				}
				r.From = end
				continue
			}
			end := min(r.To, c.common[next].To, r.From+most*PageSize)
			count := int(end-r.From) / PageSize
			for n, fd := range c.tables {
				if got, err := unix.Pread(fd, entries[n][:8*count], int64(8*(r.From/PageSize))); err != nil ||
					got != 8*count {
					return nil, fmt.Errorf("compare pages of process %d with its parent's: %w", c.pid,
						errors.Join(err, unix.EIO))
				}
			}
			for n := range count {
				if wanted(binary.NativeEndian.Uint64(entries[0][8*n:]),
					binary.NativeEndian.Uint64(entries[1][8*n:])) {
					at := r.From + uint64(n)*PageSize
					found = appendRegion(found, Region{at, at + PageSize})
				}
			}
			r.From = end
		}
	}
	return found, nil
}

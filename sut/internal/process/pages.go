package process

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/tandem-mc/tandem/sut/internal/abi"
)

const pageSize = 4096

// pageTable keeps the region table of one worker complete: every page that an
// execution may have written must be in it, or the next execution would start
// from other memory, without anybody noticing.
//
// What is written is known from the page map: when the snapshot is taken, the
// worker forks a process that does nothing. It shares all pages with the worker
// until the worker writes one, and gets a copy of its own. That is a page fault,
// and the worker counts its faults, so that the map need not be read otherwise.
type pageTable struct {
	pid    int
	shared *abi.Shared
	saved  map[uint64]uint64 // the pages of the snapshot, and where their copies are
	// The pages of the region table, and where their copies are; 0: they were zero.
	written map[uint64]uint64
	beside  [abi.MaxTables]abi.Region // memory that stays as it is when all else is put back
	tables  map[uint64]uint64         // the written pages of that
	faults  uint64                    // page faults of the worker at the last scan
	changes int                       // of the region table
}

// newPageTable is the table of a process of which nothing was saved yet. Its faults are counted
// from zero, so the first execution is always looked at.
func newPageTable(pid int, s *abi.Shared) *pageTable {
	return &pageTable{pid: pid, shared: s, saved: map[uint64]uint64{}, written: map[uint64]uint64{},
		tables: map[uint64]uint64{}}
}

// mapping is a writable private mapping of a process.
type mapping struct {
	from, to uint64
	file     bool // its untouched pages are those of a file, not zero
}

// Bits of an entry of a page map.
const (
	pagePresent   = 1 << 63
	pageSwapped   = 1 << 62
	pageOfFile    = 1 << 61 // not changed since it was read from there
	pageExclusive = 1 << 56 // mapped by one process only
)

// snapshot puts all pages that are in memory into the region table, to be saved. Copies lie one
// after the other in the memory for backups. Pages that were never touched are left out: they are
// zero, and are put back by dropping them.
func (t *pageTable) snapshot() error {
	at := t.shared.Backup
	t.beside = t.shared.Places.Table
	all := map[uint64]uint64{}
	err := t.look(func(m mapping, page, entry uint64) error {
		if entry&(pagePresent|pageSwapped) == 0 && !m.file {
			return nil // zero
		}
		if at+pageSize > t.shared.Backup+t.shared.BackupBytes {
			return fmt.Errorf("the program has more than %d MiB of memory before main starts",
				t.shared.BackupBytes>>20)
		}
		all[page] = at
		at += pageSize
		return nil
	})
	if err != nil {
		return err
	}
	t.saved = all
	return t.fill(all)
}

// scan adds the pages that the worker has written and the table lacks, and reports whether there
// were any. A page that is in memory and of the worker alone was written, unless it is still that
// of its file. One that was swapped out may have been.
func (t *pageTable) scan() (added bool, err error) {
	see := func(written map[uint64]uint64) func(mapping, uint64, uint64) error {
		return func(_ mapping, page, entry uint64) error {
			isWritten := entry&pageSwapped != 0 ||
				entry&(pagePresent|pageExclusive|pageOfFile) == pagePresent|pageExclusive
			if _, known := written[page]; isWritten && !known {
				written[page] = t.saved[page] // of a page of a table nothing is
				added = true
			}
			return nil
		}
	}
	if err = t.look(see(t.written)); err == nil {
		err = t.lookAtTables(see(t.tables))
	}
	if err != nil || !added {
		return added, err
	}
	// The regions of the program come first: those alone are put back at main.
	if err := t.fill(t.written); err != nil {
		return true, err
	}
	t.addTables()
	return true, nil
}

// addTables puts the pages of tables behind those of the program, if there is room, and says how
// much memory a place of the program takes. Without room there are no places.
func (t *pageTable) addTables() {
	s := t.shared
	regions := joinPages(slices.Sorted(maps.Keys(t.tables)), t.tables, 0)
	s.Places.Tables, s.Places.SlotBytes = uint64(len(regions)), 0
	if s.Regions+s.Places.Tables > abi.MaxRegions {
		s.Places.Tables, s.Places.SlotBytes = 0, math.MaxInt64
		return
	}
	copy(s.Region[s.Regions:], regions)
	for _, r := range s.Region[:s.Regions+s.Places.Tables] {
		s.Places.SlotBytes += r.Length
	}
}

// fill makes the region table of pages. If they are in too many pieces, pages between them that
// need not be put back fill the gaps, where those were saved. To put back a page that was not
// written is only a waste.
func (t *pageTable) fill(pages map[uint64]uint64) error {
	sorted := slices.Sorted(maps.Keys(pages))
	for _, gap := range []uint64{0, backupBytes} {
		regions := joinPages(sorted, pages, gap)
		if len(regions) <= abi.MaxRegions {
			t.shared.Regions = uint64(copy(t.shared.Region[:], regions))
			t.changes++
			return nil
		}
	}
	return errors.New("the memory that the program writes is in too many pieces to be put back")
}

// joinPages makes regions of pages in ascending order, joining those whose copies are as far from
// each other as they are, and not further than gap. A region without a copy is one of zeros, and
// has no pages but its own, since nobody knows what is in a gap. The order of the regions is that
// of the addresses.
func joinPages(sorted []uint64, copies map[uint64]uint64, gap uint64) []abi.Region {
	var regions []abi.Region
	for _, page := range sorted {
		saved := copies[page]
		if len(regions) > 0 {
			last := &regions[len(regions)-1]
			end := last.Address + last.Length
			adjacent := saved == 0 && last.Saved == 0 && page == end
			parallel := saved != 0 && last.Saved != 0 && page-last.Address == saved-last.Saved
			if adjacent || parallel && page-end <= gap {
				last.Length = page + pageSize - last.Address
				continue
			}
		}
		regions = append(regions, abi.Region{Address: page, Length: pageSize, Saved: saved})
	}
	return regions
}

// look shows every page of the worker's writable memory to a function, with its entry in the page
// map. The first error of the function ends it. The worker must not execute meanwhile.
func (t *pageTable) look(see func(m mapping, page, entry uint64) error) error {
	mappings, err := writableMappings(t.pid)
	if err != nil {
		return err
	}
	pagemap, err := os.Open(fmt.Sprintf("/proc/%d/pagemap", t.pid))
	if err != nil {
		return fmt.Errorf("reading the worker's page table: %w", err)
	}
	defer pagemap.Close()
	for _, m := range mappings {
		for _, part := range without(m, t.beside[:]) {
			if err := lookAt(pagemap, part, see); err != nil {
				return err
			}
		}
	}
	return nil
}

// lookAtTables is look for the tables of the worker, as far as they are in use.
func (t *pageTable) lookAtTables(see func(m mapping, page, entry uint64) error) error {
	pagemap, err := os.Open(fmt.Sprintf("/proc/%d/pagemap", t.pid))
	if err != nil {
		return fmt.Errorf("reading the worker's page table: %w", err)
	}
	defer pagemap.Close()
	for i, table := range t.beside {
		used := min(t.shared.Places.Table[i].Saved, table.Length) &^ (pageSize - 1)
		if err := lookAt(pagemap, mapping{from: table.Address, to: table.Address + used}, see); err != nil {
			return err
		}
	}
	return nil
}

// without is a mapping without what is in it of tables, which have a huge address space.
func without(m mapping, tables []abi.Region) []mapping {
	parts := []mapping{m}
	for _, t := range tables {
		from, to := t.Address, t.Address+t.Length
		last := parts
		parts = nil
		for _, p := range last {
			if before := (mapping{p.from, min(p.to, from), p.file}); before.from < before.to {
				parts = append(parts, before)
			}
			if after := (mapping{max(p.from, to), p.to, p.file}); after.from < after.to {
				parts = append(parts, after)
			}
		}
	}
	return parts
}

// lookAt shows every page of a mapping to a function. The page map has 8 bytes for each page. It is
// read in batches, each with one system call.
func lookAt(pagemap io.ReaderAt, m mapping, see func(m mapping, page, entry uint64) error) error {
	const batch = 1 << 13
	var entries [8 * batch]byte
	for at := m.from; at < m.to; {
		n := min((m.to-at)/pageSize, batch)
		if _, err := pagemap.ReadAt(entries[:8*n], int64(at/pageSize*8)); err != nil {
			return fmt.Errorf("reading the worker's page table: %w", err)
		}
		for i := range n {
			if err := see(m, at+i*pageSize, binary.LittleEndian.Uint64(entries[8*i:])); err != nil {
				return err
			}
		}
		at += n * pageSize
	}
	return nil
}

// writableMappings lists the mappings that a process does not share and can write. Executable ones
// are left out: code does not change.
func writableMappings(pid int) ([]mapping, error) {
	file, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return nil, fmt.Errorf("reading the worker's mappings: %w", err)
	}
	defer file.Close()
	return readMappings(file)
}

// readMappings reads lines of /proc/PID/maps: addresses, permissions, offset, device, inode, path.
// Lines that are shorter, or of other permissions, are skipped.
func readMappings(file io.Reader) (list []mapping, err error) {
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 5 || fields[1] != "rw-p" {
			continue
		}
		var m mapping
		if _, err := fmt.Sscanf(fields[0], "%x-%x", &m.from, &m.to); err != nil {
			return nil, fmt.Errorf("reading the worker's mappings: %q: %w", lines.Text(), err)
		}
		m.file = fields[4] != "0"
		list = append(list, m)
	}
	return list, lines.Err()
}

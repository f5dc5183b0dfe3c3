package sut

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

const pageSize = 4096

// pageTable keeps the region table of one worker complete: every page that an
// execution may have written must be in it, or the next execution would start
// from other memory, without anybody noticing.
type pageTable struct {
	pid    int
	shared *shared
	known  map[uint64]struct{} // addresses of the pages in the table
	saved  uint64              // bytes of the backup area in use
	faults uint64              // page faults of the worker at the last scan
}

// mapping is a writable private mapping of a process.
type mapping struct {
	from, to uint64
	file     bool // its untouched pages are those of a file, not zero
}

// scan adds the pages that the worker has touched and the table lacks. At the
// first scan they are saved; later ones were untouched when the snapshot was
// taken, hence zero. It reports whether there were any.
func (t *pageTable) scan() (added bool, err error) {
	first := t.shared.regions == 0
	mappings, err := writableMappings(t.pid)
	if err != nil {
		return false, err
	}
	pagemap, err := os.Open(fmt.Sprintf("/proc/%d/pagemap", t.pid))
	if err != nil {
		return false, fmt.Errorf("reading the worker's page table: %w", err)
	}
	defer pagemap.Close()
	for _, m := range mappings {
		err := touchedPages(pagemap, m, first, func(page uint64) error {
			if _, ok := t.known[page]; ok {
				return nil
			}
			added = true
			return t.add(page, first)
		})
		if err != nil {
			return added, err
		}
	}
	return added, nil
}

func (t *pageTable) add(page uint64, save bool) error {
	s := t.shared
	saved := uint64(0)
	if save {
		if t.saved+pageSize > s.backupBytes {
			return fmt.Errorf("the program has more than %d MiB of memory before main starts", s.backupBytes>>20)
		}
		saved = s.backup + t.saved
		t.saved += pageSize
	}
	t.known[page] = struct{}{}
	if s.regions > 0 {
		last := &s.region[s.regions-1]
		if last.address+last.length == page && (last.saved == 0) == !save {
			last.length += pageSize
			return nil
		}
	}
	if s.regions == maxRegions {
		return errors.New("the memory that the program writes is in too many pieces to be put back")
	}
	s.region[s.regions] = region{address: page, length: pageSize, saved: saved}
	s.regions++
	return nil
}

// touchedPages calls f for every page of m that is or was in memory, and for
// all of a file's pages if whole is set.
func touchedPages(pagemap io.ReaderAt, m mapping, whole bool, f func(page uint64) error) error {
	const batch = 1 << 13
	var entries [8 * batch]byte
	for at := m.from; at < m.to; {
		n := min((m.to-at)/pageSize, batch)
		if _, err := pagemap.ReadAt(entries[:8*n], int64(at/pageSize*8)); err != nil {
			return fmt.Errorf("reading the worker's page table: %w", err)
		}
		for i := range n {
			const presentOrSwapped = 3 << 62
			touched := binary.LittleEndian.Uint64(entries[8*i:])&presentOrSwapped != 0
			if touched || whole && m.file {
				if err := f(at + i*pageSize); err != nil {
					return err
				}
			}
		}
		at += n * pageSize
	}
	return nil
}

func writableMappings(pid int) ([]mapping, error) {
	file, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return nil, fmt.Errorf("reading the worker's mappings: %w", err)
	}
	defer file.Close()
	var list []mapping
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

package process

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/sut/internal/abi"
)

// TestJoinPages compares the regions with a dumb twin: page by page, each is put
// back from its own copy, and nothing else is but pages that have one.
func TestJoinPages(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		saved := map[uint64]uint64{} // all pages of the snapshot
		at := uint64(1 << 30)
		for page := uint64(1); page < 40; page++ {
			if random.IntN(3) > 0 {
				saved[page*pageSize] = at
				at += pageSize
			}
		}
		written := map[uint64]uint64{}
		var sorted []uint64
		for page := uint64(1); page < 40; page++ {
			if random.IntN(2) == 0 {
				sorted = append(sorted, page*pageSize)
				written[page*pageSize] = saved[page*pageSize]
			}
		}
		tight, wide := joinPages(sorted, written, 0), joinPages(sorted, written, backupBytes)
		if diff := cmp.Diff(written, putBack(tight)); diff != "" {
			t.Fatalf("the regions put back other pages than those written:\n%s", diff)
		}
		got := putBack(wide)
		for page, from := range written {
			if got[page] != from {
				t.Fatalf("page %#x is put back from %#x, want %#x", page, got[page], from)
			}
		}
		for page, from := range got {
			if _, isWritten := written[page]; !isWritten && (from == 0 || saved[page] != from) {
				t.Fatalf("page %#x is put back from %#x, its copy is at %#x", page, from, saved[page])
			}
		}
		if len(wide) > len(tight) || !slices.IsSortedFunc(wide,
			func(a, b abi.Region) int { return int(a.Address) - int(b.Address) }) {
			t.Fatalf("%d regions with gaps, %d without", len(wide), len(tight))
		}
	}
}

// putBack says where each page of regions is put back from; 0: it becomes zero.
func putBack(regions []abi.Region) map[uint64]uint64 {
	pages := map[uint64]uint64{}
	for _, r := range regions {
		for at := uint64(0); at < r.Length; at += pageSize {
			pages[r.Address+at] = 0
			if r.Saved != 0 {
				pages[r.Address+at] = r.Saved + at
			}
		}
	}
	return pages
}

// FuzzMappings reads lists of mappings that no kernel writes.
func FuzzMappings(f *testing.F) {
	f.Add("00400000-0040b000 rw-p 0000b000 fe:00 1835 /bin/cat\n7ffd1000-7ffd2000 rw-p 0 00:00 0\n")
	f.Add("c000000000-c000400000 r--p 00000000 00:00 0\n")
	f.Add("x-y rw-p 0 0 0")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := readMappings(strings.NewReader(text))
		if err == nil && len(list) > strings.Count(text, "rw-p") {
			t.Errorf("%d mappings in %q", len(list), text)
		}
	})
}

func TestMappings(t *testing.T) {
	got, err := readMappings(strings.NewReader("00400000-0040b000 rw-p 0000b000 fe:00 1835 /bin/cat\n" +
		"0040b000-0040c000 r-xp 0000b000 fe:00 1835 /bin/cat\n7ffd1000-7ffd2000 rw-p 00000000 00:00 0 " +
		"[stack]\n"))
	want := []mapping{{0x400000, 0x40b000, true}, {0x7ffd1000, 0x7ffd2000, false}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	if _, err := readMappings(strings.NewReader("what rw-p 0 0 0")); err == nil {
		t.Error("a mapping without addresses is taken")
	}
}

// TestScan: pages that a process has written, and nobody shares, are found in its page map.
func TestScan(t *testing.T) {
	pagemap := make([]byte, 8*6)
	for page, entry := range map[int]uint64{
		1: pagePresent | pageExclusive, 2: pagePresent, 3: pageSwapped,
		4: pagePresent | pageExclusive | pageOfFile,
	} {
		binary.LittleEndian.PutUint64(pagemap[8*page:], entry)
	}
	seen := map[uint64]uint64{}
	see := func(_ mapping, page, entry uint64) error {
		seen[page/pageSize] = entry
		return nil
	}
	if err := lookAt(bytes.NewReader(pagemap), mapping{from: pageSize, to: 5 * pageSize}, see); err != nil {
		t.Fatal(err)
	}
	if len(seen) != 4 || seen[1] != pagePresent|pageExclusive || seen[3] != pageSwapped {
		t.Errorf("%#x", seen)
	}
	if err := lookAt(bytes.NewReader(pagemap), mapping{to: 7 * pageSize}, see); err == nil {
		t.Error("a page map that is too short is read to its end")
	}
	failed := errors.New("failed")
	fail := func(mapping, uint64, uint64) error { return failed }
	if err := lookAt(bytes.NewReader(pagemap), mapping{to: pageSize}, fail); err != failed {
		t.Errorf("error %v, want that of the function", err)
	}
}

// TestFill: a snapshot in too many pieces is refused, unless pages between them can fill the gaps.
func TestFill(t *testing.T) {
	s := sharedMemory(t)
	table := newPageTable(0, s)
	apart, parallel := map[uint64]uint64{}, map[uint64]uint64{}
	for i := uint64(1); i <= abi.MaxRegions+1; i++ {
		apart[2*i*pageSize] = 0
		parallel[2*i*pageSize] = 1<<30 + 2*i*pageSize
	}
	if err := table.fill(apart); err == nil {
		t.Error("more pieces than there can be are taken")
	}
	if err := table.fill(parallel); err != nil || s.Regions != 1 {
		t.Errorf("%d regions, error %v", s.Regions, err)
	}
}

// TestWithoutTables: what is left of a mapping is all of it that is in no table.
func TestWithoutTables(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var tables []abi.Region
		isTable := [64]bool{}
		for range random.IntN(4) {
			from := random.IntN(60)
			to := from + random.IntN(64-from)
			tables = append(tables, abi.Region{Address: uint64(from), Length: uint64(to - from)})
			for i := from; i < to; i++ {
				isTable[i] = true
			}
		}
		m := mapping{from: uint64(random.IntN(60)), file: random.IntN(2) == 0}
		m.to = m.from + 1 + uint64(random.IntN(int(63-m.from)))
		left := [64]bool{}
		for _, part := range without(m, tables) {
			if part.file != m.file || part.from >= part.to {
				t.Fatalf("%v without %v has %v", m, tables, part)
			}
			for i := part.from; i < part.to; i++ {
				left[i] = true
			}
		}
		for i, got := range left {
			if want := uint64(i) >= m.from && uint64(i) < m.to && !isTable[i]; got != want {
				t.Fatalf("%v without %v: %d: %v, want %v", m, tables, i, got, want)
			}
		}
	}
}

// TestAddTables: the pages of tables follow those of the program, and a place takes all of them; if
// there are too many pieces, there are no places.
func TestAddTables(t *testing.T) {
	s := sharedMemory(t)
	table := newPageTable(0, s)
	if err := table.fill(map[uint64]uint64{pageSize: 0, 2 * pageSize: 0, 9 * pageSize: 0}); err != nil {
		t.Fatal(err)
	}
	table.tables = map[uint64]uint64{100 * pageSize: 0, 101 * pageSize: 0}
	table.addTables()
	if s.Regions != 2 || s.Places.Tables != 1 || s.Places.SlotBytes != 5*pageSize ||
		s.Region[2] != (abi.Region{Address: 100 * pageSize, Length: 2 * pageSize}) {
		t.Errorf("%d regions, %d of tables, %d bytes: %v", s.Regions, s.Places.Tables, s.Places.SlotBytes,
			s.Region[:3])
	}
	for i := range uint64(abi.MaxRegions) {
		table.tables[(1000+2*i)*pageSize] = 0
	}
	if table.addTables(); s.Regions != 2 || s.Places.Tables != 0 || s.Places.SlotBytes < abi.PlaceBytes {
		t.Errorf("%d regions, %d of tables, %d bytes", s.Regions, s.Places.Tables, s.Places.SlotBytes)
	}
}

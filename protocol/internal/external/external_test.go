package external

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/protocol/internal/space"
)

// drawSizes draws sizes with which nearly all is in files.
func drawSizes(t *rapid.T) Sizes {
	draw := func(from, to int, name string) int { return rapid.IntRange(from, to).Draw(t, name) }
	return Sizes{Sort: draw(0, 500, "sort"), Spool: draw(1, 200, "spool"), Young: draw(0, 20, "young"),
		Block: draw(1, 60, "block"), FanIn: draw(2, 4, "fan-in"), Runs: draw(1, 4, "runs")}
}

// drawKey draws one of few keys, most of which begin alike. Some are long.
func drawKey(t *rapid.T) []byte {
	key := bytes.Repeat([]byte{7}, rapid.SampledFrom([]int{0, 1, 8, 14, 15, 16, 300}).Draw(t, "shared"))
	return append(key, rapid.SliceOfN(rapid.ByteRange(0, 3), 1, 20).Draw(t, "rest")...)
}

// record is a key with a value.
type record struct {
	key   string
	value uint64
}

// TestSorter: what comes out of a sorter is what was put in, in order, and of equal keys the least
// value, in however many runs it was.
func TestSorter(t *testing.T) {
	parent := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		d := openDir(t, parent, "", drawSizes(t))
		defer closeDir(t, d)
		s := NewSorter(d)
		least := map[string]uint64{}
		for range rapid.IntRange(0, 200).Draw(t, "records") {
			key, value := drawKey(t), rapid.Uint64().Draw(t, "value")
			if err := s.Add(key, value); err != nil {
				t.Fatal(err)
			}
			if old, ok := least[string(key)]; !ok || value < old {
				least[string(key)] = value
			}
		}
		var want []record
		for _, key := range slices.Sorted(maps.Keys(least)) {
			want = append(want, record{key, least[key]})
		}
		if got := merged(t, s); !slices.Equal(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
		if err := s.Empty(); err != nil {
			t.Fatal(err)
		}
		if now, _ := d.Used(); now != 0 {
			t.Fatalf("%d bytes are left", now)
		}
	})
	if list, err := os.ReadDir(parent); err != nil || len(list) > 0 {
		t.Errorf("%v is left, error %v", list, err)
	}
}

// merged are all records of a sorter.
func merged(t *rapid.T, s *Sorter) (list []record) {
	m, err := s.Merge()
	for err == nil {
		var ok bool
		if ok, err = m.Next(); !ok {
			break
		}
		list = append(list, record{string(m.Key), m.Value})
	}
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func openDir(t *rapid.T, parent, name string, sizes Sizes) *Dir {
	d, err := Open(parent, name, 0, sizes)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func closeDir(t *rapid.T, d *Dir) {
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestVisited: a set of keys is like a map, whatever is young, in runs, or was left and opened
// again.
func TestVisited(t *testing.T) {
	parent := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		d := openDir(t, parent, "kept", drawSizes(t))
		defer func() { closeDir(t, d) }()
		v, known := NewVisited(d), map[string]bool{}
		chance := rapid.SampledFrom([]int{0, 0, 1, 3}).Draw(t, "merges are given up")
		asked := 0
		d.GiveUp = func() bool { asked++; return chance > 0 && asked%chance == 0 }
		for range rapid.IntRange(1, 8).Draw(t, "levels") {
			s, keys := NewSorter(d), map[uint64]string{}
			for n := range rapid.Uint64Range(0, 40).Draw(t, "keys") {
				key := drawKey(t)
				keys[n] = string(key)
				if err := s.Add(key, n); err != nil {
					t.Fatal(err)
				}
			}
			addAll(t, v, s, keys, known)
			if v.Count() != uint64(len(known)) {
				t.Fatalf("%d keys, want %d", v.Count(), len(known))
			}
			if len(v.runs) > d.Sizes.Runs && chance == 0 {
				t.Fatalf("there are %d runs, and at most %d are wanted", len(v.runs), d.Sizes.Runs)
			}
			if rapid.Bool().Draw(t, "leave") {
				d, v = leave(t, d, v, parent)
			}
		}
	})
}

// TestGivenUp: a merge of runs that is given up leaves them as they are, and no file besides. It is
// done later.
func TestGivenUp(t *testing.T) {
	d, err := Open(t.TempDir(), "", 0, Sizes{Spool: 50, Block: 10, FanIn: 4, Runs: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	v, asked := NewVisited(d), 0
	add := func(level byte) {
		t.Helper()
		for n := range byte(20) {
			if _, _, err := v.young.Insert([]byte{level, n}, space.None); err != nil {
				t.Fatal(err)
			}
		}
		if err := v.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	d.GiveUp = func() bool { asked++; return true }
	for level := range byte(5) {
		add(level)
	}
	files := len(d.files)
	if err := v.compact(); err != nil || len(v.runs) != 5 || len(d.files) != files || asked == 0 {
		t.Errorf("%d runs, %d files, and %d before; asked %d times: %v", len(v.runs), len(d.files), files,
			asked, err)
	}
	d.GiveUp = func() bool { asked++; return asked%1000 == 0 } // in the middle of one
	for range 100 {
		if err := v.compact(); err != nil {
			t.Fatal(err)
		}
	}
	if len(v.runs) > 2 || len(d.files) > files-3 {
		t.Errorf("%d runs, %d files", len(v.runs), len(d.files))
	}
}

// addAll adds keys, and wants those that are not known to be new.
func addAll(t *rapid.T, v *Visited, s *Sorter, keys map[uint64]string, known map[string]bool) {
	m, err := s.Merge()
	if err != nil {
		t.Fatal(err)
	}
	a, err := v.Add(m, uint64(len(keys)), func(n uint64) {
		if known[keys[n]] {
			t.Fatalf("%q is new again", keys[n])
		}
		known[keys[n]] = true
	})
	if err == nil {
		err = a.Commit()
	}
	if err = errors.Join(err, s.Empty()); err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		if !known[key] {
			t.Fatalf("%q is not new", key)
		}
	}
}

// leave closes a directory and opens it again. Between, somebody was ended who has written more.
func leave(t *rapid.T, d *Dir, v *Visited, parent string) (*Dir, *Visited) {
	if err := v.Flush(); err != nil {
		t.Fatal(err)
	}
	list, err := d.Append(nil, v.Runs())
	if err == nil {
		err = errors.Join(d.Sweep(), d.Leave())
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range v.runs {
		appendTo(t, d.nameOf(r.File.number), "more")
	}
	appendTo(t, filepath.Join(d.path, "77777.states"), "a file that nobody wants")
	again, lists, err := Reopen(parent, "kept", 0, d.Sizes, bufio.NewReader(bytes.NewReader(list)), 1)
	if err != nil {
		t.Fatal(err)
	}
	u := NewVisited(again)
	if err := u.SetRuns(lists[0]); err != nil {
		t.Fatal(err)
	}
	marks := func(r run) []mark { return r.marks }
	if !slices.EqualFunc(u.runs, v.runs, func(a, b run) bool {
		return slices.EqualFunc(marks(a), marks(b), func(a, b mark) bool {
			return a.at == b.at && bytes.Equal(a.key, b.key)
		})
	}) {
		t.Fatalf("blocks begin with %v, want %v", u.runs, v.runs)
	}
	if all, err := os.ReadDir(d.path); err != nil || len(all) != len(u.runs)+1 {
		t.Fatalf("%d runs, files %v, error %v", len(u.runs), all, err)
	}
	return again, u
}

func appendTo(t *rapid.T, name, text string) {
	file, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o644)
	if err == nil {
		_, err = file.WriteString(text)
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// section writes some records into a file that is kept.
func section(t *testing.T, d *Dir, records []record) Section {
	t.Helper()
	w := NewWriter(d.Create(), true)
	for _, r := range records {
		if err := w.Append([]byte(r.key), r.value); err != nil {
			t.Fatal(err)
		}
	}
	s, err := w.End()
	if err = errors.Join(err, s.File.flush()); err != nil {
		t.Fatal(err)
	}
	return s
}

// someRecords are some that have several blocks of 20 bytes.
var someRecords = []record{{"a", 5}, {"abc", 1 << 40}, {"abcdefghijklmnopqrstuvwxyz", 3}, {"b", 0},
	{"bbbbbbbbbbbbbbbbbbbbbb", 9}, {"c", ^uint64(0)}, {"", 4}}

// TestDamaged: whatever bit of a file has changed, and wherever it was cut off, that is an error
// which names the file. Nothing else is read from it than was written.
func TestDamaged(t *testing.T) {
	d, err := Open(t.TempDir(), "kept", 0, Sizes{Spool: 1, Block: 20})
	if err != nil {
		t.Fatal(err)
	}
	s := section(t, d, someRecords)
	name := d.nameOf(s.File.number)
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	try := func(what string, n int, data []byte) {
		t.Helper()
		if err := os.WriteFile(name, data, 0o644); err != nil {
			t.Fatal(err)
		}
		r, read := NewReader(s, true), 0
		for {
			ok, err := r.Next()
			var damaged *DamagedError
			if errors.As(err, &damaged) && strings.Contains(err.Error(), name) {
				return
			}
			if err != nil || !ok {
				t.Errorf("%s %d: no error that names the file, but %v", what, n, err)
				return
			}
			if got := (record{string(r.Key), r.Value}); got != someRecords[read] {
				t.Errorf("%s %d: record %d is %v", what, n, read, got)
				return
			}
			read++
		}
	}
	for n := range data {
		try("cut off at", n, data[:n])
		for bit := range 8 {
			changed := bytes.Clone(data)
			changed[n] ^= 1 << bit
			try("a bit has changed in byte", n, changed)
		}
	}
}

// TestSkip: a reader that skips goes on with the record that it was told.
func TestSkip(t *testing.T) {
	d, err := Open(t.TempDir(), "", 0, Sizes{Spool: 1, Block: 20})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	s := section(t, d, someRecords)
	for from := range len(someRecords) + 1 {
		r := NewReader(s, true)
		if err := r.Skip(uint64(from)); err != nil {
			t.Fatal(err)
		}
		for n := from; ; n++ {
			ok, err := r.Next()
			if err != nil || ok != (n < len(someRecords)) {
				t.Fatalf("after a skip to %d, record %d is there: %v, error %v", from, n, ok, err)
			}
			if !ok {
				break
			}
			if got := (record{string(r.Key), r.Value}); got != someRecords[n] {
				t.Fatalf("after a skip to %d, record %d is %v", from, n, got)
			}
		}
	}
}

// TestFull: a full disk is an error that says what to do. What could not be written is written when
// there is room again, and files are removed nevertheless.
func TestFull(t *testing.T) {
	parent := t.TempDir()
	d, err := Open(parent, "kept", 0, Sizes{Spool: 1, Block: 20})
	if err != nil {
		t.Fatal(err)
	}
	d.Write = func(file *os.File, data []byte) (int, error) {
		n, err := file.Write(data[:len(data)/2])
		return n, errors.Join(err, syscall.ENOSPC)
	}
	w := NewWriter(d.Create(), true)
	var full *WriteError
	for _, r := range someRecords {
		if err := w.Append([]byte(r.key), r.value); err != nil && !errors.As(err, &full) {
			t.Fatal(err)
		}
	}
	if full == nil || !errors.Is(full, syscall.ENOSPC) || !strings.Contains(full.Error(), parent) {
		t.Errorf("error %v", full)
	}
	d.Write = (*os.File).Write
	s, err := w.End()
	err = errors.Join(err, s.File.sync(), s.Check(true))
	if err != nil || s.Records != uint64(len(someRecords)) {
		t.Errorf("%d records, error %v", s.Records, err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if list, err := os.ReadDir(parent); err != nil || len(list) > 0 {
		t.Errorf("%v is left, error %v", list, err)
	}
}

// TestOpen: what cannot be used is an error at once, and so is what another one uses.
func TestOpen(t *testing.T) {
	parent := t.TempDir()
	file := filepath.Join(parent, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", "kept"} {
		for _, parent := range []string{file, filepath.Join(parent, "nowhere")} {
			if _, err := Open(parent, name, 0, Sizes{}); err == nil {
				t.Errorf("%s, %q: no error", parent, name)
			}
		}
	}
	d, err := Open(parent, "kept", 0, Sizes{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(parent, "kept", 0, Sizes{}); !errors.Is(err, ErrLocked) {
		t.Errorf("error %v, want %v", err, ErrLocked)
	}
	if err := d.Leave(); err != nil {
		t.Fatal(err)
	}
	if d, err = Open(parent, "kept", 0, Sizes{}); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}

// FuzzBlocks: bytes with the right checksums are records, or damaged. Nothing panics. Records that
// are written again are read again.
func FuzzBlocks(f *testing.F) {
	f.Add([]byte("\x03abc\x08\x31d\x00"), uint32(2), true)
	f.Add([]byte("\xff\x00\x00"), uint32(1), false)
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, payload []byte, records uint32, hasValues bool) {
		d, err := Open(dir, "", 0, Sizes{Spool: 1 << 30, Block: 30})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		block := binary.LittleEndian.AppendUint32(nil, uint32(len(payload)))
		block = binary.LittleEndian.AppendUint32(block, records)
		block = append(append(block, 0, 0, 0, 0), payload...)
		binary.LittleEndian.PutUint32(block[8:], sumOf(block))
		file := d.Create()
		if err := file.append(block); err != nil {
			t.Fatal(err)
		}
		list, ok := readAll(t, Section{file, 0, file.size(), 0}, hasValues)
		if !ok {
			return
		}
		w := NewWriter(d.Create(), hasValues)
		for _, r := range list {
			if err := w.Append([]byte(r.key), r.value); err != nil {
				t.Fatal(err)
			}
		}
		s, err := w.End()
		if err != nil {
			t.Fatal(err)
		}
		if again, ok := readAll(t, s, hasValues); !ok || !slices.Equal(again, list) {
			t.Fatalf("%v became %v", list, again)
		}
	})
}

// readAll reads a section; false if it is damaged.
func readAll(t *testing.T, s Section, hasValues bool) (list []record, ok bool) {
	for r := NewReader(s, hasValues); ; {
		ok, err := r.Next()
		var damaged *DamagedError
		if errors.As(err, &damaged) {
			return nil, false
		}
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return list, true
		}
		list = append(list, record{string(r.Key), r.Value})
	}
}

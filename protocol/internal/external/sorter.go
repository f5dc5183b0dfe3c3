package external

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"slices"
)

// Sorter sorts records that do not fit into memory. It sorts as many as do, and writes each such
// run into a file. Of equal keys in a run, the one with the least value stays, unless KeepAll.
//
// The value of a candidate is its place in the order of the search, so the least one is that of the
// candidate that a search in memory would have kept.
type Sorter struct {
	// KeepAll keeps all records: who merges them wants to know all values of a key.
	KeepAll bool

	dir  *Dir
	file *File // nil before the first run
	runs []Section
	// keys and entries are what is in memory.
	keys    []byte
	entries []entry
}

// entry is a record in memory. Keys that differ in their first bytes need no look at the others,
// which would be a look at another place in memory.
type entry struct {
	prefix   uint64
	value    uint64
	at, size uint32 // in keys
}

// entrySize is what an entry takes.
const entrySize = 24

// NewSorter has no records.
func NewSorter(d *Dir) *Sorter { return &Sorter{dir: d} }

// Add adds a record.
func (s *Sorter) Add(key []byte, value uint64) error {
	used := len(s.keys) + entrySize*len(s.entries)
	if used+len(key)+entrySize > s.dir.Sizes.Sort && len(s.entries) > 1 {
		if err := s.flush(); err != nil {
			return err
		}
	}
	e := entry{value: value, at: uint32(len(s.keys)), size: uint32(len(key))}
	var prefix [8]byte
	copy(prefix[:], key)
	e.prefix = binary.BigEndian.Uint64(prefix[:])
	s.keys = append(s.keys, key...)
	s.entries = append(s.entries, e)
	return nil
}

func (s *Sorter) key(e *entry) []byte { return s.keys[e.at : e.at+e.size] }

// sort sorts what is in memory. Of equal keys the first one stays, which has the least value.
func (s *Sorter) sort() {
	slices.SortFunc(s.entries, func(a, b entry) int {
		if a.prefix != b.prefix {
			return cmp.Compare(a.prefix, b.prefix)
		}
		return cmp.Or(bytes.Compare(s.key(&a), s.key(&b)), cmp.Compare(a.value, b.value))
	})
	if s.KeepAll {
		return
	}
	s.entries = slices.CompactFunc(s.entries, func(a, b entry) bool {
		return a.prefix == b.prefix && bytes.Equal(s.key(&a), s.key(&b))
	})
}

// flush writes what is in memory as a run.
func (s *Sorter) flush() error {
	if len(s.entries) == 0 {
		return nil
	}
	s.sort()
	if s.file == nil {
		s.file = s.dir.Create()
	}
	w := NewWriter(s.file, true)
	for i := range s.entries {
		if err := w.Append(s.key(&s.entries[i]), s.entries[i].value); err != nil {
			return err
		}
	}
	run, err := w.End()
	s.runs = append(s.runs, run)
	s.keys, s.entries = s.keys[:0], s.entries[:0]
	return err
}

// Merge returns all keys in their order, with the least of the values of each. There are several
// passes if there are too many runs for one. Nothing may be added any more.
func (s *Sorter) Merge() (*Merger, error) {
	for len(s.runs) > s.dir.Sizes.FanIn {
		if err := s.pass(); err != nil {
			return nil, err
		}
	}
	s.sort()
	var all []source
	for _, run := range s.runs {
		all = append(all, &runSource{NewReader(run, true)})
	}
	return newMerger(append(all, &memorySource{sorter: s, next: 0}), s.KeepAll)
}

// Needs is about how many bytes Merge may write, and then whoever writes all that is merged.
func (s *Sorter) Needs() int64 {
	bytes := int64(len(s.keys))
	for _, run := range s.runs {
		bytes += run.To - run.From
	}
	// A pass has the runs twice.
	if len(s.runs) > s.dir.Sizes.FanIn {
		bytes *= 2
	}
	return bytes
}

// pass merges as many runs as may be at a time, then the next ones, and so on. The runs before are
// removed when all are merged, so a pass that fails has changed nothing.
func (s *Sorter) pass() error {
	file, runs := s.dir.Create(), []Section(nil)
	for some := range slices.Chunk(s.runs, s.dir.Sizes.FanIn) {
		w := NewWriter(file, true)
		if err := mergeRuns(some, true, s.KeepAll, w.Append); err != nil {
			return err
		}
		run, err := w.End()
		if err != nil {
			return err
		}
		runs = append(runs, run)
	}
	old := s.file
	s.file, s.runs = file, runs
	return old.Remove()
}

// Empty forgets all records, and removes the file.
func (s *Sorter) Empty() error {
	s.keys, s.entries, s.runs = s.keys[:0], s.entries[:0], nil
	if s.file == nil {
		return nil
	}
	file := s.file
	s.file = nil
	return file.Remove()
}

// mergeRuns visits the records of some runs in the order of their keys: one for each key, or all.
func mergeRuns(runs []Section, hasValues, keepAll bool, visit func(key []byte, value uint64) error) error {
	var all []source
	for _, run := range runs {
		all = append(all, &runSource{NewReader(run, hasValues)})
	}
	m, err := newMerger(all, keepAll)
	if err != nil {
		return err
	}
	for {
		ok, err := m.Next()
		if !ok || err != nil {
			return err
		}
		err = visit(m.Key, m.Value)
		for _, value := range m.Others {
			err = errors.Join(err, visit(m.Key, value))
		}
		if err != nil {
			return err
		}
	}
}

// source has records in ascending order of their keys: a run in a file, or what is in memory. What
// is in it is not checked here, so a section that is not sorted gives a merge that is not.
type source interface {
	// advance goes on to the next record; false if there is none.
	advance() (bool, error)
	// record is that until the next advance.
	record() (key []byte, value uint64)
}

type runSource struct{ *Reader }

func (r *runSource) advance() (bool, error)   { return r.Next() }
func (r *runSource) record() ([]byte, uint64) { return r.Key, r.Value }

// memorySource has what a sorter has in memory, so the last run is never written.
type memorySource struct {
	sorter *Sorter
	next   int
}

func (m *memorySource) advance() (bool, error) {
	m.next++
	return m.next <= len(m.sorter.entries), nil
}

func (m *memorySource) record() ([]byte, uint64) {
	e := &m.sorter.entries[m.next-1]
	return m.sorter.key(e), e.value
}

// Merger merges sources. Key and Value are those of the last record until the next one is read.
// Others are the other values of that key, if all are kept.
type Merger struct {
	// heap has the source with the least key first. Each has a record.
	heap  []source
	Key   []byte
	Value uint64

	Others  []uint64
	keepAll bool
}

// newMerger merges sources that stand before their first records. Those that have none are left
// out.
func newMerger(sources []source, keepAll bool) (*Merger, error) {
	m := &Merger{keepAll: keepAll}
	for _, s := range sources {
		ok, err := s.advance()
		if err != nil {
			return nil, err
		}
		if ok {
			m.heap = append(m.heap, s)
		}
	}
	for i := len(m.heap)/2 - 1; i >= 0; i-- {
		m.sink(i)
	}
	return m, nil
}

// sink moves a source down to where it belongs.
func (m *Merger) sink(i int) {
	h := m.heap
	key, _ := h[i].record()
	for {
		child := 2*i + 1
		if child >= len(h) {
			return
		}
		least, _ := h[child].record()
		if child+1 < len(h) {
			if other, _ := h[child+1].record(); bytes.Compare(other, least) < 0 {
				child, least = child+1, other
			}
		}
		if bytes.Compare(key, least) <= 0 {
			return
		}
		h[i], h[child] = h[child], h[i]
		i = child
	}
}

// Next reads the next key, with the least of its values. It returns false at the end.
func (m *Merger) Next() (bool, error) {
	if len(m.heap) == 0 {
		return false, nil
	}
	key, value := m.heap[0].record()
	m.Key, m.Value, m.Others = append(m.Key[:0], key...), value, m.Others[:0]
	for {
		if err := m.advance(); err != nil || len(m.heap) == 0 {
			return err == nil, err
		}
		if key, value = m.heap[0].record(); !bytes.Equal(key, m.Key) {
			return true, nil
		}
		if m.keepAll {
			m.Others = append(m.Others, max(m.Value, value))
		}
		m.Value = min(m.Value, value)
	}
}

// advance goes on with the source that has the least key. One that has come to its end is replaced
// by the last of the heap.
func (m *Merger) advance() error {
	ok, err := m.heap[0].advance()
	if err != nil {
		return err
	}
	if !ok {
		last := len(m.heap) - 1
		m.heap[0] = m.heap[last]
		m.heap = m.heap[:last]
	}
	if len(m.heap) > 1 {
		m.sink(0)
	}
	return nil
}

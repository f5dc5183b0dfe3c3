package external

import (
	"encoding/binary"
	"errors"
)

// Doubts are states of a level of which somebody wants to know whether they lead to anything new.
// That is known when all candidates of the level were merged. Until then each is written down with
// the candidates that it leads to, all by their places.
type Doubts struct {
	dir    *Dir
	file   *File // nil if there are none
	writer *Writer
	last   uint64 // candidate of the doubt before: differences are small
	key    []byte
}

// NewDoubts has none.
func NewDoubts(d *Dir) *Doubts { return &Doubts{dir: d} }

// IsEmpty says whether there are none.
func (d *Doubts) IsEmpty() bool { return d.writer == nil }

// Add adds a doubt: the place of a state, and the places of the candidates that it leads to.
func (d *Doubts) Add(place uint64, candidates []uint64) error {
	if d.writer == nil {
		d.file, d.last = d.dir.Create(), 0
		d.writer = NewWriter(d.file, true)
	}
	d.key = d.key[:0]
	for _, c := range candidates {
		d.key = binary.AppendVarint(d.key, int64(c-d.last))
		d.last = c
	}
	return d.writer.Append(d.key, place)
}

// Unresolved visits the states, in their order, none of whose candidates is new. The bits say which
// candidates are, by their places.
func (d *Doubts) Unresolved(isNew []uint64, visit func(place uint64) error) error {
	if d.writer == nil {
		return nil
	}
	section, err := d.writer.End()
	if err != nil {
		return err
	}
	last := uint64(0)
	for r := NewReader(section, true); ; {
		ok, err := r.Next()
		if err != nil || !ok {
			return err
		}
		leads := false
		for rest := r.Key; len(rest) > 0; {
			difference, size := binary.Varint(rest)
			if last += uint64(difference); size <= 0 || last/64 >= uint64(len(isNew)) {
				return r.isRight(false)
			}
			leads, rest = leads || isNew[last/64]>>(last%64)&1 != 0, rest[size:]
		}
		if leads {
			continue
		}
		if err := visit(r.Value); err != nil {
			return err
		}
	}
}

// Empty forgets all, for the next level.
func (d *Doubts) Empty() (err error) {
	if d.file != nil {
		err = d.file.Remove()
	}
	*d = Doubts{dir: d.dir, key: d.key}
	return err
}

// Seeker reads the records of a section by their places, which mostly ascend.
type Seeker struct {
	*Reader
	next uint64 // the place of the record that is read next
}

// NewSeeker reads a section from its beginning. It must be known whether records have values.
func NewSeeker(s Section, hasValues bool) *Seeker { return &Seeker{Reader: NewReader(s, hasValues)} }

// manyRecords is how many records it is worth to pass by unread.
const manyRecords = 1 << 10

// errPlace is of a place that the section does not have.
var errPlace = errors.New("external search: a list of states ends too early")

// Seek reads the record at a place. It may be the one that was read last.
func (s *Seeker) Seek(place uint64) error {
	if place+1 == s.next {
		return nil
	}
	if place < s.next || place > s.next+manyRecords {
		if err := s.Skip(place); err != nil {
			return err
		}
		s.next = place
	}
	for ; s.next <= place; s.next++ {
		ok, err := s.Next()
		if err == nil && !ok {
			err = errPlace
		}
		if err != nil {
			return err
		}
	}
	return nil
}

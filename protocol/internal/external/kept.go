package external

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// What is kept of a search are its files, and a list of their sections. Files only grow, and what
// is removed was not wanted by the list any more. So a list that was written stays right until the
// next one is, whatever has happened to the files meanwhile: what they have behind the sections is
// cut off, and files without a section are removed.

// Append appends lists of sections to dst. The files are on the disk then.
func (d *Dir) Append(dst []byte, lists ...[]Section) ([]byte, error) {
	for _, list := range lists {
		dst = binary.AppendUvarint(dst, uint64(len(list)))
		for _, s := range list {
			if err := s.File.sync(); err != nil {
				return nil, err
			}
			for _, n := range []uint64{uint64(s.File.number), uint64(s.From), uint64(s.To), s.Records} {
				dst = binary.AppendUvarint(dst, n)
			}
		}
	}
	return dst, nil
}

// ErrList is of something else than a list of sections.
var ErrList = errors.New("the list of the files of a search cannot be read")

// Reopen returns a directory that was left, with the lists of sections that Append has written.
// Other files there are removed.
func Reopen(parent, name string, bound uint64, sizes Sizes, in *bufio.Reader, lists int) (d *Dir,
	all [][]Section, err error) {
	path := filepath.Join(parent, name)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("external search: its states are not in %s: name the directory where "+
			"they are", parent)
	}
	if d, err = open(parent, name, bound, sizes); err != nil {
		return nil, nil, err
	}
	for range lists {
		list, err := d.readList(in)
		if err != nil {
			return nil, nil, errors.Join(err, d.Leave())
		}
		all = append(all, list)
	}
	if err = d.reopenAll(all); err != nil {
		return nil, nil, errors.Join(err, d.Leave())
	}
	return d, all, nil
}

// readList reads a list. Its sections have files without anything but a number. Whoever has written
// it may have been anybody, so each number is checked.
func (d *Dir) readList(in *bufio.Reader) (list []Section, err error) {
	next := func(bound uint64) uint64 {
		n, fault := binary.ReadUvarint(in)
		if fault != nil || n >= bound {
			err = ErrList
		}
		return n
	}
	// The list grows with what is there: the number may be anything.
	for range next(1 << 40) {
		s := Section{File: &File{number: int(next(1 << 31))}}
		s.From, s.To, s.Records = int64(next(1<<62)), int64(next(1<<62)), next(1<<62)
		if err != nil || s.From > s.To {
			return nil, ErrList
		}
		list = append(list, s)
	}
	return list, err
}

// reopenAll opens the files of all sections, and removes the others.
func (d *Dir) reopenAll(lists [][]Section) error {
	sizes := map[int]int64{}
	for _, list := range lists {
		for _, s := range list {
			sizes[s.File.number] = max(sizes[s.File.number], s.To)
		}
	}
	for number, size := range sizes {
		if size == 0 {
			continue
		}
		if _, err := d.reopen(number, size); err != nil {
			return err
		}
	}
	for _, list := range lists {
		for i := range list {
			if list[i].File = d.files[list[i].File.number]; list[i].File == nil {
				return ErrList
			}
		}
	}
	return d.removeOthers()
}

// removeOthers removes files that belong to no section. A process that was killed has left them: it
// had begun them, or had no time to remove them.
func (d *Dir) removeOthers() error {
	all, err := os.ReadDir(d.path)
	if err != nil {
		return err
	}
	wanted := map[string]bool{lockName: true}
	for _, f := range d.files {
		wanted[filepath.Base(d.nameOf(f.number))] = true
	}
	for _, entry := range all {
		if !wanted[entry.Name()] {
			if err := os.Remove(filepath.Join(d.path, entry.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// Check reads a section, and returns an error if it is damaged.
func (s Section) Check(hasValues bool) error {
	records := uint64(0)
	for r := NewReader(s, hasValues); ; records++ {
		ok, err := r.Next()
		if err != nil {
			return err
		}
		if !ok {
			return r.isRight(records == s.Records)
		}
	}
}

// Runs are the sections of the keys, which must all be in runs.
func (v *Visited) Runs() (list []Section) {
	for _, r := range v.runs {
		list = append(list, r.Section)
	}
	return list
}

// SetRuns sets the keys to those of some runs. Each is read as a whole, for the first keys of its
// blocks, and so that damage shows at once.
func (v *Visited) SetRuns(list []Section) error {
	for _, s := range list {
		r := run{Section: s}
		reader := NewReader(s, false)
		var last []byte
		for n := uint64(0); ; n++ {
			at, isFirst := reader.at, reader.left == 0
			ok, err := reader.Next()
			if err == nil && !ok {
				err = reader.isRight(n == s.Records)
			} else if err == nil && n > 0 {
				err = reader.isRight(string(last) < string(reader.Key))
			}
			if err != nil {
				return err
			}
			if !ok {
				break
			}
			last = append(last[:0], reader.Key...)
			if isFirst {
				r.marks = append(r.marks, mark{[]byte(string(reader.Key)), at})
			}
		}
		v.runs = append(v.runs, r)
		v.count += s.Records
	}
	return nil
}

// Runs has all records in runs, and returns their sections. More may be added afterwards.
func (s *Sorter) Runs() ([]Section, error) {
	err := s.flush()
	return s.runs, err
}

// SetRuns sets the records to those of some runs, which are in one file.
func (s *Sorter) SetRuns(list []Section) error {
	for _, run := range list {
		if err := run.Check(true); err != nil {
			return err
		}
		s.file = run.File
	}
	s.runs = list
	return nil
}

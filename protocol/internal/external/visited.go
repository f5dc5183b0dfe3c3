package external

import (
	"errors"
	"slices"

	"github.com/tandem-mc/tandem/protocol/internal/space"
)

// Visited is a set of keys. The young ones are in memory. The others are in runs, each in a file of
// its own. No key is in two of them.
type Visited struct {
	dir *Dir
	// runs are in the order in which they came. Mostly a run has more keys than all behind it.
	runs  []run
	young *space.Set
	count uint64 // of all keys
}

// run is a sorted section, with the first keys of its blocks.
type run struct {
	Section
	marks []mark
}

// NewVisited is empty.
func NewVisited(d *Dir) *Visited { return &Visited{dir: d, young: space.New(1)} }

// Count says how many keys there are.
func (v *Visited) Count() uint64 { return v.count }

// Addition has keys that are to be added, and that were not there. Between Add and Commit there is
// time for what has to be done before they are visited, and may fail.
type Addition struct {
	visited *Visited
	run     *runWriter // nil: they are among the young ones already
	count   uint64
}

// IsSmall says whether so many keys would not become a run at once.
func (v *Visited) IsSmall(keys uint64) bool {
	young, _ := v.young.Size()
	return uint64(young)+keys <= uint64(v.dir.Sizes.Young)
}

// Add finds out which keys of a merge are new, of which there are some at most. IsNew is called
// with the value of each. Commit adds them. If they are many, nothing has changed before. If they
// are few, the young ones have them already, and Commit has to follow.
func (v *Visited) Add(m *Merger, most uint64, isNew func(value uint64)) (*Addition, error) {
	a := &Addition{visited: v}
	add := func(key []byte) (bool, error) {
		_, isNew, err := v.young.Insert(key, space.None)
		return isNew, err
	}
	// Many keys become a run in the order in which they come.
	if !v.IsSmall(most) {
		if err := v.Flush(); err != nil {
			return nil, err
		}
		a.run = v.newRun()
		add = func(key []byte) (bool, error) { return true, a.run.Append(key, 0) }
	}
	err := v.look(m, func(key []byte, value uint64) error {
		fresh, err := add(key)
		if fresh {
			a.count++
			isNew(value)
		}
		return err
	})
	if err != nil && a.run != nil {
		err = errors.Join(err, a.run.file.Remove())
	}
	return a, err
}

// Commit adds the keys.
func (a *Addition) Commit() error {
	a.visited.count += a.count
	if a.run == nil {
		return nil
	}
	if err := a.run.end(); err != nil {
		return err
	}
	return a.visited.compact()
}

// look calls add for the keys of a merge that are in no run. Both the merge and the runs are
// sorted, so each run is gone through once, however many keys are looked up.
func (v *Visited) look(m *Merger, add func(key []byte, value uint64) error) error {
	cursors := make([]*cursor, len(v.runs))
	for i, r := range v.runs {
		// What was visited lately is met more often.
		cursors[len(cursors)-1-i] = &cursor{Reader: NewReader(r.Section, false), marks: r.marks}
	}
	for {
		ok, err := m.Next()
		if !ok || err != nil {
			return err
		}
		known := false
		for i := 0; i < len(cursors) && !known; i++ {
			if known, err = cursors[i].seek(m.Key); err != nil {
				return err
			}
		}
		if known {
			continue
		}
		if err := add(m.Key, m.Value); err != nil {
			return err
		}
	}
}

// runWriter writes a run, of keys in ascending order.
type runWriter struct {
	*Writer
	visited *Visited
}

func (v *Visited) newRun() *runWriter {
	w := NewWriter(v.dir.Create(), false)
	w.isMarked = true
	return &runWriter{w, v}
}

// end puts the run to the others. One without keys is none.
func (w *runWriter) end() error {
	section, err := w.End()
	if err != nil {
		return err
	}
	if section.Records == 0 {
		return section.File.Remove()
	}
	w.visited.runs = append(w.visited.runs, run{section, w.marks})
	return nil
}

// Flush makes the young keys a run, so that all keys are in files. After an error they are still
// among the young ones.
func (v *Visited) Flush() error {
	if count, _ := v.young.Size(); count == 0 {
		return nil
	}
	sorter := NewSorter(v.dir)
	for all := v.young.Range(0, 0, v.young.End(0)); ; {
		_, key, ok := all.Next()
		if !ok {
			break
		}
		if err := sorter.Add(key, 0); err != nil {
			return err
		}
	}
	m, err := sorter.Merge()
	if err != nil {
		return err
	}
	w := v.newRun()
	for {
		ok, err := m.Next()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		if err := w.Append(m.Key, 0); err != nil {
			return err
		}
	}
	if err := w.end(); err != nil {
		return err
	}
	v.young = space.New(1)
	if err := sorter.Empty(); err != nil {
		return err
	}
	return v.compact()
}

// errGivenUp is the error of a merge that Dir.GiveUp has ended.
var errGivenUp = errors.New("the merge of runs is given up")

// compact keeps the number of runs small, since each takes a comparison for each candidate. It
// merges the last runs if there are too many: the last two, and each before them that has
// no more keys than all of these. So a key is written a number of times that grows with the
// logarithm of how many there are.
func (v *Visited) compact() error {
	pause := v.dir.Pause
	defer func() { v.dir.Pause = pause }()
	v.dir.Pause = func() error {
		if v.dir.GiveUp != nil && v.dir.GiveUp() {
			return errGivenUp
		}
		return nil
	}
	for len(v.runs) > v.dir.Sizes.Runs {
		from := len(v.runs) - 2
		sum := v.runs[from].Records + v.runs[from+1].Records
		for from > 0 && len(v.runs)-from < v.dir.Sizes.FanIn && v.runs[from-1].Records <= sum {
			from--
			sum += v.runs[from].Records
		}
		// Without room for it there are more runs, which is only slower.
		bytes := int64(0)
		for _, r := range v.runs[from:] {
			bytes += r.To - r.From
		}
		if !v.dir.HasRoom(bytes) {
			return nil
		}
		if err := v.merge(from); errors.Is(err, errGivenUp) {
			return nil // it is done later
		} else if err != nil {
			return err
		}
	}
	return nil
}

// merge makes one run of all from one on. After an error the runs are what they were.
func (v *Visited) merge(from int) error {
	var sections []Section
	for _, r := range v.runs[from:] {
		sections = append(sections, r.Section)
	}
	w := v.newRun()
	if err := mergeRuns(sections, false, false, w.Append); err != nil {
		return errors.Join(err, w.file.Remove())
	}
	old := v.runs
	v.runs = slices.Clone(v.runs[:from])
	if err := w.end(); err != nil {
		v.runs = old
		return errors.Join(err, w.file.Remove())
	}
	for _, s := range sections {
		if err := s.File.Remove(); err != nil {
			return err
		}
	}
	return nil
}

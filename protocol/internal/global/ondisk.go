package global

import (
	"errors"
	"runtime"

	"github.com/tandem-mc/tandem/protocol/internal/external"
	"github.com/tandem-mc/tandem/protocol/internal/forms"
	"github.com/tandem-mc/tandem/protocol/internal/space"
	"github.com/tandem-mc/tandem/protocol/internal/system"
)

// onDisk is a search breadth first whose states are in files. All levels are in one file, in the
// order in which the search has met their states: each with the place of its parent in the level
// before, and the node that has led to it. All visited states are in sorted runs besides.
//
// A level is expanded in chunks: so many states at a time as have room in memory, together with
// what they reach. Workers expand a chunk as they expand a level in memory, and tell apart what is
// in the chunk. What they reach are candidates for the next level. They are written down in their
// order, and sorted by their bytes. When the level is done, a merge tells which of them were
// neither visited nor reached before, and these are the next level.
//
// So states have the same order as in memory, each is reached first from the same state, and the
// first violation is the same one.
//
// The form of the search has only the states of the chunk. So whatever can expand states in memory
// can do it here: vectors of all widths, bytes, and nodes that are alike. What is in files does not
// depend on the form. If vectors turn out to be too narrow, just the chunk begins again.
type onDisk struct {
	*search
	dir     *external.Dir
	isSaved bool // a search that was kept refers to the files
	levels  []external.Section
	file    *external.File // of levels
	visited *external.Visited
	workers []expands
	chunk   uint64               // how many states are expanded at a time
	place   uint64               // of the first state of the level that is not expanded yet
	fresh   *external.Candidates // of the next level
	doubts  *external.Doubts     // of the proviso, about states of this one
	last    int64                // bytes of the last chunk's
	chunkOf chunk
	known   system.Known // when the chunk was loaded
}

// Search runs a search. An error is about the model, such as a state without an image.
//
// States are kept in the narrowest form that will do. If that turns out to be too narrow, all are
// taken to a wider one, and the search goes on. If memory has no more room, it goes on in files.
func Search(c Config) (*Result, error) {
	s := &search{Config: &c, filing: filing{spill: spill, reopen: reopen, expander: newExpands}}
	w, err := s.begin(nil)
	for forms.IsNarrow(err) {
		w, err = s.begin(err)
	}
	if err == nil && c.DepthFirst {
		err = s.depthFirst(w)
	} else if err == nil {
		err = s.breadthFirst()
	}
	r, err := s.result(w, err)
	forms.Release(s.form)
	if err != nil && s.disk != nil {
		return nil, errors.Join(err, s.disk.release(true))
	}
	return r, err
}

// newOnDisk has no states yet.
func newOnDisk(s *search, dir *external.Dir) *onDisk {
	if s.Disk.Write != nil {
		dir.Write = s.Disk.Write
	}
	d := &onDisk{search: s, dir: dir, visited: external.NewVisited(dir),
		fresh: external.NewCandidates(dir), doubts: external.NewDoubts(dir),
		chunk: uint64(s.Disk.Sizes.Chunk)}
	// All places of a candidate are asked for.
	if d.fresh.Sorter.KeepAll = s.Proviso; s.Proviso {
		d.pass = firstPass
	}
	dir.GiveUp = func() bool { return d.Stop != nil && d.Stop(d.progress()) != "" }
	return d
}

// spill takes all states to files, and goes on there. What the present level has reached is
// forgotten: it begins again.
func spill(s *search) error {
	dir, err := external.Open(s.Disk.Directory, s.Disk.Name, s.Disk.Bound, s.Disk.Sizes)
	if err != nil {
		return err
	}
	d := newOnDisk(s, dir)
	if err := d.takeAll(); err != nil {
		return errors.Join(err, dir.Close())
	}
	// From now on the search has its states there.
	forms.Release(s.form)
	s.form = newForm(s.Config, s.log)
	s.disk, s.levelStart, s.levelEnd, s.before = d, nil, nil, nil
	s.found = nil
	runtime.GC()
	return d.breadthFirst()
}

// takeAll writes the states in memory to the files: each level in its order, and all of them
// sorted.
func (d *onDisk) takeAll() error {
	d.file = d.dir.Create()
	var w *external.Writer
	states := uint64(0)
	endLevel := func() error {
		if w == nil {
			return nil
		}
		section, err := w.End()
		d.levels = append(d.levels, section)
		return err
	}
	x := &levelReader{search: d.search}
	err := x.levels(func(int) error {
		err := endLevel()
		w = external.NewWriter(d.file, true)
		return err
	}, func(place uint64, node uint8, packed []byte) error {
		states++
		return errors.Join(w.Append(packed, d.originValue(place, node)), d.fresh.Sorter.Add(packed, 0))
	})
	if err = errors.Join(err, endLevel()); err != nil {
		return err
	}
	err = d.visit(states, func(uint64, []uint64) {}, func() error { return nil })
	return errors.Join(err, d.fresh.Sorter.Empty())
}

// visit adds the candidates that are new to the visited states, of which there are some at most.
// What is to be done when it is known which ones are new is done before they are added. A candidate
// may have come again at other places.
func (d *onDisk) visit(most uint64, isNew func(place uint64, others []uint64), then func() error) error {
	m, err := d.fresh.Sorter.Merge()
	if err != nil {
		return err
	}
	addition, err := d.visited.Add(m, most, func(place uint64) { isNew(place, m.Others) })
	if err != nil {
		return err
	}
	if err := then(); err != nil {
		return err
	}
	return addition.Commit()
}

// originValue is where a state comes from, as one number: the place of its parent in the level
// before, and the node that has led to it. Neighbours have mostly near parents, so differences of
// such numbers are small.
func (d *onDisk) originValue(place uint64, node uint8) uint64 {
	return place*uint64(d.Nodes+1) + uint64(node)
}

// originOf is the reverse of originValue.
func (d *onDisk) originOf(value uint64) (place uint64, node uint8) {
	nodes := uint64(d.Nodes + 1)
	return value / nodes, uint8(value % nodes)
}

// progress is how far the search is. What a level has reached counts when the level ends.
func (d *onDisk) progress() Progress {
	_, bytes := d.form.Size()
	used, _ := d.dir.Used()
	return Progress{States: int(d.visited.Count()), Expanded: int(d.expandings.Load()),
		Transitions: d.transitions.Load(), Depth: d.depth, Bytes: bytes, Disk: used}
}

// breadthFirst goes level by level, as in memory.
func (d *onDisk) breadthFirst() error {
	d.workers = d.newWorkers()
	for ; ; d.depth++ {
		level := d.levels[len(d.levels)-1]
		d.setBoundary()
		if level.Records == 0 {
			d.depth--
			return nil
		}
		if d.Depth > 0 && d.depth >= d.Depth {
			err := d.end(nil, reasonDepth, nil)
			d.keep(true)
			return err
		}
		err := d.expandChunks(level)
		if err == nil {
			err = d.endLevel()
		}
		if err != nil {
			return d.stopped(err)
		}
	}
}

// setBoundary notes where the search is. All workers are at rest.
func (d *onDisk) setBoundary() {
	d.boundary = boundary{d.transitions.Load(), d.expandings.Load(), d.search.reached.Load()}
}

// stopped keeps a search that has ended at a bound.
func (d *onDisk) stopped(err error) error {
	if d.reason != "" && errors.Is(err, errEnded) {
		d.keep(true)
	}
	return err
}

// reasonDisk is why a search ends at the bound on the disk.
const reasonDisk = "the bound on the disk was reached: raise it, or bound the model or the depth"

// needs ends the search if there is no room for so many bytes more. If it is kept, what is not
// wanted any more is removed first.
func (d *onDisk) needs(bytes int64) error {
	if d.dir.HasRoom(bytes) {
		return nil
	}
	if d.Keep != nil && d.dir.HasDoomed() {
		d.keepNow()
	}
	if d.dir.HasRoom(bytes) {
		return nil
	}
	return d.end(nil, reasonDisk, nil)
}

// expandChunks expands what is left of a level. Between two chunks all workers are at rest, and the
// files have what was found so far. So that is where a search is kept, and where it ends at a
// bound.
func (d *onDisk) expandChunks(level external.Section) error {
	frontier := external.NewReader(level, true)
	if err := frontier.Skip(d.place); err != nil {
		return err
	}
	for d.place < level.Records {
		d.setBoundary()
		d.keep(false)
		// The next chunk reaches about as much as the one before.
		if err := d.needs(d.last); err != nil {
			return err
		}
		states := min(d.chunk, level.Records-d.place)
		err := d.load(frontier, states)
		if err == nil {
			d.expandLevel(d.workers, d.parts())
			// Whatever ends the search has been noted.
			if d.ended.Load() && !isMended(d.err) {
				return errEnded
			}
			err = d.err
		}
		if err == nil {
			if err = d.endChunk(); err != nil {
				return err
			}
			d.place += states
			d.adapt(states)
			if d.pass == secondPass {
				d.expandings.Add(-int64(states)) // they were counted before
			}
			continue
		}
		if !isMended(err) {
			return err
		}
		if err := d.mend(err, states); err != nil {
			return err
		}
		if err := frontier.Skip(d.place); err != nil {
			return err
		}
	}
	d.setBoundary()
	if d.found != nil {
		return errEnded
	}
	return nil
}

// endChunk keeps what a chunk has reached, and the run to a violation that was noted in it.
func (d *onDisk) endChunk() (err error) {
	if d.found != nil && d.found.states == nil {
		if d.found.states, err = statesBefore(d.search, d.found.at); err != nil {
			return err
		}
	}
	return d.collect()
}

// mend has a chunk begin again, with wider vectors, or with fewer states.
func (d *onDisk) mend(reason error, states uint64) error {
	d.beginAgain()
	if d.found != nil && d.found.states == nil {
		d.found = nil // the chunk comes upon it again
	}
	if errors.Is(reason, ErrFull) {
		d.chunk = max(1, states/2)
		return nil
	}
	forms.Release(d.form)
	d.form = widerForm(d.search, reason)
	d.workers = d.newWorkers()
	return nil
}

// adapt chooses how many states the next chunk has, from what one of some states has taken.
func (d *onDisk) adapt(states uint64) {
	all, bytes := d.form.Size()
	// In a small table most is empty.
	const fewStates, mostBytes = 1 << 12, 64
	each := uint64(mostBytes)
	if all > fewStates {
		each = uint64(bytes)/uint64(all) + 1
	}
	// Doubts have places of what was reached, and what is reached again counts there each time.
	if d.pass == firstPass {
		each += mostBytes / 2
		for _, w := range d.workers {
			each += uint64(w.noted().bytes()) / max(1, uint64(all))
		}
	}
	d.chunk = d.chunkOf.next(uint64(d.Disk.Sizes.Table)/4*3/each, states, uint64(all), d.chunk)
}

// endLevel makes the next level of what is new among what was reached. For a large level that takes
// long, so it may end at a bound. Then it is done again later, from the start.
func (d *onDisk) endLevel() error {
	var leads []uint64 // candidates that are new, at all their places
	if d.pass == firstPass {
		leads = make([]uint64, d.fresh.Count/64+1)
	}
	level, next := d.levels[len(d.levels)-1], external.Section{File: d.file}
	err := d.settle(&next, leads)
	if err == nil && d.pass == firstPass {
		err = d.secondPass(level, leads, &next)
	}
	if err != nil {
		return err
	}
	d.levels, d.place = append(d.levels, next), 0
	return nil
}

// secondPass expands the states of a level in full that lead to nothing new. The bits say which
// candidates are new. What it reaches is added to the next level, of which a section is there.
func (d *onDisk) secondPass(level external.Section, isNew []uint64, next *external.Section) error {
	// These may be all states of the level, which then are written down once more.
	if !d.doubts.IsEmpty() {
		if err := d.needs(level.To - level.From); err != nil {
			return err
		}
	}
	file := d.dir.Create()
	d.dir.Pause = d.pauseDisk
	rest, err := d.unresolved(level, isNew, file)
	d.dir.Pause = nil
	if err = errors.Join(err, d.doubts.Empty()); err == nil && rest.Records > 0 {
		d.pass, d.place = secondPass, 0
		d.fresh.Sorter.KeepAll = false
		if err = d.expandChunks(rest); err == nil {
			err = d.settle(next, nil)
		}
	}
	if err != nil {
		return err
	}
	d.pass, d.fresh.Sorter.KeepAll = firstPass, true
	return file.Remove()
}

// unresolved are the states of a level that lead to nothing new, each with its place there.
func (d *onDisk) unresolved(level external.Section, isNew []uint64, file *external.File) (
	external.Section, error) {
	w, all := external.NewWriter(file, true), external.NewSeeker(level, true)
	err := d.doubts.Unresolved(isNew, func(place uint64) error {
		if err := all.Seek(place); err != nil {
			return err
		}
		return w.Append(all.Key, place)
	})
	section, fault := w.End()
	return section, errors.Join(err, fault)
}

// settle adds what is new among the candidates to the next level, and to the bits of those that are
// new, unless these are nil.
func (d *onDisk) settle(level *external.Section, leads []uint64) error {
	r := d.fresh
	if err := d.needs(r.Needs()); err != nil {
		return err
	}
	// What takes long may be ended before anything has changed.
	if !d.visited.IsSmall(r.Count) {
		d.dir.Pause = d.pauseDisk
		defer func() { d.dir.Pause = nil }()
	}
	bits := make([]uint64, r.Count/64+1)
	isNew := func(place uint64, others []uint64) {
		bits[place/64] |= 1 << (place % 64)
		for _, place := range others {
			leads[place/64] |= 1 << (place % 64)
		}
	}
	next := external.NewWriter(d.file, true)
	err := d.visit(r.Count, isNew, func() error {
		place := uint64(0)
		err := r.Each(func(key []byte, value uint64) error {
			at := place
			if place++; bits[at/64]>>(at%64)&1 == 0 {
				return nil
			}
			return next.Append(key, value)
		})
		// From here on it is the next level.
		d.dir.Pause = nil
		return err
	})
	if err != nil {
		return err
	}
	for i := range leads {
		leads[i] |= bits[i]
	}
	section, err := next.End()
	if err != nil {
		return err
	}
	// Sections of a level follow each other in the file.
	if level.Records == 0 {
		level.From = section.From
	}
	level.To, level.Records = section.To, level.Records+section.Records
	return r.Empty()
}

// pauseDisk asks whether the search is to go on.
func (d *onDisk) pauseDisk() error {
	if d.Stop == nil {
		return nil
	}
	if reason := d.Stop(d.progress()); reason != "" {
		return d.end(nil, reason, nil)
	}
	return nil
}

// finish counts what the last level of a violation has added, and the bytes of all. If the disk is
// full now, that does not hide the violation.
func (d *onDisk) finish(r *Result) {
	if d.found != nil {
		var err error
		if d.chunkOf.states > 0 {
			err = d.collect()
		}
		if err == nil {
			err = d.visit(d.fresh.Count, func(uint64, []uint64) {}, func() error { return nil })
		}
		if err == nil {
			r.States = int(d.visited.Count())
		}
	}
	_, r.Progress.Disk = d.dir.Used()
}

// statesBefore are the states before one of the present chunk, up to the start.
func (d *onDisk) statesBefore(at space.Ref) (states [][]byte, err error) {
	level := len(d.levels) - 1
	place, isLoaded := d.placeInLevel(at)
	// A state that was loaded is read once more, for where it comes from.
	for isKnown := isLoaded; level >= 0; level, isKnown = level-1, false {
		r := external.NewReader(d.levels[level], true)
		if err := r.Skip(place); err != nil {
			return nil, err
		}
		if err := d.next(r); err != nil {
			return nil, err
		}
		if !isKnown {
			states = append(states, append([]byte(nil), r.Key...))
		}
		place, _ = d.originOf(r.Value)
	}
	return states, nil
}

// release removes all files, or, if the search is to go on and was saved, only closes them.
func (d *onDisk) release(goesOn bool) error {
	if goesOn && d.isSaved {
		return d.dir.Leave()
	}
	return d.dir.Close()
}

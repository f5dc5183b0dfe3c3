package overflow

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/tandem-mc/tandem/protocol/internal/external"
	"github.com/tandem-mc/tandem/protocol/internal/global"
	"github.com/tandem-mc/tandem/protocol/internal/system"
	"github.com/tandem-mc/tandem/protocol/internal/table"
)

// files has the states of a share in files. All own states are in one file, level by level, in the
// order in which they were met. Each has where it comes from: the place of a state in the level
// before, or in the list of those that came with received states, and the node that has led there.
// That says which steps commute, as in memory.
type files struct {
	*Share
	file   *external.File // of levels
	levels []external.Section
	next   external.Section // what is known of the next level
	// own are all own states but those that are candidates still, others those of other shares
	// that were handed on.
	own, others *external.Visited
	// fresh are candidates for the next level, met those of others.
	fresh, met *external.Candidates
	// Of the candidates for the next level, those from a place on were received.
	from     uint64
	received int
	// origins has what received states were reached from: those of the next level, or, when its
	// section is ended, of the present one.
	origins   list
	hasBefore bool // the last received state was reached from the last one there
	base      global.Tally
	kept      kept

	place uint64 // of the first state of the level that is not expanded yet
	chunk uint64 // how many states are expanded at a time
	wrote int64  // bytes of candidates of the last chunk
	scratch
}

// scratch is used again from call to call.
type scratch struct {
	state, origin system.State // that are looked at
	numbers       system.Known // of the table, when a file was begun to be read
	packed, last  []byte
}

// newFiles has no states yet.
func newFiles(s *Share) *files {
	f := &files{Share: s, file: s.dir.Create(), own: external.NewVisited(s.dir),
		others: external.NewVisited(s.dir), fresh: external.NewCandidates(s.dir),
		met: external.NewCandidates(s.dir), chunk: uint64(max(1, s.Global.Disk.Sizes.Chunk))}
	f.next = external.Section{File: f.file}
	return f
}

// system is what states are of.
func (f *files) system() *system.System { return &f.Global.System }

// spill takes all states to files. What the present level has reached is forgotten. What the states
// of that level were reached from is written as for received ones. Of those that were received it
// is not known any more, so they are expanded in full.
func (s *Share) spill() error {
	f := newFiles(s)
	// Each level is a section, also one without own states: levels are counted.
	w := external.NewWriter(f.file, true)
	endLevel := func() error {
		section, err := w.End()
		f.levels, w = append(f.levels, section), external.NewWriter(f.file, true)
		return err
	}
	err := s.memory.Each(func(level int, before, state *system.State, node uint8) error {
		for len(f.levels) < level {
			if err := endLevel(); err != nil {
				return err
			}
		}
		to, err := s.Whose.Owner(state)
		if err != nil {
			return err
		}
		f.packed = f.system().Pack(f.packed[:0], state)
		if to != s.Whose.Own {
			return errors.Join(f.met.Sorter.Add(f.packed, 0), f.keepOther(f.packed))
		}
		value := uint64(0)
		if level == s.levels-1 && before != nil && f.isNeeded(origin{node: node}) {
			if value, err = f.spillOrigin(before, node); err != nil {
				return err
			}
		}
		return errors.Join(w.Append(f.packed, value), f.fresh.Sorter.Add(f.packed, 0))
	})
	for err == nil && len(f.levels) < s.levels {
		err = endLevel()
	}
	if err == nil {
		err = f.visitAll()
	}
	if err != nil {
		return err
	}
	s.files, s.isAnew = f, true
	s.memory.Reset(true)
	return f.beginLevel()
}

// spillOrigin writes what a state was reached from, unless it is that of the one before.
func (f *files) spillOrigin(before *system.State, node uint8) (value uint64, err error) {
	packed := f.system().Pack(nil, before)
	if !f.hasBefore || !bytes.Equal(packed, f.last) {
		err = f.origins.add(f.dir, packed)
		f.hasBefore, f.last = true, packed
	}
	return f.valueOf(origin{place: f.origins.count - 1, isReceived: true, node: node}), err
}

// keepOther keeps a state of another share until it is written.
func (f *files) keepOther(packed []byte) error {
	if !f.HasCheckpoints {
		return nil
	}
	return f.kept.others.add(f.dir, packed)
}

// visitAll makes what is sorted the visited states.
func (f *files) visitAll() error {
	for _, x := range []struct {
		sorter  *external.Sorter
		visited *external.Visited
	}{{f.fresh.Sorter, f.own}, {f.met.Sorter, f.others}} {
		m, err := x.sorter.Merge()
		if err != nil {
			return err
		}
		// That there are many has them become a run.
		addition, err := x.visited.Add(m, many, func(uint64) {})
		if err == nil {
			err = addition.Commit()
		}
		if err = errors.Join(err, x.sorter.Empty()); err != nil {
			return err
		}
	}
	return nil
}

// many are more states than have room in memory.
const many = 1 << 40

// begin begins the next level.
func (f *files) begin() (states, known int, err error) {
	fresh, err := f.settle()
	if err != nil {
		return 0, 0, err
	}
	known, f.received = f.received-fresh, 0
	// What is reached from now on belongs to the level after this one.
	f.levels = append(f.levels, f.next)
	f.next = external.Section{File: f.file}
	return int(f.levels[len(f.levels)-1].Records), known, f.beginLevel()
}

// beginLevel has the last level be expanded.
func (f *files) beginLevel() error {
	f.place, f.hasBefore = 0, false
	return f.origins.end()
}

// settle finds out which candidates are new, and puts them to the next level. It says how many of
// them were received.
func (f *files) settle() (received int, err error) {
	if f.fresh.Count == 0 {
		return 0, nil
	}
	// One bit says of each candidate whether it is new. The merge comes upon them in the order of
	// their keys, and the level has them in the order in which they were met.
	w := external.NewWriter(f.file, true)
	bits := make([]uint64, f.fresh.Count/64+1)
	addition, err := f.tell(f.fresh, f.own, bits, func(place uint64) {
		if f.received > 0 && place >= f.from {
			received++
		}
	})
	if err == nil {
		err = each(f.fresh, bits, w.Append)
	}
	if err != nil {
		return 0, err
	}
	section, err := w.End()
	if err == nil {
		err = addition.Commit()
	}
	// Sections of a level follow each other in the file.
	if f.next.Records == 0 {
		f.next.From = section.From
	}
	f.next.To, f.next.Records, f.from = section.To, f.next.Records+section.Records, 0
	return received, errors.Join(err, f.fresh.Empty())
}

// tell sets the bits of the candidates that are new.
func (f *files) tell(c *external.Candidates, visited *external.Visited, bits []uint64,
	isNew func(place uint64)) (*external.Addition, error) {
	m, err := c.Sorter.Merge()
	if err != nil {
		return nil, err
	}
	return visited.Add(m, c.Count, func(place uint64) {
		bits[place/64] |= 1 << (place % 64)
		isNew(place)
	})
}

// each visits the candidates that are new, in their order.
func each(c *external.Candidates, bits []uint64, visit func(key []byte, value uint64) error) error {
	place := uint64(0)
	return c.Each(func(key []byte, value uint64) error {
		at := place
		if place++; bits[at/64]>>(at%64)&1 == 0 {
			return nil
		}
		return visit(key, value)
	})
}

// receive makes a candidate of a state that another share has reached.
func (f *files) receive(before *system.State, isSame bool, state *system.State, node uint8) error {
	// The first one stands behind all that was reached here.
	if f.received == 0 {
		f.from = f.fresh.Count
	}
	f.received++
	o := origin{isReceived: true, node: node}
	// Several states that were reached from the same one share it.
	if !f.isNeeded(o) {
		o.node, f.hasBefore = 0, false
	} else if !isSame || !f.hasBefore {
		f.packed = f.system().Pack(f.packed[:0], before)
		if err := f.origins.add(f.dir, f.packed); err != nil {
			return err
		}
		f.hasBefore = true
	}
	o.place = max(1, f.origins.count) - 1
	f.packed = f.system().Pack(f.packed[:0], state)
	return f.fresh.Add(f.packed, f.valueOf(o))
}

// before is that of Share.
func (f *files) before(level int, target uint64, mayLead func([]table.Local) bool) (digest uint64,
	locals []table.Local, ok bool, err error) {
	if level >= len(f.levels) {
		return 0, nil, false, nil
	}
	f.numbers = f.system().Known()
	// Only own states are looked at: each state of a level is one of some share.
	for r := external.NewReader(f.levels[level], true); ; {
		isThere, err := f.readNext(r, &f.state)
		if err != nil || !isThere {
			return digest, locals, ok, err
		}
		if !mayLead(f.state.Locals) {
			continue
		}
		own, err := f.Whose.Digest(&f.state)
		if err != nil {
			return 0, nil, false, err
		}
		if ok && own >= digest {
			continue
		}
		leads, err := f.memory.Leads(&f.state, target)
		if err != nil {
			return 0, nil, false, err
		}
		if leads {
			digest, ok, locals = own, true, append([]table.Local{}, f.state.Locals...)
		}
	}
}

// readNext reads the next state of a level; false if there is none.
func (f *files) readNext(r *external.Reader, s *system.State) (bool, error) {
	ok, err := r.Next()
	if err != nil || !ok {
		return false, err
	}
	if !f.system().IsState(f.numbers, r.Key) {
		return false, global.ErrStates
	}
	f.system().Unpack(s, r.Key)
	return true, nil
}

// reasonDisk is why a search ends at the bound on the disk.
func (f *files) reasonDisk() string {
	return fmt.Sprintf("the bound of %d MB on the disk was reached", f.Global.Disk.Bound>>20)
}

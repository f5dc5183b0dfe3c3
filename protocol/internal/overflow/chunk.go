package overflow

import (
	"errors"

	"github.com/tandem-mc/tandem/protocol/internal/external"
	"github.com/tandem-mc/tandem/protocol/internal/global"
	"github.com/tandem-mc/tandem/protocol/internal/system"
)

// origin is where a state comes from.
type origin struct {
	place uint64
	// isReceived: the place is in the list of what received states were reached from, and not in
	// the level before.
	isReceived bool
	node       uint8 // that has led to the state, plus one; zero: nobody needs to know
}

// isNeeded says whether a state before is needed: below the first node there is none, and a
// selection does not ask which steps commute.
func (f *files) isNeeded(o origin) bool { return o.node > 1 && f.Global.Select == nil }

// valueOf is an origin as one number. Neighbours have near origins, so differences are small.
func (f *files) valueOf(o origin) uint64 {
	value := (o.place*uint64(f.Global.Nodes+1) + uint64(o.node)) * 2
	if o.isReceived {
		value++
	}
	return value
}

// originOf is the reverse of valueOf.
func (f *files) originOf(value uint64) origin {
	nodes := uint64(f.Global.Nodes + 1)
	return origin{place: value / 2 / nodes, node: uint8(value / 2 % nodes), isReceived: value%2 != 0}
}

// list is a file of states in their order, without values.
type list struct {
	file    *external.File // nil: it is empty
	writer  *external.Writer
	section external.Section
	count   uint64
}

// add adds a state.
func (l *list) add(dir *external.Dir, packed []byte) error {
	if l.writer == nil {
		l.file = dir.Create()
		l.writer = external.NewWriter(l.file, false)
	}
	l.count++
	return l.writer.Append(packed, 0)
}

// end makes the states a section, which can be read.
func (l *list) end() (err error) {
	if l.writer != nil {
		l.section, err = l.writer.End()
		l.writer = nil
	}
	return err
}

// remove forgets all.
func (l *list) remove() (err error) {
	if l.file != nil {
		err = l.file.Remove()
	}
	*l = list{}
	return err
}

// newSeeker reads a section; nil if there is none.
func newSeeker(s external.Section, hasValues bool) *external.Seeker {
	if s.Records == 0 {
		return nil
	}
	return external.NewSeeker(s, hasValues)
}

// seek reads the state at a place.
func (f *files) seek(r *external.Seeker, place uint64, s *system.State) error {
	if r == nil {
		return global.ErrStates
	}
	if err := r.Seek(place); err != nil {
		return err
	}
	if !f.system().IsState(f.numbers, r.Key) {
		return global.ErrStates
	}
	f.system().Unpack(s, r.Key)
	return nil
}

// expand expands the level in chunks, and hands on what is new of others.
func (f *files) expand(hand global.Hand) (found *global.Found, reason string, err error) {
	level := f.levels[len(f.levels)-1]
	frontier := external.NewReader(level, true)
	before := f.newBefore()
	for f.place < level.Records {
		if !f.dir.HasRoom(f.wrote) {
			return nil, f.reasonDisk(), nil
		}
		// What ends the search in a chunk ends it for good, so nothing of it needs to be kept.
		states := min(f.chunk, level.Records-f.place)
		if err := f.load(frontier, before, states); err != nil {
			return nil, "", err
		}
		least, reason, err := f.memory.ExpandOnly()
		if errors.Is(err, global.ErrFull) {
			// The chunk begins again, with fewer states.
			f.chunk = max(1, states/2)
			if err := frontier.Skip(f.place); err != nil {
				return nil, "", err
			}
			continue
		}
		if err != nil || reason != "" {
			return nil, reason, err
		}
		// The level is done to its end, so that the violation does not depend on chunks.
		if least != nil && (found == nil || least.Compare(found) < 0) {
			found = least
		}
		if err := f.collect(); err != nil {
			return nil, "", err
		}
		f.place += states
		f.adapt(states)
	}
	if !f.dir.HasRoom(f.met.Needs() + f.fresh.Needs()) {
		return nil, f.reasonDisk(), nil
	}
	// From here on the list is that of what is received for the next level.
	if err := f.origins.remove(); err != nil {
		return nil, "", err
	}
	return found, "", f.handOn(hand, newSeeker(level, true))
}

// newBefore reads what the states of the level were reached from: here, and elsewhere.
func (f *files) newBefore() (before [2]*external.Seeker) {
	if n := len(f.levels); n > 1 {
		before[0] = newSeeker(f.levels[n-2], true)
	}
	before[1] = newSeeker(f.origins.section, false)
	return before
}

// load has the next states of the level in memory.
func (f *files) load(frontier *external.Reader, before [2]*external.Seeker, states uint64) error {
	// Of what the chunk reaches, nothing that lies before its end is new.
	f.memory.Reset(false)
	f.numbers = f.system().Known()
	var last origin
	for range states {
		ok, err := f.readNext(frontier, &f.state)
		if err == nil && !ok {
			err = global.ErrStates
		}
		if err != nil {
			return err
		}
		o := f.originOf(frontier.Value)
		if !f.isNeeded(o) {
			o = origin{}
		}
		// States that were reached from the same one follow each other.
		isSame := f.isNeeded(last) && o.place == last.place && o.isReceived == last.isReceived
		if f.isNeeded(o) && !isSame {
			from := before[0]
			if o.isReceived {
				from = before[1]
			}
			if err := f.seek(from, o.place, &f.origin); err != nil {
				return err
			}
		}
		last = o
		isNew, err := f.memory.Receive(&f.origin, isSame, &f.state, o.node)
		if err == nil && !isNew {
			err = global.ErrStates
		}
		if err != nil {
			return err
		}
	}
	f.memory.Begin()
	return nil
}

// collect makes candidates of what the chunk has reached.
func (f *files) collect() error {
	before := f.fresh.Bytes() + f.met.Bytes()
	err := f.memory.Reached(func(to int, number uint64, state *system.State, node uint8) error {
		o := origin{place: f.place + number, node: node}
		// A place that means nothing is to be near the others, for the sake of few bytes.
		if node == 0 {
			o.place = f.place
		}
		f.packed = f.system().Pack(f.packed[:0], state)
		if to == f.Whose.Own {
			return f.fresh.Add(f.packed, f.valueOf(o))
		}
		return f.met.Add(f.packed, f.valueOf(o))
	})
	// A section for each chunk, so that its bytes are known.
	for _, c := range []*external.Candidates{f.fresh, f.met} {
		if _, fault := c.Sections(); err == nil {
			err = fault
		}
	}
	f.wrote = f.fresh.Bytes() + f.met.Bytes() - before
	return err
}

// adapt chooses how many states the next chunk has, from what one of some states has taken.
func (f *files) adapt(states uint64) {
	t := f.memory.Tally()
	// In a small table most is empty.
	const fewStates, mostBytes = 1 << 12, 64
	each := int64(mostBytes)
	if t.States > fewStates {
		each = t.Bytes/int64(t.States) + 1
	}
	// The chunk is to have room with all that it reaches, and a quarter is left for what differs.
	room := f.Global.Disk.Sizes.Table / 4 * 3 / each
	wanted := uint64(max(1, float64(room)*float64(states)/float64(max(1, t.States))))
	// What was the rest of a level says little.
	if states < f.chunk {
		f.chunk = min(f.chunk, wanted)
	} else {
		f.chunk = min(4*f.chunk, wanted)
	}
}

// handOn hands on the states of others that the level has reached and none before it.
func (f *files) handOn(hand global.Hand, level *external.Seeker) error {
	if f.met.Count == 0 {
		return nil
	}
	bits := make([]uint64, f.met.Count/64+1)
	addition, err := f.tell(f.met, f.others, bits, func(uint64) {})
	if err != nil {
		return err
	}
	// They are in the order of the level, so what they were reached from is read once.
	f.numbers = f.system().Known()
	last := origin{}
	err = each(f.met, bits, func(key []byte, value uint64) error {
		if !f.system().IsState(f.numbers, key) {
			return global.ErrStates
		}
		f.system().Unpack(&f.state, key)
		o := f.originOf(value)
		if o.node > 0 && (last.node == 0 || o.place != last.place) {
			if err := f.seek(level, o.place, &f.origin); err != nil {
				return err
			}
			last = o
		}
		to, err := f.Whose.Owner(&f.state)
		if err != nil {
			return err
		}
		if err := f.keepOther(key); err != nil {
			return err
		}
		return hand(to, o.place, &f.origin, &f.state, o.node)
	})
	if err == nil {
		err = addition.Commit()
	}
	return errors.Join(err, f.met.Empty())
}

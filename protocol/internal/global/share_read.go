package global

import (
	"bufio"
	"encoding/binary"
	"io"
	"slices"

	"github.com/tandem-mc/tandem/protocol/internal/forms"
	"github.com/tandem-mc/tandem/protocol/internal/space"
	"github.com/tandem-mc/tandem/protocol/internal/system"
	"github.com/tandem-mc/tandem/protocol/internal/vector"
)

// shareReader reads a share. States are put in their order into whatever form is wide enough now.
type shareReader struct {
	*Share
	in    *stateReader
	level int // whose end comes next
	done  int // states
	// origins are those of the states that are expanded next, hasOrigins says whether they are
	// known. Last is the last one of them.
	origins    []byte
	hasOrigins bool
	last       space.Ref
}

// ReadShare goes on with a share that was written. The table is as it was then. Head is what
// AppendHead has written, states what all calls of WriteStates have, one after the other.
func ReadShare(c Config, s ShareConfig, head []byte, states *bufio.Reader) (*Share, error) {
	var fields [6]uint64
	// Their order is that of AppendHead.
	for i := range fields {
		n, size := binary.Uvarint(head)
		if size <= 0 {
			return nil, ErrKept
		}
		fields[i], head = n, head[size:]
	}
	if fields[0] > maxLog || fields[4] > 1<<40 || fields[5] > uint64(len(head)) {
		return nil, ErrKept
	}
	h, err := newShare(c, s, uint(fields[0]))
	if err != nil {
		return nil, err
	}
	r := &shareReader{Share: h, in: &stateReader{search: h.search, in: states, known: c.Known()}}
	if err = r.read(head, int(fields[4]), int(fields[5])); err == nil {
		h.depth, h.hasBegun = r.level-1, true
		h.transitions.Store(int64(fields[1]))
		h.expandings.Store(int64(fields[2]))
		h.search.reached.Store(fields[3])
		h.written, h.place = r.done, h.form.End(0)
		err = h.handOn(nil)
	}
	if err != nil {
		h.Release()
		return nil, err
	}
	return h, nil
}

// Bounds on what is read: the bits of a counter, to base 2, and those of a local state.
const (
	maxLog   = 8
	maxWidth = 32
)

// read reads so many states of so many levels.
func (r *shareReader) read(head []byte, states, levels int) error {
	all := 0
	for range levels {
		n, size := binary.Uvarint(head)
		if size <= 0 || n > uint64(states-all) {
			return ErrKept
		}
		all, head = all+int(n), head[size:]
		r.counts = append(r.counts, all)
	}
	if levels == 0 || len(head) == 0 || r.counts[0] < len(r.starts) {
		return ErrKept
	}
	r.hasOrigins, r.origins = head[0] != 0, head[1:]
	for r.done < states {
		if err := r.run(states); err != nil {
			return err
		}
	}
	// Whatever follows would be of another share.
	if _, err := r.in.in.ReadByte(); err != io.EOF || len(r.origins) > 0 {
		return ErrKept
	}
	r.endLevels()
	return nil
}

// endLevels notes where levels end whose states are all there. Some have no states.
func (r *shareReader) endLevels() {
	for ; r.level < len(r.counts) && r.counts[r.level] == r.done; r.level++ {
		if r.level > 0 {
			r.search.before = append(r.search.before, slices.Clone(r.levelEnd))
		}
		r.levelStart[0], r.levelEnd[0] = r.levelEnd[0], r.form.End(0)
	}
}

// together is how many of the states up to a number are put in at a time: those of one level.
func (r *shareReader) together(end int) int {
	// Behind the last level are the states that are expanded next.
	if r.level < len(r.counts) {
		end = min(end, r.counts[r.level])
	}
	return min(end-r.done, forms.Together)
}

// run reads the states of one call of WriteStates.
func (r *shareReader) run(states int) error {
	count, width := r.in.number(), r.in.number()
	if r.in.err != nil || count > uint64(states-r.done) || width > uint64(len(space.Widest{})) {
		return ErrKept
	}
	end := r.done + int(count)
	if width == 0 {
		return r.bytes(end)
	}
	// The shape follows from the bits of its parts, as in the process that has written them.
	log, widths := r.in.number(), make([]int, r.Nodes)
	for i := range widths {
		widths[i] = int(min(r.in.number(), maxWidth+1))
	}
	// Counters only grow, so those of the form have as many bits at least.
	if r.in.err != nil || log > uint64(r.Share.log) || slices.Max(widths) > maxWidth {
		return ErrKept
	}
	shape, fits := vector.NewShape(&r.System, int(width), uint(log), widths)
	if !fits {
		return ErrKept
	}
	return r.words(end, int(width), &shape)
}

// bytes reads states that are bytes, up to a number.
func (r *shareReader) bytes(end int) error {
	var packed []byte
	var state system.State
	for r.done < end {
		for range r.together(end) {
			shared, size := r.in.number(), r.in.number()
			if r.in.err != nil || shared > uint64(len(packed)) || size > maxPacked {
				return ErrKept
			}
			// What the state shares with the one before is there already.
			packed = slices.Grow(packed[:shared], int(size))[:shared+size]
			if _, err := io.ReadFull(r.in.in, packed[shared:]); err != nil || !r.IsState(r.in.known, packed) {
				return ErrKept
			}
			r.Unpack(&state, packed)
			if err := r.put(&state); err != nil {
				return err
			}
		}
		r.endLevels()
	}
	return nil
}

// words reads vectors, up to a number. Those of another shape are changed, and not taken apart.
func (r *shareReader) words(end, width int, shape *vector.Shape) error {
	var last space.Widest
	var state system.State
	list := make([]forms.Visited, forms.Together)
	decoder := shape.Widest(&r.System)
	for r.done < end {
		list = list[:r.together(end)]
		for i := range list {
			for word := range width {
				last[word] ^= r.word()
			}
			if r.in.err != nil || !shape.IsWithin(r.in.known.Locals, r.in.known.Messages, &last) {
				return ErrKept
			}
			list[i].Words = last
		}
		// The states at the start are there already, and are looked up one by one. So are all if
		// the form has become one of bytes.
		form, isWords := r.form.(forms.OfWords)
		if isWords && r.done >= len(r.starts) && r.form.End(0) == uint64(r.done) {
			if err := r.putWords(list, form, shape); err != nil {
				return err
			}
		} else {
			for i := range list {
				decoder.Decode(&state, &list[i].Words)
				if err := r.put(&state); err != nil {
					return err
				}
			}
		}
		list = list[:cap(list)]
		r.endLevels()
	}
	return nil
}

// word is the reverse of appendWord.
func (r *shareReader) word() (word uint64) {
	mask, err := r.in.in.ReadByte()
	for shift := 0; mask != 0; mask, shift = mask>>1, shift+8 {
		if mask&1 == 0 {
			continue
		}
		b, fault := r.in.in.ReadByte()
		if fault != nil {
			err = fault
		}
		word |= uint64(b) << shift
	}
	if err != nil {
		r.in.err = ErrKept
	}
	return word
}

// putWords puts some vectors of one level into the form. Each is new.
func (r *shareReader) putWords(list []forms.Visited, form forms.OfWords, shape *vector.Shape) error {
	// A form that has grown since is another one. Where it has not, nothing is to be done.
	isSame := shape.Equal(form.Shape())
	for i := range list {
		if !isSame {
			list[i].Words = vector.Recode(shape, form.Shape(), &list[i].Words)
		}
		var err error
		if list[i].Parent, list[i].Node, err = r.origin(r.done + i); err != nil {
			return err
		}
	}
	if err := form.Put(list, 0); err != nil {
		return err
	}
	// A state that comes twice would be counted twice.
	if r.done += len(list); form.End(0) != uint64(r.done) {
		return ErrKept
	}
	return nil
}

// put puts a state into the form. The states at the start are there, and no others.
func (r *shareReader) put(state *system.State) error {
	parent, node, err := r.origin(r.done)
	if err == nil {
		state, err = r.Chosen(state) // whoever wrote it may have chosen another one
	}
	if err != nil {
		return err
	}
	_, isNew, err := r.form.AddFrom(state, parent, node)
	for forms.IsNarrow(err) {
		if err := r.widen(err); err != nil {
			return err
		}
		_, isNew, err = r.form.AddFrom(state, parent, node)
	}
	if err == nil && isNew != (r.done >= len(r.starts)) {
		err = ErrKept
	}
	r.done++
	return err
}

// origin is what a state was reached from, by its number. Of states that were expanded already
// nobody asks. In a form that is not of vectors, places are no numbers, and nobody asks either.
func (r *shareReader) origin(number int) (parent space.Ref, node uint8, err error) {
	if !r.hasOrigins || number < r.counts[len(r.counts)-1] {
		return space.None, 0, nil
	}
	if len(r.origins) == 0 {
		return space.None, 0, ErrKept
	}
	node, r.origins = r.origins[0], r.origins[1:]
	if node&noOrigin != 0 {
		return space.None, node &^ noOrigin, nil
	}
	by, size := binary.Varint(r.origins)
	if size <= 0 {
		return space.None, 0, ErrKept
	}
	r.origins = r.origins[size:]
	// States are in the order of those that they were reached from, so most differences are small.
	r.last += space.Ref(by)
	if _, ok := r.form.(forms.OfWords); !ok {
		return space.None, 0, nil
	}
	if int(node) > r.Nodes || uint64(r.last) >= uint64(number) {
		return space.None, 0, ErrKept
	}
	return r.last, node, nil
}

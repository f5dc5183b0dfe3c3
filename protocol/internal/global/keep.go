package global

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"slices"

	"github.com/tandem-mc/tandem/protocol/internal/space"
	"github.com/tandem-mc/tandem/protocol/internal/system"
)

// A search breadth first can be kept between two levels. What is written has the states of all
// levels, each with the place in the level before of the state that it was reached from. It does
// not depend on the form of the states, nor on the number of workers. If a search ends within a
// level, that level begins again.
//
// All that is left out follows from the states. The table that finds them is made when they are
// added. Which combinations of classes were judged is not known any more, so some are judged once
// more. States were judged when they were met first, and no violation was found up to here: so
// those that are read need not be judged at all.
//
// The node that has led to a state is written, too. Breadth first, steps that commute are taken in
// one order (expandNodes), which depends on it. Without it the search would find the same states
// in another order, and perhaps show another one of several shortest runs.

// boundary is where a search was when its level began.
type boundary struct {
	transitions, expandings int64
	reached                 uint64
}

// keep has Config.Keep write the search as it was when the present level began. IsLast: the search
// has ended at a bound, and it is told if it could not be kept.
func (s *search) keep(isLast bool) {
	if s.Keep == nil {
		return
	}
	if err := s.Keep(isLast, s.write); err != nil && isLast {
		s.reason += "; the search was not saved: " + err.Error()
	}
}

// write writes the search.
func (s *search) write(out io.Writer) error {
	w := bufio.NewWriterSize(out, 1<<16)
	if _, err := w.Write(s.head(inMemory)); err != nil {
		return err
	}
	// The last level is the one that was to be expanded. What it has reached meanwhile lies behind
	// its end, and is left out.
	x := &levelReader{search: s}
	var line []byte
	err := x.levels(func(count int) error {
		line = binary.AppendUvarint(line[:0], uint64(count))
		_, err := w.Write(line)
		return err
	}, func(place uint64, node uint8, packed []byte) error {
		line = line[:0]
		if len(x.before) > 0 {
			line = append(binary.AppendUvarint(line, place), node)
		}
		line = append(binary.AppendUvarint(line, uint64(len(packed))), packed...)
		_, err := w.Write(line)
		return err
	})
	if err != nil {
		return err
	}
	return w.Flush()
}

// Where the states of a search that was kept are.
const (
	inMemory = iota // they follow
	inFiles
)

// head is what a search begins with that is kept.
func (s *search) head(where uint64) (head []byte) {
	for _, n := range []uint64{where, uint64(s.depth), uint64(s.boundary.transitions),
		uint64(s.boundary.expandings), s.boundary.reached} {
		head = binary.AppendUvarint(head, n)
	}
	return head
}

// levelReader reads the states of one level after the other from memory.
type levelReader struct {
	*search
	before, here [][]space.Ref // the states of the level before, and of this one, by shard, in order
	packed       []byte
	state        system.State
}

// levels visits all levels, and the states of each: the place of the parent in the level before,
// the node that has led there, and the state. The first level has no parents.
func (x *levelReader) levels(begin func(count int) error,
	visit func(place uint64, node uint8, packed []byte) error) error {
	start := make([]uint64, len(x.levelEnd))
	for _, end := range append(slices.Clone(x.search.before), x.levelEnd) {
		if err := x.level(start, end, begin, visit); err != nil {
			return err
		}
		start = end
	}
	return nil
}

// level visits the states that lie between two ends. Their places are in this order: the states of
// the first shard, then those of the second, and so on.
func (x *levelReader) level(start, end []uint64, begin func(count int) error,
	visit func(place uint64, node uint8, packed []byte) error) error {
	isFirst := x.before == nil
	x.here = make([][]space.Ref, len(end))
	count := 0
	for shard := range end {
		for at := range x.form.Each(shard, start[shard], end[shard]) {
			x.here[shard] = append(x.here[shard], at)
		}
		count += len(x.here[shard])
	}
	if err := begin(count); err != nil {
		return err
	}
	for _, list := range x.here {
		for _, at := range list {
			place := 0
			if !isFirst {
				var err error
				if place, err = x.placeOf(x.form.Parent(at)); err != nil {
					return err
				}
			}
			x.form.Look(at, &x.state)
			x.packed = x.Pack(x.packed[:0], &x.state)
			if err := visit(uint64(place), x.form.Node(at), x.packed); err != nil {
				return err
			}
		}
	}
	x.before = x.here
	return nil
}

// errLevel would be a fault of the search.
var errLevel = errors.New("a state was not reached from the level before it")

// placeOf is the place of a state in the level before. Within a shard, states lie in the order of
// their numbers, so a search by halves finds it.
func (x *levelReader) placeOf(at space.Ref) (place int, err error) {
	shard, _ := x.form.Split(at)
	for _, list := range x.before[:shard] {
		place += len(list)
	}
	i, ok := slices.BinarySearch(x.before[shard], at)
	if !ok {
		return 0, errLevel
	}
	return place + i, nil
}

// ErrKept is of a file that has no search, or a part of it only.
var ErrKept = errors.New("the states of a search cannot be read")

// restore reads the states of a search that was written, behind the states at the start, which are
// there already.
func (s *search) restore(in *bufio.Reader) error {
	r := &stateReader{search: s, in: in}
	where, depth := r.number(), r.number()
	s.boundary = boundary{int64(r.number()), int64(r.number()), r.number()}
	if r.err != nil || depth >= 1<<31 {
		return ErrKept
	}
	s.depth, s.before = int(depth), nil
	s.transitions.Store(s.boundary.transitions)
	s.expandings.Store(s.boundary.expandings)
	s.reached.Store(s.boundary.reached)
	if where == inFiles {
		return s.reopen(s, in)
	}
	s.levelStart, s.levelEnd = make([]uint64, s.form.Shards()), make([]uint64, s.form.Shards())
	r.known = s.Known()
	for level := range s.depth + 1 {
		if level > 0 {
			s.before = append(s.before, slices.Clone(s.levelEnd))
			copy(s.levelStart, s.levelEnd)
		}
		if err := r.level(level); err != nil {
			return err
		}
		for shard := range s.levelEnd {
			s.levelEnd[shard] = s.form.End(shard)
		}
	}
	return nil
}

// stateReader reads the states of one level after the other.
type stateReader struct {
	*search
	in     *bufio.Reader
	known  system.Known
	before []space.Ref // the level before, in the order of the file
	packed []byte
	state  system.State
	err    error
}

// number reads a number; zero if there is none.
func (r *stateReader) number() uint64 {
	n, err := binary.ReadUvarint(r.in)
	if err != nil {
		r.err = ErrKept
	}
	return n
}

// maxPacked bounds the bytes of a state in a file.
const maxPacked = 1 << 20

// level reads a level. Memory grows with what is there, and not with what the file announces.
func (r *stateReader) level(level int) error {
	count := r.number()
	if r.err != nil || level == 0 && count != uint64(len(r.starts)) {
		return ErrKept
	}
	var here []space.Ref // a list that grows: the file may say anything
	for range count {
		parent, node := space.None, byte(0)
		if level > 0 {
			place := r.number()
			if place >= uint64(len(r.before)) {
				return ErrKept
			}
			parent = r.before[place]
			if node, r.err = r.in.ReadByte(); int(node) > r.Nodes {
				return ErrKept
			}
		}
		size := r.number()
		if r.err != nil || size > maxPacked {
			return ErrKept
		}
		r.packed = slices.Grow(r.packed[:0], int(size))[:size]
		if _, err := io.ReadFull(r.in, r.packed); err != nil || !r.IsState(r.known, r.packed) {
			return ErrKept
		}
		r.Unpack(&r.state, r.packed)
		at, isNew, err := r.form.AddFrom(&r.state, parent, node)
		if err != nil {
			return err
		}
		// The states at the start are there, and no others. A state that comes twice would be
		// counted twice.
		if isNew != (level > 0) {
			return ErrKept
		}
		here = append(here, at)
	}
	r.before = here
	return nil
}

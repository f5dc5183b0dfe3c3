package overflow

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"

	"github.com/tandem-mc/tandem/protocol/internal/external"
	"github.com/tandem-mc/tandem/protocol/internal/global"
)

// A share in files is written as its states, level by level, and those of others that were handed
// on. The files themselves stay here, and end with the process: whoever goes on may be on another
// machine, and makes files of its own from what was written. Where the states of the next level
// come from is not written. They are expanded in full then, which costs that level some time.

// kept is how much was written.
type kept struct {
	level  int    // that was not written to its end
	record uint64 // how many of its states were
	others list   // that were not written
}

// Runs of states, as they are written.
const (
	runOwn      = iota // of the level
	runOthers          // of others
	runEndLevel        // what follows is of the next level
	runs
)

// together is how many bytes are written at a time.
const together = 1 << 16

// write writes the states that were not written before.
func (f *files) write(out io.Writer) error {
	// What is reached here belongs to the next level. What is received is behind it, and is not
	// there yet.
	if _, err := f.settle(); err != nil {
		return err
	}
	k, w := &f.kept, &runWriter{out: out, room: f.dir.Sizes.Sort / 2}
	for all := append(slices.Clone(f.levels), f.next); ; {
		r := external.NewReader(all[k.level], true)
		if err := r.Skip(k.record); err != nil {
			return err
		}
		if err := w.all(runOwn, all[k.level].Records-k.record, r); err != nil {
			return err
		}
		// What follows the last level that has begun is not complete.
		if k.level == len(f.levels) {
			k.record = f.next.Records
			break
		}
		if _, err := out.Write([]byte{runEndLevel, 0}); err != nil {
			return err
		}
		k.level, k.record = k.level+1, 0
	}
	if err := k.others.end(); err != nil || k.others.count == 0 {
		return err
	}
	err := w.all(runOthers, k.others.count, external.NewReader(k.others.section, false))
	return errors.Join(err, k.others.remove())
}

// runWriter writes runs of states. A run is sorted, as many states as have room in memory at a
// time: neighbours have much in common then. Nobody needs to know in which order they were met.
type runWriter struct {
	out  io.Writer
	room int // in bytes
	keys []byte
	list [][]byte // places in keys
	data []byte
}

// all writes so many states that a reader has.
func (w *runWriter) all(kind byte, count uint64, r *external.Reader) error {
	for range count {
		if ok, err := r.Next(); err != nil || !ok {
			return errors.Join(err, global.ErrStates)
		}
		// What is in the list stays where it is, so the keys must not move.
		if len(w.keys)+len(r.Key) > cap(w.keys) {
			if err := w.flush(kind); err != nil {
				return err
			}
			w.keys = slices.Grow(w.keys, max(len(r.Key), w.room))
		}
		at := len(w.keys)
		w.keys = append(w.keys, r.Key...)
		w.list = append(w.list, w.keys[at:len(w.keys):len(w.keys)])
	}
	return w.flush(kind)
}

// flush writes a run: each state as what it shares with the one before, and the rest.
func (w *runWriter) flush(kind byte) error {
	if len(w.list) == 0 {
		return nil
	}
	slices.SortFunc(w.list, bytes.Compare)
	w.data = binary.AppendUvarint(append(w.data[:0], kind), uint64(len(w.list)))
	var last []byte
	for _, key := range w.list {
		shared := 0
		for shared < min(len(last), len(key)) && last[shared] == key[shared] {
			shared++
		}
		w.data = binary.AppendUvarint(w.data, uint64(shared))
		w.data = binary.AppendUvarint(w.data, uint64(len(key)-shared))
		w.data, last = append(w.data, key[shared:]...), key
		if len(w.data) < together {
			continue
		}
		if _, err := w.out.Write(w.data); err != nil {
			return err
		}
		w.data = w.data[:0]
	}
	w.keys, w.list = w.keys[:0], w.list[:0]
	_, err := w.out.Write(w.data)
	return err
}

// appendHead writes all but the states: what was counted, and how many states and levels there are.
func (f *files) appendHead(dst []byte) []byte {
	t := f.Tally()
	for _, n := range []uint64{uint64(t.Transitions), t.Reached, uint64(len(f.levels)), f.own.Count(),
		f.others.Count()} {
		dst = binary.AppendUvarint(dst, n)
	}
	return dst
}

// readAll reads what was written.
func (f *files) readAll(head []byte, in *bufio.Reader) error {
	var fields [5]uint64
	for i := range fields {
		n, size := binary.Uvarint(head)
		if size <= 0 {
			return global.ErrKept
		}
		fields[i], head = n, head[size:]
	}
	levels := f.Share.levels
	// What is read is sorted as if it had been reached here, all levels together.
	x := &runReader{files: f, in: in, writer: external.NewWriter(f.file, true)}
	f.numbers = f.system().Known()
	for {
		isOver, err := x.run(levels)
		if err != nil {
			return err
		}
		if isOver {
			break
		}
	}
	var err error
	if f.next, err = x.writer.End(); err != nil {
		return err
	}
	if err := f.visitAll(); err != nil {
		return err
	}
	// A state that is there twice would be counted twice.
	if len(head) > 0 || len(f.levels) != levels || fields[2] != uint64(levels) || x.own != fields[3] ||
		f.own.Count() != x.own || f.others.Count() != fields[4] {
		return global.ErrKept
	}
	// What the share here has counted at the start is not to count twice.
	was := f.memory.Tally()
	f.base = global.Tally{Transitions: int64(fields[0]) - was.Transitions, Reached: fields[1]}
	f.kept.level, f.kept.record = levels, f.next.Records
	return nil
}

// runReader reads runs of states.
type runReader struct {
	*files
	in     *bufio.Reader
	writer *external.Writer // of the level
	own    uint64
	last   []byte
}

// run reads a run; true: there is none left.
func (x *runReader) run(levels int) (isOver bool, err error) {
	kind, err := x.in.ReadByte()
	if errors.Is(err, io.EOF) {
		return true, nil
	}
	count, fault := binary.ReadUvarint(x.in)
	if err := errors.Join(err, fault); err != nil || kind >= runs {
		return false, keptError(err)
	}
	// There may be no more levels than there were, whatever the bytes are.
	if kind == runEndLevel {
		section, err := x.writer.End()
		if x.levels = append(x.levels, section); len(x.levels) > levels {
			return false, global.ErrKept
		}
		x.writer = external.NewWriter(x.file, true)
		return false, err
	}
	for x.last = x.last[:0]; count > 0; count-- {
		key, err := x.readState()
		if err != nil {
			return false, err
		}
		if kind == runOthers {
			err = x.met.Sorter.Add(key, 0)
		} else {
			x.own++
			err = errors.Join(x.writer.Append(key, 0), x.fresh.Sorter.Add(key, 0))
		}
		if err != nil {
			return false, err
		}
	}
	return false, nil
}

// maxPacked bounds the bytes of a state.
const maxPacked = 1 << 20

// readState reads a state. Whoever has written it may have chosen other names of alike nodes.
func (x *runReader) readState() ([]byte, error) {
	shared, err := binary.ReadUvarint(x.in)
	size, fault := binary.ReadUvarint(x.in)
	if err := errors.Join(err, fault); err != nil || shared > uint64(len(x.last)) || size > maxPacked {
		return nil, keptError(err)
	}
	x.last = slices.Grow(x.last[:shared], int(size))[:shared+size]
	if _, err := io.ReadFull(x.in, x.last[shared:]); err != nil {
		return nil, keptError(err)
	}
	if !x.system().IsState(x.numbers, x.last) {
		return nil, global.ErrKept
	}
	if x.Global.Alike == nil {
		return x.last, nil
	}
	x.system().Unpack(&x.state, x.last)
	chosen, err := x.memory.Chosen(&x.state)
	if err != nil {
		return nil, err
	}
	x.packed = x.system().Pack(x.packed[:0], chosen)
	return x.packed, nil
}

// keptError is the error of what cannot be read, unless it could not be fetched.
func keptError(err error) error {
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return global.ErrKept
	}
	return err
}

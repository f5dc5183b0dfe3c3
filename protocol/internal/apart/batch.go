package apart

import (
	"encoding/binary"
	"slices"

	"github.com/tandem-mc/tandem/protocol/internal/system"
	"github.com/tandem-mc/tandem/protocol/internal/table"
)

// A batch has states that one part has reached and that belong to another one. It begins with what
// it is about, and with the entries of the sender's table that the receiver has not been sent yet.
// So the receiver knows what the numbers in the states stand for.
//
// A state is written after the one that it was reached from, as what differs: one node has another
// local state, some messages are gone, and others have come. Several states that were reached from
// the same one share it. That one is written as what it shares with the one before, and the rest.

// batchHead is what a batch is about.
type batchHead struct {
	Level, From, Number int
	Process             uint64
	first, last         int // entries
}

// batch is under way to one part.
type batch struct {
	y        *system.System
	states   int
	data     []byte // of the states
	before   []byte // the last one that others were reached from, whose number it is
	packed   []byte
	isBefore bool // there is one
	number   uint64
}

// reset begins the next batch.
func (b *batch) reset() {
	b.states, b.data, b.before, b.isBefore = 0, b.data[:0], b.before[:0], false
}

// Records of a batch. A node, plus one, and whether faults are written, are added to opStep.
const (
	opBefore = iota // the state that the next ones are reached from
	opWhole         // a state by itself
	opStep          // a state by what differs
)

// add adds a state. The node is zero if nobody needs to know what the state was reached from. The
// number is that of the state before.
func (b *batch) add(number uint64, before, s *system.State, node uint8) {
	b.states++
	if node == 0 || b.y.Ordered || s.Cut != before.Cut {
		b.packed = b.y.Pack(b.packed[:0], s)
		b.data = binary.AppendUvarint(append(b.data, opWhole), uint64(len(b.packed)))
		b.data = append(b.data, b.packed...)
		return
	}
	if !b.isBefore || b.number != number {
		b.packed, b.number = b.y.Pack(b.packed[:0], before), number
		b.addBefore()
	}
	op := uint64(opStep) + uint64(node-1)*2
	if s.Left != before.Left {
		op++
	}
	b.data = binary.AppendUvarint(b.data, op)
	b.data = binary.AppendUvarint(b.data, uint64(s.Locals[node-1]))
	if s.Left != before.Left {
		for _, n := range []int{s.Left.Drops, s.Left.Duplicates, s.Left.Crashes, s.Left.Partitions} {
			b.data = binary.AppendVarint(b.data, int64(n))
		}
	}
	b.addMessages(before.Messages, s.Messages)
}

// addBefore writes packed as the state that the next ones are reached from.
func (b *batch) addBefore() {
	shared := 0
	for shared < min(len(b.packed), len(b.before)) && b.packed[shared] == b.before[shared] {
		shared++
	}
	b.data = binary.AppendUvarint(append(b.data, opBefore), uint64(shared))
	b.data = binary.AppendUvarint(b.data, uint64(len(b.packed)-shared))
	b.data = append(b.data, b.packed[shared:]...)
	b.before, b.packed, b.isBefore = b.packed, b.before, true
}

// addMessages writes what differs between two sorted lists: places in the first that are gone, and
// what has come.
func (b *batch) addMessages(before, after []table.Message) {
	var gone, come [8]uint64
	g, c := gone[:0], come[:0]
	i, j := 0, 0
	for i < len(before) || j < len(after) {
		switch {
		case j == len(after) || i < len(before) && before[i] < after[j]:
			g = append(g, uint64(i))
			i++
		case i == len(before) || after[j] < before[i]:
			c = append(c, uint64(after[j]))
			j++
		default:
			i, j = i+1, j+1
		}
	}
	for _, list := range [][]uint64{g, c} {
		b.data = binary.AppendUvarint(b.data, uint64(len(list)))
		for _, n := range list {
			b.data = binary.AppendUvarint(b.data, n)
		}
	}
}

// message is the batch as it is sent, with entries of the table.
func (b *batch) message(search int, h batchHead, entries []byte) []byte {
	m := appendHead(nil, kindBatch, search)
	for _, n := range []uint64{uint64(h.Level), uint64(h.From), uint64(h.Number), h.Process, uint64(h.first),
		uint64(h.last), uint64(len(entries))} {
		m = binary.AppendUvarint(m, n)
	}
	return append(append(m, entries...), b.data...)
}

// reader reads numbers. What is not there is zero, and wrong.
type reader struct {
	in      []byte
	isWrong bool
}

func (r *reader) number() uint64 {
	n, size := binary.Uvarint(r.in)
	if size <= 0 {
		r.in, r.isWrong = nil, true
		return 0
	}
	r.in = r.in[size:]
	return n
}

// bytes reads so many bytes.
func (r *reader) bytes(n uint64) []byte {
	if n > uint64(len(r.in)) {
		r.in, r.isWrong = nil, true
		return nil
	}
	part := r.in[:n:n]
	r.in = r.in[n:]
	return part
}

// readBatch reads the head of a batch, its entries, and leaves its states.
func readBatch(data []byte) (h batchHead, entries, states []byte, err error) {
	r := &reader{in: data}
	h = batchHead{Level: int(r.number()), From: int(r.number()), Number: int(r.number()), Process: r.number(),
		first: int(r.number()), last: int(r.number())}
	entries = r.bytes(r.number())
	if r.isWrong {
		return h, nil, nil, ErrMessage
	}
	return h, entries, r.in, nil
}

// unbatch reads the states of a batch. Numbers are those of the sender until translate has changed
// them, for a state and the one before it.
type unbatch struct {
	reader
	y             *system.System
	packed        []byte // of before
	before, state system.State
	node          uint8
	isSame        bool // before is that of the last state
}

// next reads a state; false if there is none left.
func (u *unbatch) next() (ok bool, err error) {
	u.isSame = true
	for len(u.in) > 0 {
		op := u.number()
		switch op {
		case opBefore:
			shared := u.number()
			rest := u.bytes(u.number())
			if u.isWrong || shared > uint64(len(u.packed)) {
				return false, ErrMessage
			}
			u.packed = append(u.packed[:shared], rest...)
			if !isPacked(u.y, u.packed) {
				return false, ErrMessage
			}
			u.y.Unpack(&u.before, u.packed)
			u.isSame = false
			continue
		case opWhole:
			packed := u.bytes(u.number())
			if u.isWrong || !isPacked(u.y, packed) {
				return false, ErrMessage
			}
			u.y.Unpack(&u.state, packed)
			u.node = 0
			return true, nil
		}
		if op = op - opStep; op/2 >= uint64(u.y.Nodes) || len(u.before.Locals) != u.y.Nodes {
			return false, ErrMessage
		}
		u.step(op)
		if u.isWrong {
			return false, ErrMessage
		}
		return true, nil
	}
	return false, nil
}

// step reads a state by what differs. Places of messages that are gone are those in the list
// before, in ascending order, so each is nearer by as many as were removed already. What has come
// stands at the end: translate sorts by the numbers of the receiver anyway.
func (u *unbatch) step(op uint64) {
	s := &u.state
	u.node = uint8(op/2) + 1
	s.Locals = append(s.Locals[:0], u.before.Locals...)
	s.Locals[op/2] = table.Local(u.number())
	s.Left, s.Cut = u.before.Left, u.before.Cut
	if op%2 != 0 {
		for _, left := range []*int{&s.Left.Drops, &s.Left.Duplicates, &s.Left.Crashes, &s.Left.Partitions} {
			n := u.number() // as AppendVarint writes it
			*left = int(int64(n>>1) ^ -int64(n&1))
		}
	}
	s.Messages = append(s.Messages[:0], u.before.Messages...)
	gone := u.number()
	for i := range gone {
		at := u.number() - i
		if u.isWrong || at >= uint64(len(s.Messages)) {
			u.in, u.isWrong = nil, true
			return
		}
		s.Messages = slices.Delete(s.Messages, int(at), int(at)+1)
	}
	for range u.number() {
		if u.isWrong {
			return
		}
		s.Messages = append(s.Messages, table.Message(u.number()))
	}
}

// isPacked says whether bytes are numbers, and as many as a state has at least.
func isPacked(y *system.System, data []byte) bool {
	numbers := 0
	for len(data) > 0 {
		_, size := binary.Uvarint(data)
		if size <= 0 {
			return false
		}
		data = data[size:]
		numbers++
	}
	least := y.Nodes
	for _, n := range []int{y.Faults.Drops, y.Faults.Duplicates, y.Faults.Crashes, y.Faults.Partitions} {
		if n > 0 {
			least++
		}
	}
	if y.Faults.Partitions != 0 {
		least++
	}
	return numbers >= least
}

// translate has a state have the numbers here.
func translate(f *table.Follower, y *system.System, dst, s *system.State) error {
	dst.Left, dst.Cut, dst.Locals, dst.Messages = s.Left, s.Cut, dst.Locals[:0], dst.Messages[:0]
	for node, l := range s.Locals {
		here, ok := f.Local(node, l)
		if !ok {
			return ErrMessage
		}
		dst.Locals = append(dst.Locals, here)
	}
	for _, m := range s.Messages {
		here, ok := f.Message(m)
		if !ok {
			return ErrMessage
		}
		dst.Messages = append(dst.Messages, here)
	}
	if !y.Ordered {
		slices.Sort(dst.Messages)
	}
	return nil
}

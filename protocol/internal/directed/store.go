package directed

import (
	"encoding/binary"
	"errors"
	"hash/maphash"
)

// Package space keeps states for other searches. Theirs never change: a state has the one that it
// was first reached from. Here a shorter way may be found later, and states have an estimate. So a
// state is found by a number, and what changes lies apart from its bytes.

// store has the states that were visited, exactly. A state is some bytes in an arena, and a mini.
// States are numbered as they come.
type store struct {
	blocks [][]byte // the arena
	free   []byte   // of the last block
	minis  [][]mini // chunks of equal size, which never move
	slots  []uint32 // a hash table with linear probing: numbers plus one
	count  int
	seed   maphash.Seed
}

// mini is what a search knows of a state. Its size is constant.
type mini struct {
	block, offset uint32 // of the bytes
	parent        uint32 // what it was reached from
	depth         int32  // the steps to it, by the parents
	estimate      int32
	round         uint32 // of IDAStar: when it was visited last
	isExpanded    bool
}

// miniSize is how many bytes one takes.
const miniSize = 28

// none is the number of no state.
const none = ^uint32(0)

// Blocks and chunks have these sizes. A state lies in one block.
const (
	blockSize = 1 << 20
	chunkSize = 1 << 12
)

var errLarge = errors.New("a state takes more than half a megabyte: bound what nodes keep and send")
var errMany = errors.New("there are more than 4 billion states: bound the search")

func newStore() *store {
	return &store{seed: maphash.MakeSeed(), slots: make([]uint32, 1<<8)}
}

// at is the mini of a state.
func (s *store) at(number uint32) *mini { return &s.minis[number/chunkSize][number%chunkSize] }

// state are the bytes of a state. They must not be changed.
func (s *store) state(number uint32) []byte {
	m := s.at(number)
	record := s.blocks[m.block][m.offset:]
	length, n := binary.Uvarint(record)
	return record[n : n+int(length)]
}

// find returns the number of a state; none if it is not there.
func (s *store) find(state []byte) uint32 { return s.slots[s.slot(state)] - 1 }

// slot is where a state is, or where it would be. There is always an empty slot.
func (s *store) slot(state []byte) int {
	mask := len(s.slots) - 1
	i := int(maphash.Bytes(s.seed, state)) & mask
	for s.slots[i] != 0 && string(s.state(s.slots[i]-1)) != string(state) {
		i = (i + 1) & mask
	}
	return i
}

// add adds a state that is not there.
func (s *store) add(state []byte, m mini) (number uint32, err error) {
	switch {
	case len(state) > blockSize/2:
		return none, errLarge
	case s.count == int(none)-1:
		return none, errMany
	}
	// A record is the length, and the bytes.
	record := binary.AppendUvarint(make([]byte, 0, binary.MaxVarintLen64), uint64(len(state)))
	if len(record)+len(state) > len(s.free) {
		s.free = make([]byte, blockSize)
		s.blocks = append(s.blocks, s.free)
	}
	m.block, m.offset = uint32(len(s.blocks)-1), uint32(blockSize-len(s.free))
	copy(s.free[copy(s.free, record):], state)
	s.free = s.free[len(record)+len(state):]
	number = uint32(s.count)
	if number%chunkSize == 0 {
		s.minis = append(s.minis, make([]mini, chunkSize))
	}
	*s.at(number) = m
	s.slots[s.slot(state)] = number + 1
	// At least a third of the slots stay empty.
	if s.count++; s.count > len(s.slots)/3*2 {
		s.grow()
	}
	return number, nil
}

// grow doubles the hash table.
func (s *store) grow() {
	s.slots = make([]uint32, 2*len(s.slots))
	for number := range uint32(s.count) {
		s.slots[s.slot(s.state(number))] = number + 1
	}
}

// size is how many bytes the states take.
func (s *store) size() int64 {
	arena := int64(len(s.blocks))*blockSize - int64(len(s.free))
	return arena + int64(s.count)*miniSize + 4*int64(len(s.slots))
}

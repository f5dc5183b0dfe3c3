// Package space holds the states that a search has visited, exactly: states are told apart by their
// bytes. A state lies in an arena, behind the place of the state that it was reached from. States
// of one shard are in the order in which they came, so the arena is also the queue of a breadth-
// first search.
//
// A record is the length of the state, how far back the record of its parent is, and the state. The
// hash table has eight bytes for each slot: a tag, which tells most states apart without a look
// into the arena, and the offset of the record. There is no pointer anywhere, so the collector has
// nothing to do.
package space

import (
	"encoding/binary"
	"errors"
	"hash/maphash"
	"math/bits"
	"sync"
)

// Ref is the place of a state: its offset in the arena of its shard, and the shard in the lowest
// bits.
type Ref uint64

// None is the Ref of no state: the parent of a first one.
const None = ^Ref(0)

// ErrLarge is of a state that has more bytes than fit into a block.
var ErrLarge = errors.New("a state takes more than half a megabyte: bound what nodes keep and send")

// Set is a set of states. Insert may be called by several goroutines at a time, and so may State
// and Parent for states whose Insert has returned before.
type Set struct {
	shards []shard
	bits   int // of a Ref, for the shard
	seed   maphash.Seed
}

// blockSize is that of the pieces of an arena. A record lies in one of them.
const blockSize = 1 << 20

// firstSlots is how large a shard's table is at first.
const firstSlots = 1 << 8

// shard has the states of a part of the hashes.
type shard struct {
	mu     sync.Mutex
	blocks [][]byte
	end    uint64 // where the next record is put
	states int
	// slots have a tag of the hash above, and the offset plus one below. The table grows by half
	// when four of five are used, which wastes less than doubling.
	slots []uint64
}

// A slot has so many bits for the offset; the rest is for the tag.
const (
	offsetBits = 40
	offsetMask = 1<<offsetBits - 1
)

// New returns an empty set with at least so many shards.
func New(shards int) *Set {
	s := &Set{seed: maphash.MakeSeed(), bits: bits.Len(uint(shards - 1))}
	s.shards = make([]shard, 1<<s.bits)
	for i := range s.shards {
		s.shards[i].slots = make([]uint64, firstSlots)
	}
	return s
}

// Insert adds a state, if it is new, with the state that it was reached from. It returns its place.
func (s *Set) Insert(state []byte, parent Ref) (at Ref, isNew bool, err error) {
	if len(state) > blockSize/2 {
		return None, false, ErrLarge
	}
	hash := maphash.Bytes(s.seed, state)
	// Tags are the lowest bits, slots go by the highest.
	number := hash >> 30 & uint64(len(s.shards)-1)
	h := &s.shards[number]
	if s.bits > 0 {
		h.mu.Lock()
		defer h.mu.Unlock()
	}
	offset, isNew := h.insert(s, state, hash, parent, number)
	return Ref(offset<<s.bits | number), isNew, nil
}

// insert looks for a state, from the first slot for its hash to the next empty one. Tags that
// differ save looks into the arena.
func (h *shard) insert(s *Set, state []byte, hash uint64, parent Ref, number uint64) (offset uint64,
	isNew bool) {
	tag := hash << offsetBits
	i := h.home(hash)
	// There is always an empty slot.
	for ; h.slots[i] != 0; i++ {
		if h.slots[i]&^offsetMask == tag {
			at := h.slots[i]&offsetMask - 1
			if _, old, _ := s.read(h.blocks, at); string(old) == string(state) {
				return at, false
			}
		}
		// The search goes on at the beginning; i is raised before.
		if i == len(h.slots)-1 {
			i = -1
		}
	}
	at := h.put(s, state, parent)
	h.slots[i] = tag | (at + 1)
	if h.states++; h.states > len(h.slots)/5*4 {
		h.grow(s)
	}
	return at, true
}

// home is the first slot to look at.
func (h *shard) home(hash uint64) int {
	high, _ := bits.Mul64(hash, uint64(len(h.slots)))
	return int(high)
}

// put writes a record: the length of the state, the parent, the state. A length of zero says that
// the rest of a block is empty.
func (h *shard) put(s *Set, state []byte, parent Ref) uint64 {
	// The head is small, and lies on the stack.
	var head [2 * binary.MaxVarintLen64]byte
	n := binary.PutUvarint(head[:], uint64(len(state)))
	for {
		// The parent is mostly near, and of zero distance if there is none: no state is its own
		// parent.
		n := n + binary.PutUvarint(head[n:], s.distance(h.end, parent))
		size := uint64(n + len(state))
		if room := blockSize - h.end%blockSize; size > room {
			h.end += room
			continue
		}
		// Blocks never move, so what was read from one stays valid.
		if h.end/blockSize == uint64(len(h.blocks)) {
			h.blocks = append(h.blocks, make([]byte, blockSize))
		}
		at := h.end
		block := h.blocks[at/blockSize][at%blockSize:]
		copy(block[copy(block, head[:n]):], state)
		h.end += size
		return at
	}
}

// distance encodes a parent relative to an offset.
func (s *Set) distance(at uint64, parent Ref) uint64 {
	if parent == None {
		return 0
	}
	shard := uint64(parent) & uint64(len(s.shards)-1)
	back := int64(at) - int64(uint64(parent)>>s.bits)
	zigzag := uint64(back<<1) ^ uint64(back>>63)
	if s.bits == 0 {
		return uint64(back) // all parents come before
	}
	return (zigzag<<s.bits | shard) + 1
}

// parent decodes what distance has encoded.
func (s *Set) parent(at, distance uint64) Ref {
	switch {
	case distance == 0:
		return None
	case s.bits == 0:
		return Ref(at - distance)
	}
	distance--
	zigzag := distance >> s.bits
	back := int64(zigzag>>1) ^ -int64(zigzag&1)
	return Ref(uint64(int64(at)-back)<<s.bits | distance&uint64(len(s.shards)-1))
}

// read returns the record at an offset, and the offset of the next one. There must be one.
func (s *Set) read(blocks [][]byte, at uint64) (parent Ref, state []byte, next uint64) {
	block := blocks[at/blockSize]
	rest := block[at%blockSize:]
	length, n := binary.Uvarint(rest)
	distance, m := binary.Uvarint(rest[n:])
	start := n + m
	return s.parent(at, distance), rest[start : start+int(length)], at + uint64(start) + length
}

// grow makes more slots. The states are read once more, in the order of memory.
func (h *shard) grow(s *Set) {
	h.slots = make([]uint64, len(h.slots)+len(h.slots)/2)
	for at := uint64(0); ; {
		at = h.skip(at)
		if at >= h.end {
			return
		}
		_, state, next := s.read(h.blocks, at)
		hash := maphash.Bytes(s.seed, state)
		i := h.home(hash)
		for h.slots[i] != 0 {
			if i++; i == len(h.slots) {
				i = 0
			}
		}
		h.slots[i] = hash<<offsetBits | (at + 1)
		at = next
	}
}

// skip goes over the end of a block that is empty.
func (h *shard) skip(at uint64) uint64 {
	if at < h.end && h.blocks[at/blockSize][at%blockSize] == 0 {
		at = (at/blockSize + 1) * blockSize
	}
	return at
}

// State returns the bytes of a state. They must not be changed.
func (s *Set) State(r Ref) []byte {
	_, state, _ := s.read(s.shard(r).blocks, uint64(r)>>s.bits)
	return state
}

// Parent returns what a state was first reached from; None for a first one.
func (s *Set) Parent(r Ref) Ref {
	parent, _, _ := s.read(s.shard(r).blocks, uint64(r)>>s.bits)
	return parent
}

// shard is the one in which a state lies.
func (s *Set) shard(r Ref) *shard { return &s.shards[uint64(r)&uint64(len(s.shards)-1)] }

// Join is the reverse of Split.
func (s *Set) Join(shard int, place uint64) Ref { return Ref(place<<s.bits | uint64(shard)) }

// Shards says how many there are.
func (s *Set) Shards() int { return len(s.shards) }

// End is the offset at which a shard's next state will be. Nobody may insert meanwhile.
func (s *Set) End(shard int) uint64 { return s.shards[shard].end }

// Split returns the shard of a state, and its offset there.
func (s *Set) Split(r Ref) (shard int, offset uint64) {
	return int(uint64(r) & uint64(len(s.shards)-1)), uint64(r) >> s.bits
}

// Range goes through states of one shard, in the order in which they came. Others may insert states
// meanwhile.
type Range struct {
	set       *Set
	shard     uint64
	blocks    [][]byte
	from, end uint64
}

// Range returns those that lie between two offsets. Others may insert states meanwhile.
func (s *Set) Range(shard int, from, end uint64) *Range {
	h := &s.shards[shard]
	h.mu.Lock()
	defer h.mu.Unlock()
	return &Range{s, uint64(shard), h.blocks, from, end}
}

// Next returns the next state, whose bytes must not be changed. Ok is false at the end.
func (r *Range) Next() (at Ref, state []byte, ok bool) {
	if r.from < r.end && r.blocks[r.from/blockSize][r.from%blockSize] == 0 {
		r.from = (r.from/blockSize + 1) * blockSize
	}
	if r.from >= r.end {
		return None, nil, false
	}
	at = Ref(r.from<<r.set.bits | r.shard)
	_, state, r.from = r.set.read(r.blocks, r.from)
	return at, state, true
}

// Reset forgets all states, and keeps the memory. Nobody may use the set meanwhile.
func (s *Set) Reset() {
	for i := range s.shards {
		h := &s.shards[i]
		// What is zero is empty.
		for from := uint64(0); from < h.end; from += blockSize {
			clear(h.blocks[from/blockSize][:min(blockSize, h.end-from)])
		}
		clear(h.slots)
		h.end, h.states = 0, 0
	}
}

// Size says how many states there are, and how many bytes they take. It may be called at any time.
func (s *Set) Size() (states int, bytes int64) {
	for i := range s.shards {
		h := &s.shards[i]
		h.mu.Lock()
		states += h.states
		bytes += int64(h.end) + 8*int64(len(h.slots))
		h.mu.Unlock()
	}
	return states, bytes
}

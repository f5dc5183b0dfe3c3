package space

import (
	"errors"
	"math/bits"
	"sync"
)

// Width is how many words a state of a set of words has at most.
const Width = 3

// Vector is a state as a few words. Words that a set does not store are zero.
type Vector [Width]uint64

// ErrFull is of a set of words with more states than a parent can name.
var ErrFull = errors.New("there are more than four billion states: bound the model or the depth")

// Words is an exact set like Set, of states that are all as long. A state has a number in its
// shard, in the order in which states came. A slot has a tag of 32 bits of the hash, and the number
// plus one. Only if the tag is the same are the states compared.
type Words struct {
	width  int
	bits   int // of a Ref, for the shard
	shards []wordShard
}

// wordShard has the states of a part of the hashes. States and parents lie in blocks, which do not
// move.
type wordShard struct {
	mu      sync.Mutex
	states  [][]uint64
	parents [][]uint32
	end     uint64
	slots   []uint64
}

// Blocks have so many states.
const (
	wordBlockBits = 10
	wordBlock     = 1 << wordBlockBits
)

// noParent is that of a first state.
const noParent = 1<<32 - 1

// NewWords returns an empty set with at least so many shards, of states of so many words.
func NewWords(shards, width int) *Words {
	s := &Words{width: width, bits: bits.Len(uint(shards - 1))}
	s.shards = make([]wordShard, 1<<s.bits)
	for i := range s.shards {
		s.shards[i].slots = make([]uint64, firstSlots)
	}
	return s
}

// Candidate is a state that may be new.
type Candidate struct {
	State  Vector
	tag    uint64
	slot   uint64
	Parent Ref
	// At and IsNew are what Insert has found out.
	At    Ref
	IsNew bool
}

// Set makes a candidate of a state, and returns the number of its shard.
func (s *Words) Set(c *Candidate, state *Vector, parent Ref) int {
	hash := state.hash()
	c.State, c.Parent, c.tag = *state, parent, hash>>32
	return int(hash & uint64(len(s.shards)-1))
}

// hash mixes the words by multiplications of 64 to 128 bits, as wyhash does.
func (v *Vector) hash() uint64 {
	const a, b, c, d = 0xa0761d6478bd642f, 0xe7037ed1a0b428db, 0x8ebc6af09c88c6e3, 0x589965cc75374cc3
	high, low := bits.Mul64(v[0]^a, v[1]^b)
	high, low = bits.Mul64(high^low^c, v[2]^d)
	return high ^ low
}

// Insert adds candidates of one shard, in their order. Several goroutines may call it at a time.
// One lock serves all, and the look-ups do not wait for each other's memory.
func (s *Words) Insert(shard int, list []Candidate) error {
	h := &s.shards[shard]
	if s.bits > 0 {
		h.mu.Lock()
		defer h.mu.Unlock()
	}
	// The first loop only brings the slots near.
	slots := h.slots
	for i := range list {
		list[i].slot = slots[home(list[i].tag, len(slots))]
	}
	for i := range list {
		c := &list[i]
		if n := c.slot - 1; n>>32 == c.tag && c.slot != 0 && s.equal(h, n&(1<<32-1), &c.State) {
			c.At, c.IsNew = Ref(n&(1<<32-1)<<s.bits|uint64(shard)), false
			continue
		}
		n, isNew := h.insert(s, c)
		c.At, c.IsNew = Ref(n<<s.bits|uint64(shard)), isNew
		if uint64(c.At) >= noParent {
			return ErrFull
		}
	}
	return nil
}

// home is the first of so many slots to look at. It depends on the tag only.
func home(tag uint64, slots int) uint64 { return tag * uint64(slots) >> 32 }

// insert looks for a state, from the first slot for its hash to the next empty one.
func (h *wordShard) insert(s *Words, c *Candidate) (number uint64, isNew bool) {
	i := home(c.tag, len(h.slots))
	for {
		slot := h.slots[i]
		if slot == 0 {
			break
		}
		if slot>>32 == c.tag {
			if n := slot&(1<<32-1) - 1; s.equal(h, n, &c.State) {
				return n, false
			}
		}
		// There is always an empty slot.
		if i++; i == uint64(len(h.slots)) {
			i = 0
		}
	}
	n := h.put(s, c)
	h.slots[i] = c.tag<<32 | (n + 1)
	if h.end > uint64(len(h.slots)/4*3) {
		h.grow()
	}
	return n, true
}

// equal says whether a state is that of a number.
func (s *Words) equal(h *wordShard, n uint64, v *Vector) bool {
	block := h.states[n>>wordBlockBits]
	at := int(n%wordBlock) * s.width
	switch s.width {
	case 1:
		return block[at] == v[0]
	case 2:
		b := block[at : at+2]
		return b[0] == v[0] && b[1] == v[1]
	}
	b := block[at : at+3]
	return b[0] == v[0] && b[1] == v[1] && b[2] == v[2]
}

// put writes a state behind the others.
func (h *wordShard) put(s *Words, c *Candidate) uint64 {
	n := h.end
	if n%wordBlock == 0 {
		h.states = append(h.states, make([]uint64, wordBlock*s.width))
		h.parents = append(h.parents, make([]uint32, wordBlock))
	}
	block := n >> wordBlockBits
	copy(h.states[block][int(n%wordBlock)*s.width:], c.State[:s.width])
	parent := uint32(noParent)
	if c.Parent != None {
		parent = uint32(c.Parent)
	}
	h.parents[block][n%wordBlock] = parent
	h.end++
	return n
}

// grow makes half as many slots more. A tag says where a slot belongs, so no state is read, and the
// new slots are filled in about the order of memory.
func (h *wordShard) grow() {
	old := h.slots
	h.slots = make([]uint64, len(old)+len(old)/2)
	for _, slot := range old {
		if slot == 0 {
			continue
		}
		i := home(slot>>32, len(h.slots))
		for h.slots[i] != 0 {
			if i++; i == uint64(len(h.slots)) {
				i = 0
			}
		}
		h.slots[i] = slot
	}
}

// vector reads the state of a number.
func (s *Words) vector(blocks [][]uint64, n uint64) (v Vector) {
	at := int(n%wordBlock) * s.width
	copy(v[:], blocks[n>>wordBlockBits][at:at+s.width])
	return v
}

// State returns a state. Nobody may insert meanwhile.
func (s *Words) State(r Ref) Vector {
	return s.vector(s.shards[uint64(r)&uint64(len(s.shards)-1)].states, uint64(r)>>s.bits)
}

// Parent returns what a state was first reached from; None for a first one. Nobody may insert
// meanwhile.
func (s *Words) Parent(r Ref) Ref {
	n := uint64(r) >> s.bits
	p := s.shards[uint64(r)&uint64(len(s.shards)-1)].parents[n>>wordBlockBits][n%wordBlock]
	if p == noParent {
		return None
	}
	return Ref(p)
}

// Shards says how many there are.
func (s *Words) Shards() int { return len(s.shards) }

// End is the number that a shard's next state will have. Nobody may insert meanwhile.
func (s *Words) End(shard int) uint64 { return s.shards[shard].end }

// Size says how many states there are, and how many bytes they take. It may be called at any time.
func (s *Words) Size() (states int, bytes int64) {
	for i := range s.shards {
		h := &s.shards[i]
		h.mu.Lock()
		states += int(h.end)
		bytes += int64(h.end)*int64(8*s.width+4) + 8*int64(len(h.slots))
		h.mu.Unlock()
	}
	return states, bytes
}

// WordRange goes through states of one shard, in the order in which they came. Others may insert
// states meanwhile.
type WordRange struct {
	set       *Words
	shard     uint64
	blocks    [][]uint64
	from, end uint64
}

// Range returns those that lie between two numbers. Nobody may insert during the call.
func (s *Words) Range(shard int, from, end uint64) *WordRange {
	return &WordRange{s, uint64(shard), s.shards[shard].states, from, end}
}

// Next returns the next state. Ok is false at the end.
func (r *WordRange) Next() (at Ref, state Vector, ok bool) {
	if r.from >= r.end {
		return None, state, false
	}
	at, state = Ref(r.from<<r.set.bits|r.shard), r.set.vector(r.blocks, r.from)
	r.from++
	return at, state, true
}

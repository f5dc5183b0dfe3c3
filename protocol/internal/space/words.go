package space

import (
	"errors"
	"math/bits"
	"sync"
)

// Vector is a state as a few words.
type Vector interface {
	[1]uint64 | [2]uint64 | [3]uint64 | [4]uint64
}

// ErrFull is of a set of words with more states than a parent can name.
var ErrFull = errors.New("there are more than four billion states: bound the model or the depth")

// Words is an exact set like Set, of states that are all as long. A state has a number in its
// shard, in the order in which states came. A slot has a tag of 32 bits of the hash, and the number
// plus one. Only if the tag is the same are the states compared.
type Words[V Vector] struct {
	bits   int // of a Ref, for the shard
	shards []wordShard[V]
}

// wordShard has the states of a part of the hashes. States and origins lie in blocks, which do not
// move.
type wordShard[V Vector] struct {
	mu      sync.Mutex
	states  [][]V
	origins []*originBlock
	end     uint64
	slots   []uint64
	frozen  [][]V // what Freeze has seen of states
}

// originBlock says where states come from.
type originBlock struct {
	parents [wordBlock]uint32
	nodes   [wordBlock]uint8
}

// Blocks have so many states.
const (
	wordBlockBits = 10
	wordBlock     = 1 << wordBlockBits
)

// noParent is that of a first state.
const noParent = 1<<32 - 1

// NewWords returns an empty set with at least so many shards.
func NewWords[V Vector](shards int) *Words[V] {
	s := &Words[V]{bits: bits.Len(uint(shards - 1))}
	s.shards = make([]wordShard[V], 1<<s.bits)
	for i := range s.shards {
		s.shards[i].slots = make([]uint64, firstSlots)
	}
	return s
}

// Candidate is a state that may be new.
type Candidate[V Vector] struct {
	State       V
	slot        uint64
	tag, parent uint32
	node        uint8
	// At and IsNew are what Insert has found out.
	IsNew bool
	At    Ref
}

// Set makes a candidate of a state with a hash. Node is a number that is kept with the parent.
func (c *Candidate[V]) Set(state *V, hash uint64, parent Ref, node uint8) {
	// None becomes noParent.
	c.State, c.tag, c.parent, c.node = *state, uint32(hash>>32), uint32(parent), node
}

// Hash mixes words by multiplications of 64 to 128 bits, as wyhash does.
func Hash[V Vector](v *V) uint64 {
	const a, b, c = 0xa0761d6478bd642f, 0xe7037ed1a0b428db, 0x8ebc6af09c88c6e3
	high, low := bits.Mul64((*v)[0]^a, b)
	for i := 1; i < len(*v); i++ {
		high, low = bits.Mul64(high^low^(*v)[i], c)
	}
	return high ^ low
}

// Shard is the number of the shard for a hash.
func (s *Words[V]) Shard(hash uint64) int { return int(hash & uint64(len(s.shards)-1)) }

// Insert adds candidates of one shard, in their order. Several goroutines may call it at a time.
// One lock serves all, and the look-ups do not wait for each other's memory.
func (s *Words[V]) Insert(shard int, list []Candidate[V]) error {
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
		// The number is that of the slot, if it is the right one.
		c := &list[i]
		n := c.slot&(1<<32-1) - 1
		c.IsNew = false
		if uint32(c.slot>>32) != c.tag || c.slot == 0 || *h.state(n) != c.State {
			n, c.IsNew = h.insert(c)
		}
		c.At = Ref(n<<s.bits | uint64(shard))
		if uint64(c.At) >= noParent {
			return ErrFull
		}
	}
	return nil
}

// home is the first of so many slots to look at. It depends on the tag only.
func home(tag uint32, slots int) uint64 { return uint64(tag) * uint64(slots) >> 32 }

// state is the place of a state.
func (h *wordShard[V]) state(n uint64) *V { return &h.states[n>>wordBlockBits][n%wordBlock] }

// insert looks for a state, from the first slot for its hash to the next empty one.
func (h *wordShard[V]) insert(c *Candidate[V]) (number uint64, isNew bool) {
	slots := h.slots
	i := home(c.tag, len(slots))
	for {
		slot := slots[i]
		if slot == 0 {
			break
		}
		if uint32(slot>>32) == c.tag {
			if n := slot&(1<<32-1) - 1; *h.state(n) == c.State {
				return n, false
			}
		}
		// There is always an empty slot.
		if i++; i == uint64(len(slots)) {
			i = 0
		}
	}
	n := h.put(c)
	slots[i] = uint64(c.tag)<<32 | (n + 1)
	if h.end > uint64(len(slots)/4*3) {
		h.grow()
	}
	return n, true
}

// put writes a state behind the others.
func (h *wordShard[V]) put(c *Candidate[V]) uint64 {
	n := h.end
	if n%wordBlock == 0 {
		h.states = append(h.states, make([]V, wordBlock))
		h.origins = append(h.origins, &originBlock{})
	}
	*h.state(n) = c.State
	o := h.origins[n>>wordBlockBits]
	o.parents[n%wordBlock], o.nodes[n%wordBlock] = c.parent, c.node
	h.end++
	return n
}

// wasteless is how many slots there are before a table grows by less, so as to waste less.
const wasteless = 1 << 20

// grow makes more slots.
func (h *wordShard[V]) grow() {
	if n := len(h.slots); n < wasteless {
		h.resize(2 * n)
	} else {
		h.resize(n + n/2)
	}
}

// resize makes so many slots. A tag says where a slot belongs, so no state is read, and the new
// slots are filled in about the order of memory.
func (h *wordShard[V]) resize(n int) {
	old := h.slots
	h.slots = make([]uint64, n)
	for _, slot := range old {
		if slot == 0 {
			continue
		}
		i := home(uint32(slot>>32), n)
		for h.slots[i] != 0 {
			if i++; i == uint64(n) {
				i = 0
			}
		}
		h.slots[i] = slot
	}
}

// Reserve makes room for as many states as there are in another set. Shards are about equal.
func (s *Words[V]) Reserve(states int) {
	for i := range s.shards {
		s.shards[i].resize(max(firstSlots, 2*states/len(s.shards)))
	}
}

// State returns a state. Nobody may insert meanwhile.
func (s *Words[V]) State(r Ref) V {
	return *s.shards[uint64(r)&uint64(len(s.shards)-1)].state(uint64(r) >> s.bits)
}

// Parent returns what a state was first reached from; None for a first one. Nobody may insert
// meanwhile.
func (s *Words[V]) Parent(r Ref) Ref {
	parent, _ := s.Origin(r)
	return parent
}

// Origin returns the parent of a state, and the number that is kept with it. Nobody may insert
// meanwhile.
func (s *Words[V]) Origin(r Ref) (parent Ref, node uint8) {
	n := uint64(r) >> s.bits
	return s.shards[uint64(r)&uint64(len(s.shards)-1)].origins[n>>wordBlockBits].origin(n)
}

func (o *originBlock) origin(n uint64) (parent Ref, node uint8) {
	n %= wordBlock
	if o.parents[n] == noParent {
		return None, o.nodes[n]
	}
	return Ref(o.parents[n]), o.nodes[n]
}

// Freeze has Frozen return the states that there are now. Nobody may insert meanwhile.
func (s *Words[V]) Freeze() {
	for i := range s.shards {
		s.shards[i].frozen = s.shards[i].states
	}
}

// Frozen returns a state that there was at the last Freeze. Others may insert states meanwhile.
func (s *Words[V]) Frozen(r Ref) *V {
	n := uint64(r) >> s.bits
	return &s.shards[uint64(r)&uint64(len(s.shards)-1)].frozen[n>>wordBlockBits][n%wordBlock]
}

// Split returns the shard of a state, and its number there.
func (s *Words[V]) Split(r Ref) (shard int, number uint64) {
	return int(uint64(r) & uint64(len(s.shards)-1)), uint64(r) >> s.bits
}

// Join is the reverse of Split.
func (s *Words[V]) Join(shard int, place uint64) Ref { return Ref(place<<s.bits | uint64(shard)) }

// Shards says how many there are.
func (s *Words[V]) Shards() int { return len(s.shards) }

// End is the number that a shard's next state will have. Nobody may insert meanwhile.
func (s *Words[V]) End(shard int) uint64 { return s.shards[shard].end }

// Size says how many states there are, and how many bytes they take. It may be called at any time.
func (s *Words[V]) Size() (states int, bytes int64) {
	var v V
	for i := range s.shards {
		h := &s.shards[i]
		h.mu.Lock()
		states += int(h.end)
		bytes += int64(h.end)*int64(8*len(v)+5) + 8*int64(len(h.slots))
		h.mu.Unlock()
	}
	return states, bytes
}

// WordRange goes through states of one shard, in the order in which they came. Others may insert
// states meanwhile.
type WordRange[V Vector] struct {
	set       *Words[V]
	shard     uint64
	blocks    [][]V
	origins   []*originBlock
	from, end uint64
}

// Range returns those that lie between two numbers. Others may insert states meanwhile.
func (s *Words[V]) Range(shard int, from, end uint64) *WordRange[V] {
	// The lists may grow, but what they have stays.
	h := &s.shards[shard]
	h.mu.Lock()
	defer h.mu.Unlock()
	return &WordRange[V]{s, uint64(shard), h.states, h.origins, from, end}
}

// Next returns the next state, and where it comes from. The state is nil at the end.
func (r *WordRange[V]) Next() (at Ref, state *V, parent Ref, node uint8) {
	n := r.from
	if n >= r.end {
		return None, nil, None, 0
	}
	r.from++
	parent, node = r.origins[n>>wordBlockBits].origin(n)
	return Ref(n<<r.set.bits | r.shard), &r.blocks[n>>wordBlockBits][n%wordBlock], parent, node
}

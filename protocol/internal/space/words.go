package space

import (
	"errors"
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/tandem-mc/tandem/protocol/internal/pages"
)

// Vector is a state as a few words.
type Vector interface {
	[1]uint64 | [2]uint64 | [3]uint64 | [4]uint64
}

// Widest is a vector of any width; words that it does not have are zero.
type Widest = [4]uint64

// Widen is a vector as one of the greatest width.
func Widen[V Vector](v *V) (wide Widest) {
	for word := range len(*v) {
		wide[word] = (*v)[word]
	}
	return wide
}

// Narrow is the reverse of Widen. What is lost is zero.
func Narrow[V Vector](wide *Widest) (v V) {
	for word := range len(v) {
		v[word] = wide[word]
	}
	return v
}

// ErrFull is of a set of words with more states than a parent can name.
var ErrFull = errors.New("there are more than four billion states: bound the model or the depth")

// Words is an exact set like Set, of states that are all as long. Each goroutine that inserts has
// an arena of its own. A state has a number there, in the order in which states came. One hash
// table finds the states of all arenas. A slot has a tag of 32 bits of the hash, and the Ref of the
// state plus one. Only if the tag is the same are the states compared.
//
// All that is large lies in memory of its own. Release gives it back; else the collector has it
// given back, if nobody has the set any more.
//
// Nobody waits for a state of another goroutine. A state is written into its arena first. Then a
// compare-and-swap puts its slot in, from which on others can find it. Only a table that grows has
// all wait.
type Words[V Vector] struct {
	bits   int // of a Ref, for the arena
	arenas []arena[V]
	pool   *pages.Pool // has the slots and the blocks
	// slots change their length under all locks of the arenas.
	slots []uint64

	mu   sync.Mutex
	left int // so many states may be put in before the table grows, and no arena has room for them yet
}

// arena has the states that one goroutine has put in. They lie in blocks, which do not move.
type arena[V Vector] struct {
	// blocks are read by all. There is a new list for each new block.
	blocks atomic.Pointer[[]*wordBlock[V]]
	_      [120]byte // what follows is written often, in other lines of the caches

	mu   sync.Mutex // held while the goroutine is at the slots
	end  uint64
	room int // so many states may be put in before the goroutine asks for more room
	last *wordBlock[V]
	_    [96]byte
}

// wordBlock has states, and says where they come from.
type wordBlock[V Vector] struct {
	states  [blockStates]V
	parents [blockStates]uint32
	nodes   [blockStates]uint8
}

const (
	blockBits   = 10
	blockStates = 1 << blockBits
	// noParent is that of a first state.
	noParent = 1<<32 - 1
	// moreRoom is for how many states a goroutine asks at once.
	moreRoom = 256
)

// NewWords returns an empty set for a number of goroutines.
func NewWords[V Vector](goroutines int) *Words[V] {
	s := &Words[V]{bits: bits.Len(uint(goroutines - 1)), arenas: make([]arena[V], goroutines),
		pool: &pages.Pool{}}
	for i := range s.arenas {
		s.arenas[i].blocks.Store(&[]*wordBlock[V]{})
	}
	s.resize(firstSlots)
	runtime.AddCleanup(s, (*pages.Pool).Release, s.pool)
	return s
}

// Release gives the memory back. Nobody may use the set any more, but to release it again.
func (s *Words[V]) Release() {
	for i := range s.arenas {
		s.arenas[i] = arena[V]{}
	}
	s.slots = nil
	s.pool.Release()
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

// Node is the number that is kept with the parent.
func (c *Candidate[V]) Node() uint8 { return c.node }

// Hash mixes words by multiplications of 64 to 128 bits, as wyhash does.
func Hash[V Vector](v *V) uint64 {
	const a, b, c = 0xa0761d6478bd642f, 0xe7037ed1a0b428db, 0x8ebc6af09c88c6e3
	high, low := bits.Mul64((*v)[0]^a, b)
	for i := 1; i < len(*v); i++ {
		high, low = bits.Mul64(high^low^(*v)[i], c)
	}
	return high ^ low
}

// Insert adds candidates in their order, those that are new to an arena. Several goroutines may
// call it at a time, each for another arena. The look-ups do not wait for each other's memory.
func (s *Words[V]) Insert(arena int, list []Candidate[V]) error {
	a := &s.arenas[arena]
	if a.room < len(list) {
		if err := s.makeRoom(a, len(list)); err != nil {
			return err
		}
	}
	if s.bits > 0 {
		a.mu.Lock()
		defer a.mu.Unlock()
	}
	// The first loop only brings the slots near.
	slots := s.slots
	for i := range list {
		list[i].slot = atomic.LoadUint64(&slots[home(list[i].tag, len(slots))])
	}
	for i := range list {
		// The slot at home is the right one, or the others are looked at.
		c := &list[i]
		c.At, c.IsNew = Ref(c.slot&(1<<32-1)-1), false
		if uint32(c.slot>>32) != c.tag || c.slot == 0 || *s.state(c.At) != c.State {
			s.insert(arena, c)
		}
	}
	runtime.KeepAlive(s)
	return nil
}

// home is the first of so many slots to look at. It depends on the tag only.
func home(tag uint32, slots int) uint64 { return uint64(tag) * uint64(slots) >> 32 }

// insert looks for a state, from the first slot for its hash to the next empty one.
func (s *Words[V]) insert(arena int, c *Candidate[V]) {
	slots := s.slots
	for i := home(c.tag, len(slots)); ; {
		slot := atomic.LoadUint64(&slots[i])
		if slot == 0 {
			a := &s.arenas[arena]
			at := Ref(a.end<<s.bits | uint64(arena))
			a.write(c, s.pool)
			if slot = uint64(c.tag)<<32 | uint64(at+1); s.fill(&slots[i], slot) {
				a.end++
				a.room--
				c.At, c.IsNew = at, true
				return
			}
			// Another goroutine was faster. What is written is not found, and overwritten.
			slot = atomic.LoadUint64(&slots[i])
		}
		if uint32(slot>>32) == c.tag {
			if at := Ref(slot&(1<<32-1) - 1); *s.state(at) == c.State {
				c.At = at
				return
			}
		}
		// There is always an empty slot.
		if i++; i == uint64(len(slots)) {
			i = 0
		}
	}
}

// fill fills a slot, if it is empty. A goroutine that is alone need not swap.
func (s *Words[V]) fill(slot *uint64, value uint64) bool {
	if s.bits > 0 {
		return atomic.CompareAndSwapUint64(slot, 0, value)
	}
	isEmpty := *slot == 0
	if isEmpty {
		*slot = value
	}
	return isEmpty
}

// write writes a state behind the others.
func (a *arena[V]) write(c *Candidate[V], pool *pages.Pool) {
	n := a.end % blockStates
	if n == 0 {
		a.begin(pool)
	}
	a.last.states[n], a.last.parents[n], a.last.nodes[n] = c.State, c.parent, c.node
}

// begin begins a block. It may have been made for a state that another goroutine has put in, or
// before a Reset.
func (a *arena[V]) begin(pool *pages.Pool) {
	blocks := *a.blocks.Load()
	if a.end>>blockBits == uint64(len(blocks)) {
		blocks = append(blocks, pages.New[wordBlock[V]](pool))
		a.blocks.Store(&blocks)
	}
	a.last = blocks[a.end>>blockBits]
}

// Change changes all states, which stay different and where they are. Nobody may use the set
// meanwhile.
func (s *Words[V]) Change(change func(*V)) {
	clear(s.slots)
	var done sync.WaitGroup
	for i := range s.arenas {
		done.Go(func() { s.changeArena(i, change) })
	}
	done.Wait()
}

func (s *Words[V]) changeArena(arena int, change func(*V)) {
	for n := range s.arenas[arena].end {
		at := s.Join(arena, n)
		v := s.state(at)
		change(v)
		tag := uint32(Hash(v) >> 32)
		slot := uint64(tag)<<32 | uint64(at+1)
		for i := home(tag, len(s.slots)); !s.fill(&s.slots[i], slot); {
			if i++; i == uint64(len(s.slots)) {
				i = 0
			}
		}
	}
}

// Reset forgets all states, and keeps the memory. Nobody may use the set meanwhile.
func (s *Words[V]) Reset() {
	states := 0
	for i := range s.arenas {
		states += int(s.arenas[i].end)
		s.arenas[i].end, s.arenas[i].room = 0, 0
	}
	// To clear a table that is far too large would take longer than to let it grow.
	if n := max(firstSlots, 4*states); n < len(s.slots)/8 {
		s.pool.GiveBack(s.slots)
		s.slots = s.pool.Words(n)
	} else {
		clear(s.slots)
	}
	s.left = len(s.slots) / 4 * 3
}

// makeRoom makes room for some more states of an arena. The table grows before it is too full, so
// the goroutines share what room there is.
func (s *Words[V]) makeRoom(a *arena[V], states int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.left < states {
		s.grow()
	}
	room := min(s.left, max(states, moreRoom))
	a.room += room
	s.left -= room
	if (a.end+uint64(a.room))<<s.bits >= noParent {
		return ErrFull
	}
	return nil
}

// A table that grows is filled anew. While it is small, it grows by more. From wasteless slots on
// it grows by less, so as to waste less.
const (
	fewSlots  = 1 << 17
	wasteless = 1 << 20
)

// grow makes more slots.
func (s *Words[V]) grow() {
	switch n := len(s.slots); {
	case n < fewSlots:
		s.resize(4 * n)
	case n < wasteless:
		s.resize(2 * n)
	default:
		s.resize(n + n/2)
	}
}

// resize makes so many slots. A tag says where a slot belongs, so no state is read, and the new
// slots are filled in about the order of memory.
func (s *Words[V]) resize(n int) {
	for i := range s.arenas {
		s.arenas[i].mu.Lock()
		defer s.arenas[i].mu.Unlock()
	}
	old := s.slots
	s.slots = s.pool.Words(n)
	// A quarter of the slots stays empty.
	s.left += n/4*3 - len(old)/4*3
	for _, slot := range old {
		if slot == 0 {
			continue
		}
		i := home(uint32(slot>>32), n)
		for s.slots[i] != 0 {
			if i++; i == uint64(n) {
				i = 0
			}
		}
		s.slots[i] = slot
	}
	s.pool.GiveBack(old)
}

// Reserve makes room for so many states. Nobody may insert meanwhile.
func (s *Words[V]) Reserve(states int) {
	for s.left < states {
		s.grow()
	}
}

// state is the place of a state.
func (s *Words[V]) state(r Ref) *V {
	b, n := s.block(r)
	return &b.states[n]
}

// block is that of a state, and the state's number in it.
func (s *Words[V]) block(r Ref) (*wordBlock[V], uint64) {
	arena, n := s.Split(r)
	return (*s.arenas[arena].blocks.Load())[n>>blockBits], n % blockStates
}

// State returns a state. Others may insert states meanwhile, as with Parent and Origin.
func (s *Words[V]) State(r Ref) V {
	v := *s.state(r)
	runtime.KeepAlive(s)
	return v
}

// Parent returns what a state was first reached from; None for a first one.
func (s *Words[V]) Parent(r Ref) Ref {
	parent, _ := s.Origin(r)
	return parent
}

// Origin returns the parent of a state, and the number that is kept with it.
func (s *Words[V]) Origin(r Ref) (parent Ref, node uint8) {
	b, n := s.block(r)
	parent, node = b.origin(n)
	runtime.KeepAlive(s)
	return parent, node
}

func (b *wordBlock[V]) origin(n uint64) (parent Ref, node uint8) {
	if b.parents[n] == noParent {
		return None, b.nodes[n]
	}
	return Ref(b.parents[n]), b.nodes[n]
}

// Whole returns a state, its parent, and the number that is kept with it.
func (s *Words[V]) Whole(r Ref) (state V, parent Ref, node uint8) {
	b, n := s.block(r)
	state = b.states[n]
	parent, node = b.origin(n)
	runtime.KeepAlive(s)
	return state, parent, node
}

// Split returns the arena of a state, and its number there.
func (s *Words[V]) Split(r Ref) (arena int, number uint64) {
	return int(uint64(r) & (1<<s.bits - 1)), uint64(r) >> s.bits
}

// Join is the reverse of Split.
func (s *Words[V]) Join(arena int, number uint64) Ref { return Ref(number<<s.bits | uint64(arena)) }

// Shards says how many arenas there are.
func (s *Words[V]) Shards() int { return len(s.arenas) }

// End is the number that an arena's next state will have. Nobody may insert meanwhile.
func (s *Words[V]) End(arena int) uint64 { return s.arenas[arena].end }

// Size says how many states there are, and how many bytes they take. It may be called at any time.
func (s *Words[V]) Size() (states int, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var v V
	for i := range s.arenas {
		a := &s.arenas[i]
		a.mu.Lock()
		states += int(a.end)
		a.mu.Unlock()
	}
	return states, int64(states)*int64(8*len(v)+5) + 8*int64(len(s.slots))
}

// WordRange goes through states of one arena, in the order in which they came. Others may insert
// states meanwhile.
type WordRange[V Vector] struct {
	set       *Words[V]
	arena     int
	blocks    []*wordBlock[V]
	from, end uint64
}

// Range returns those that lie between two numbers.
func (s *Words[V]) Range(arena int, from, end uint64) *WordRange[V] {
	// The list may grow, but what it has stays.
	return &WordRange[V]{s, arena, *s.arenas[arena].blocks.Load(), from, end}
}

// Next returns the next state, and where it comes from. The state is nil at the end.
func (r *WordRange[V]) Next() (at Ref, state *V, parent Ref, node uint8) {
	n := r.from
	if n >= r.end {
		return None, nil, None, 0
	}
	r.from++
	b := r.blocks[n>>blockBits]
	parent, node = b.origin(n % blockStates)
	return r.set.Join(r.arena, n), &b.states[n%blockStates], parent, node
}

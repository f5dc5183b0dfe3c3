package iocache

import "github.com/tandem-mc/tandem/internal/invariant"

// index finds numbers by what they stand for, which is kept elsewhere: a hash table with open
// addressing and linear probing. It takes 8 bytes for a number and as much again that is free, and
// to look there is one access to memory.
type index struct {
	slots []slot // a power of two of them, of which a quarter is free
	taken int
}

// slot has a number, which is not 0, and the hash of what it stands for.
type slot struct {
	hash   uint32
	number int32
}

// find returns the number with a hash of which is says that it is the one; 0: there is none.
func (x *index) find(hash uint32, is func(number int32) bool) int32 {
	if len(x.slots) == 0 {
		return 0
	}
	last := uint32(len(x.slots) - 1)
	for i := hash & last; x.slots[i].number != 0; i = (i + 1) & last {
		if s := x.slots[i]; s.hash == hash && is(s.number) {
			return s.number
		}
	}
	return 0
}

// insert adds a number, whatever else has its hash.
func (x *index) insert(hash uint32, number int32) {
	invariant.Check(number != 0, "iocache: number 0 stands for nothing")
	if x.taken++; 4*x.taken > 3*len(x.slots) {
		x.grow()
	}
	x.put(slot{hash, number})
}

// put stores a number in the first free slot after the place of its hash. There is one.
func (x *index) put(s slot) {
	last := uint32(len(x.slots) - 1)
	i := s.hash & last
	for x.slots[i].number != 0 {
		i = (i + 1) & last
	}
	x.slots[i] = s
}

// grow makes the table twice as large, and stores all numbers anew.
func (x *index) grow() {
	old := x.slots
	x.slots = make([]slot, max(8, 2*len(old)))
	for _, s := range old {
		if s.number != 0 {
			x.put(s)
		}
	}
}

// remove takes out a number that is there. The numbers after it, up to the next free slot, are
// stored anew (Knuth: The Art of Computer Programming, volume 3, section 6.4, algorithm R). So
// there is never a gap on the way to a number, and no marks of what was removed slow lookups down.
func (x *index) remove(hash uint32, number int32) {
	last := uint32(len(x.slots) - 1)
	i := hash & last
	for x.slots[i] != (slot{hash, number}) {
		invariant.Check(x.slots[i].number != 0, "iocache: what is removed from a table was not there")
		i = (i + 1) & last
	}
	x.taken--
	x.slots[i] = slot{}
	for i = (i + 1) & last; x.slots[i].number != 0; i = (i + 1) & last {
		s := x.slots[i]
		x.slots[i] = slot{}
		x.put(s)
	}
}

package trace

import "math/bits"

// Numbering numbers IDs, which are hashes, densely in the order in which they appear. It takes them
// back in the opposite order. Looking up is most of what is done with it, so it is a table with
// linear probing: as only the last ID is ever taken out, no way to another one leads past its
// place.
type Numbering[ID ~uint64] struct {
	Ids []ID
	// number + 1; 0 is free. At least half of them are, and their number is a power of 2
	slots []int32
}

// Of returns the number of an ID, or -1.
func (n *Numbering[ID]) Of(id ID) (number int32, known bool) {
	if len(n.slots) == 0 {
		return -1, false
	}
	number = n.slots[n.slot(id)] - 1
	return number, number >= 0
}

// Near is as of, for an ID that is likely to have a certain number.
func (n *Numbering[ID]) Near(likely int32, id ID) (number int32, known bool) {
	if int(likely) < len(n.Ids) && n.Ids[likely] == id {
		return likely, true
	}
	return n.Of(id)
}

// slot is where an ID is, or would be.
func (n *Numbering[ID]) slot(id ID) int {
	mask := uint(len(n.slots) - 1)
	i := uint(uint64(id)*0x9e3779b97f4a7c15>>(64-bits.Len(mask))) & mask
	for n.slots[i] != 0 && n.Ids[n.slots[i]-1] != id {
		i = (i + 1) & mask
	}
	return int(i)
}

// Add numbers an ID that has no number.
func (n *Numbering[ID]) Add(id ID) int32 {
	n.Ids = append(n.Ids, id)
	if 2*len(n.Ids) > len(n.slots) {
		n.grow()
	} else {
		n.place(id, len(n.Ids))
	}
	return int32(len(n.Ids) - 1)
}

func (n *Numbering[ID]) place(id ID, slot int) { n.slots[n.slot(id)] = int32(slot) }

// grow makes the table twice as large.
func (n *Numbering[ID]) grow() {
	n.slots = make([]int32, max(16, 2*len(n.slots)))
	for i, id := range n.Ids {
		n.place(id, i+1)
	}
}

// drop takes out the ID with the highest number.
func (n *Numbering[ID]) drop() {
	last := len(n.Ids) - 1
	n.slots[n.slot(n.Ids[last])] = 0
	n.Ids = n.Ids[:last]
}

// Clear takes out all.
func (n *Numbering[ID]) Clear() {
	clear(n.slots)
	n.Ids = n.Ids[:0]
}

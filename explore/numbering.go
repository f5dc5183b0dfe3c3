package explore

import "math/bits"

// numbering numbers IDs, which are hashes, densely in the order in which they appear. It takes them back in the
// opposite order. Looking up is most of what is done with it, so it is a table with linear probing: as only the last ID is ever
// taken out, no way to another one leads past its place.
type numbering[ID ~uint64] struct {
	ids   []ID
	slots []int32 // number + 1; 0 is free. At least half of them are, and their number is a power of 2
}

// of returns the number of an ID, or -1.
func (n *numbering[ID]) of(id ID) (number int32, known bool) {
	if len(n.slots) == 0 {
		return -1, false
	}
	number = n.slots[n.slot(id)] - 1
	return number, number >= 0
}

// near is as of, for an ID that is likely to have a certain number.
func (n *numbering[ID]) near(likely int32, id ID) (number int32, known bool) {
	if int(likely) < len(n.ids) && n.ids[likely] == id {
		return likely, true
	}
	return n.of(id)
}

// slot is where an ID is, or would be.
func (n *numbering[ID]) slot(id ID) int {
	mask := uint(len(n.slots) - 1)
	i := uint(uint64(id)*0x9e3779b97f4a7c15>>(64-bits.Len(mask))) & mask
	for n.slots[i] != 0 && n.ids[n.slots[i]-1] != id {
		i = (i + 1) & mask
	}
	return int(i)
}

// add numbers an ID that has no number.
func (n *numbering[ID]) add(id ID) int32 {
	n.ids = append(n.ids, id)
	if 2*len(n.ids) > len(n.slots) {
		n.grow()
	} else {
		n.place(id, len(n.ids))
	}
	return int32(len(n.ids) - 1)
}

func (n *numbering[ID]) place(id ID, slot int) { n.slots[n.slot(id)] = int32(slot) }

// grow makes the table twice as large.
func (n *numbering[ID]) grow() {
	n.slots = make([]int32, max(16, 2*len(n.slots)))
	for i, id := range n.ids {
		n.place(id, i+1)
	}
}

// drop takes out the ID with the highest number.
func (n *numbering[ID]) drop() {
	last := len(n.ids) - 1
	n.slots[n.slot(n.ids[last])] = 0
	n.ids = n.ids[:last]
}

// clear takes out all.
func (n *numbering[ID]) clear() {
	clear(n.slots)
	n.ids = n.ids[:0]
}

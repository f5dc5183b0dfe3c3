package explore

import "slices"

// stock has each step once that wakeup trees consist of: there are few that differ, and very many branches. Nobody changes
// them, so that trees of all searches may have them. The zero value is empty.
type stock struct {
	number numbering[uint64] // by their hashes
	all    []*step
}

// maxStock is how many steps may be kept: then it begins anew. Each part of a search has a stock, and there may be many.
const maxStock = 1 << 13

// step is the one that is equal to s, as far as trees are concerned: of a step in a tree only whether it is a guess matters. If
// it is the likely one, which may be nil, it is not looked for, which takes several times as long as to compare it.
func (k *stock) step(s, likely *step) *step {
	c := step{s.Action, s.Accesses, s.marks & guessed, s.goroutine}
	if likely != nil && likely.equal(&c) {
		return likely
	}
	hash := c.hash()
	n, known := k.number.of(hash)
	switch {
	case !known:
		return k.add(hash, c.clone())
	case k.all[n].equal(&c):
		return k.all[n]
	}
	return c.clone() // another one has its place
}

func (k *stock) add(hash uint64, s *step) *step {
	if len(k.all) == maxStock {
		k.number.clear()
		clear(k.all)
		k.all = k.all[:0]
	}
	k.number.add(hash)
	k.all = append(k.all, s)
	return s
}

func (s *step) clone() *step {
	return &step{s.Action, slices.Clone(s.Accesses), s.marks, s.goroutine}
}

func (s *step) equal(other *step) bool {
	return s.Action == other.Action && s.marks == other.marks && slices.Equal(s.Accesses, other.Accesses)
}

func (s *step) hash() uint64 {
	h := mix(uint64(s.Goroutine) + uint64(s.Choice)<<8 + uint64(s.marks))
	for _, a := range s.Accesses {
		h = mix(h + uint64(a.Object) + uint64(a.Kind)<<56 + uint64(a.Ready)<<48) // above what addresses have
		h += uint64(uint32(a.Delta))<<32 + uint64(uint32(a.Count))
	}
	return h
}

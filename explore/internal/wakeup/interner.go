package wakeup

import "github.com/tandem-mc/tandem/explore/internal/trace"

// stock has each step once that wakeup trees consist of: there are few that differ, and very many
// branches. Nobody changes them, so that trees of all searches may have them. The zero value is
// empty.
type Interner struct {
	number trace.Numbering[uint64] // by their hashes
	all    []*trace.Step
}

// maxStock is how many steps may be kept: then it begins anew. Each part of a search has a stock,
// and there may be many.
const maxInterned = 1 << 13

// step is the one that is equal to s, as far as trees are concerned: of a step in a tree only
// whether it is a guess matters. If it is the likely one, which may be nil, it is not looked for,
// which takes several times as long as to compare it.
func (k *Interner) intern(s, likely *trace.Step) *trace.Step {
	c := trace.Step{Action: s.Action, Accesses: s.Accesses, Marks: s.Marks & trace.Guessed, Number: s.Number}
	if likely != nil && likely.Equal(&c) {
		return likely
	}
	hash := c.Hash()
	n, known := k.number.Of(hash)
	switch {
	case !known:
		return k.add(hash, c.Clone())
	case k.all[n].Equal(&c):
		return k.all[n]
	}
	return c.Clone() // another one has its place
}

func (k *Interner) add(hash uint64, s *trace.Step) *trace.Step {
	if len(k.all) == maxInterned {
		k.number.Clear()
		clear(k.all)
		k.all = k.all[:0]
	}
	k.number.Add(hash)
	k.all = append(k.all, s)
	return s
}

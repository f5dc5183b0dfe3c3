package wakeup

import "github.com/tandem-mc/tandem/explore/internal/trace"

// Interner keeps each step of wakeup trees once: few steps differ, and there are very many
// branches. Nobody changes a step, so the trees of several searches may share it. The zero value
// is empty.
type Interner struct {
	number trace.Numbering[uint64] // by their hashes
	all    []*trace.Step
}

// maxInterned is how many steps are kept; then the interner begins anew. Each subtree of a search
// has an interner, and there may be many.
const maxInterned = 1 << 13

// intern returns the step that equals s as far as trees are concerned: of the marks of a step in a
// tree only Guessed matters. The likely step, which may be nil, is tried first: to look a step up
// takes several times as long as to compare one.
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

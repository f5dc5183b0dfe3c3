package global

import (
	"runtime"

	"github.com/tandem-mc/tandem/protocol/internal/forms"
	"github.com/tandem-mc/tandem/protocol/internal/space"
	"github.com/tandem-mc/tandem/protocol/internal/system"
)

// A share may have a chunk of a level here. Receive loads it, ExpandOnly and Reached follow.

// Reset forgets all states, and keeps the memory; it gives that back if it is to begin anew.
func (h *Share) Reset(anew bool) {
	if anew {
		forms.Release(h.form)
		h.form = newForm(h.Config, h.log)
		h.setWorker(h.newWorker(0))
		runtime.GC()
	}
	h.form.Reset()
	h.x.reset()
	h.search.before, h.counts = h.search.before[:0], h.counts[:0]
	h.levelStart[0], h.levelEnd[0] = h.form.End(0), h.form.End(0)
	h.level, h.next, h.packed, h.nextPacked = h.level[:0], h.next[:0], h.packed[:0], h.nextPacked[:0]
	h.states, h.lastPacked = 0, 0
}

// Reached visits what a chunk has reached: whose each state is, the number in the chunk of the one
// before it, and the node that has led there, plus one; zero: nobody needs to know either.
func (h *Share) Reached(visit func(to int, number uint64, state *system.State, node uint8) error) error {
	nodes := h.config.ByLocals
	return h.form.EachMoved(0, h.levelEnd[0], h.form.End(0), func(at space.Ref, node uint8) (err error) {
		h.form.Look(at, &h.state)
		to := h.config.Own
		// A step of another node does not change whose it is.
		if node == 0 || nodes == 0 || nodes>>(node-1)&1 != 0 {
			if to, err = h.config.Owner(&h.state); err != nil {
				return err
			}
		}
		_, number := h.form.Split(h.form.Parent(at))
		return visit(to, number, &h.state, node)
	})
}

// Each visits all states up to those of the present level: with the level of each, the state before
// it, which is nil if that is not here, and the node that has led there, as in Reached.
func (h *Share) Each(visit func(level int, before, state *system.State, node uint8) error) error {
	from := uint64(0)
	for level, end := range append(h.search.before[:len(h.search.before):len(h.search.before)], h.levelEnd) {
		err := h.form.EachMoved(0, from, end[0], func(at space.Ref, node uint8) error {
			before := (*system.State)(nil)
			if parent := h.form.Parent(at); parent != space.None {
				h.form.Look(parent, &h.before)
				before = &h.before
			}
			h.form.Look(at, &h.state)
			return visit(level, before, &h.state, node)
		})
		if from = end[0]; err != nil {
			return err
		}
	}
	return nil
}

// Chosen is the state that is visited for one, until the next call: alike nodes have other names.
func (h *Share) Chosen(s *system.State) (*system.State, error) { return h.w.alike.choose(s) }

// Leads says whether a step leads from a state to one with a digest.
func (h *Share) Leads(state *system.State, target uint64) (bool, error) {
	h.Unpack(&h.looks.Cur, h.Pack(nil, state))
	return h.leads(h.looks, target)
}

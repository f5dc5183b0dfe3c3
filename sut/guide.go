package sut

import (
	"fmt"
	"math"

	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut/internal/abi"
)

// guide says how goroutines are picked beyond the prefix.
func guide(g *abi.SharedGuide, s Schedule) error {
	for _, list := range []struct {
		what          string
		length, limit int
	}{
		{"holds", len(s.Holds), abi.MaxHolds},
		{"changes of priorities", len(s.Priorities.changes()), abi.MaxChanges},
		{"rare events", len(s.Rare), abi.MaxRare},
		{"weights", len(s.Walk.weights()), abi.MaxWeights},
		{"interesting objects", len(s.Walk.objects()), abi.MaxObjects},
	} {
		if list.length > list.limit {
			return fmt.Errorf("the schedule has %d %s; the limit is %d", list.length, list.what, list.limit)
		}
	}
	g.Picks, g.Seed, g.Draws, g.After = picks(s), s.Seed, s.Draws, uint64(max(s.After, 0))
	g.Holds, g.Rares = uint32(len(s.Holds)), uint32(len(s.Rare))
	for i, h := range s.Holds {
		g.Hold[i] = abi.SharedHold{Goroutine: uint64(h.Goroutine), Nth: uint32(h.Nth),
			Reading: uint32(h.Reading)}
	}
	g.Changes = uint32(len(s.Priorities.changes()))
	for i, at := range s.Priorities.changes() {
		g.Change[i] = uint32(at)
	}
	for i, r := range s.Rare {
		g.Rare[i] = abi.SharedRare{Kind: uint32(r.Kind), At: uint32(r.At)}
	}
	g.Weights = uint32(len(s.Walk.weights()))
	for i, w := range s.Walk.weights() {
		g.Weight[i] = abi.SharedEvents{Goroutine: uint64(w.Goroutine), Events: uint32(w.Events)}
	}
	g.Objects = uint32(len(s.Walk.objects()))
	for i, o := range s.Walk.objects() {
		g.Object[i] = uint64(o)
	}
	g.EarlyTimers = uint32(max(s.EarlyTimers, 0))
	g.PreemptionLimit, g.DelayLimit = limit(s.Preemptions), limit(s.Delays)
	g.States, g.StatesFrom = flag(s.States != nil), uint32(max(s.StatesFrom, 0))
	return nil
}

func picks(s Schedule) uint32 {
	switch {
	case s.Priorities != nil:
		return abi.PicksByPriority
	case s.Seed == 0:
		return abi.PicksNext
	case s.Walk != nil:
		return abi.PicksWalk
	case s.PartialOrder:
		return abi.PicksPartialOrder
	}
	return abi.PicksUniformly
}

func (p *Priorities) changes() []int {
	if p == nil {
		return nil
	}
	return p.Changes
}

func (w *Walk) weights() []Weight {
	if w == nil {
		return nil
	}
	return w.Weights
}

func (w *Walk) objects() []model.ObjectID {
	if w == nil {
		return nil
	}
	return w.Objects
}

// limit is a limit as the shared memory has it.
func limit(n *int) uint32 {
	if n == nil || uint64(*n) > math.MaxUint32 {
		return math.MaxUint32
	}
	return uint32(*n)
}

package testkit

import (
	"slices"

	"github.com/tandem-mc/tandem/explore/internal/core"
)

// picker has goroutines held, and picks at random: see core.Hold and core.Order.
type picker struct {
	*Worker
	state      uint64                      // of the pseudo-random numbers
	released   []bool                      // of the holds of the schedule
	priorities map[core.GoroutineID]uint64 // of goroutines, or of their pending operations
	left       map[core.GoroutineID]int    // interesting transitions of those that have begun
	intended   core.GoroutineID            // 0: to be drawn
}

func newPicker(w *Worker) *picker {
	p := &picker{Worker: w, state: w.schedule.Seed, released: make([]bool, len(w.schedule.Holds)),
		priorities: map[core.GoroutineID]uint64{}, left: map[core.GoroutineID]int{}}
	p.left[1] = p.weight(1)
	return p
}

// notHeld leaves out goroutines that are held. If that leaves nothing, it releases one.
func (p *picker) notHeld(list []core.Alternative) []core.Alternative {
	free := slices.DeleteFunc(slices.Clone(list), func(a core.Alternative) bool {
		for i := range p.schedule.Holds {
			if p.isHeld(i, a.Goroutine) {
				return true
			}
		}
		return false
	})
	if len(free) > 0 {
		return free
	}
	for i, h := range p.schedule.Holds {
		if p.alternative(h.Goroutine, list) != nil && p.isHeld(i, h.Goroutine) {
			for j, other := range p.schedule.Holds {
				p.released[j] = p.released[j] || other == h
			}
			return p.notHeld(list)
		}
	}
	return free
}

// isHeld reports whether a hold keeps a goroutine back now.
func (p *picker) isHeld(i int, g core.GoroutineID) bool {
	next := 1
	for _, t := range p.Log.Transitions {
		next += btoi(t.Goroutine == g)
	}
	return !p.released[i] && p.schedule.Holds[i] == core.Hold{Goroutine: g, Nth: next}
}

// draw is a pseudo-random number below n.
func (p *picker) draw(n int) int {
	p.state = core.Mix(p.state + 1)
	return int(p.state % uint64(n))
}

// random is for transition n, counted from 0.
func (p *picker) random(n int, list []core.Alternative) core.Action {
	if p.schedule.Priorities != nil {
		return p.byPriority(n, list)
	}
	clock := p.alternative(EarlyClock, list)
	if clock != nil && len(list) > 1 {
		p.Log.RarePoints[core.EarlyTimer]++
		now := core.Rare{Kind: core.EarlyTimer, At: p.Log.RarePoints[core.EarlyTimer]}
		if slices.Contains(p.schedule.Rare, now) {
			return core.Action{Goroutine: EarlyClock}
		}
		list = slices.DeleteFunc(slices.Clone(list),
			func(a core.Alternative) bool { return a.Goroutine == EarlyClock })
	}
	var a core.Alternative
	switch p.schedule.Order {
	case core.PartialOrder:
		a = p.byPartialOrder(n, list)
	case core.Walk:
		a = p.walk(n, list)
	default:
		a = list[p.draw(len(list))]
		p.Log.Weight *= float64(len(list) * a.Choices)
	}
	return core.Action{Goroutine: a.Goroutine, Choice: p.draw(a.Choices)}
}

func (p *picker) byPriority(n int, list []core.Alternative) core.Action {
	best := p.highest(list, func(id core.GoroutineID) uint64 {
		return core.Mix(p.schedule.Seed+core.Mix(uint64(id))) | 1<<63
	})
	for _, t := range p.Log.Transitions {
		if t.Goroutine == 0 {
			n--
		}
	}
	if i := slices.Index(p.schedule.Priorities.Changes, n+1); i >= 0 {
		p.priorities[best.Goroutine] = uint64(i + 1)
	}
	return core.Action{Goroutine: best.Goroutine, Choice: p.draw(best.Choices)}
}

// highest returns the one with the highest priority; first gives it to those that have none yet.
func (p *picker) highest(list []core.Alternative, first func(core.GoroutineID) uint64) core.Alternative {
	for _, a := range list {
		if p.priorities[a.Goroutine] == 0 {
			p.priorities[a.Goroutine] = first(a.Goroutine)
		}
	}
	return slices.MaxFunc(list, func(a, b core.Alternative) int {
		if p.priorities[a.Goroutine] > p.priorities[b.Goroutine] {
			return 1
		}
		return -1
	})
}

// byPartialOrder takes the pending operation of the highest priority.
func (p *picker) byPartialOrder(n int, list []core.Alternative) core.Alternative {
	if n > 0 {
		last := p.Log.Transitions[n-1]
		delete(p.priorities, last.Goroutine)
		for _, g := range p.goroutines {
			if s := (core.Sleeper{Accesses: p.pendingOf(g).Accesses}); s.Wakes(last.Accesses) {
				delete(p.priorities, g.id)
			}
		}
	}
	return p.highest(list, func(id core.GoroutineID) uint64 {
		return core.Mix(p.schedule.Seed^core.Mix(uint64(id)+core.Mix(uint64(n)))) | 1
	})
}

// walk takes a goroutine that does not get ahead of the intended one.
func (p *picker) walk(n int, list []core.Alternative) core.Alternative {
	if n > 0 {
		p.count(p.Log.Transitions[n-1])
	}
	if p.intended == 0 {
		p.intended = p.drawIntended()
	}
	eligible := slices.DeleteFunc(slices.Clone(list), func(a core.Alternative) bool {
		return a.Goroutine != p.intended && p.interesting(p.pendingAccesses(a.Goroutine))
	})
	if len(eligible) > 0 {
		return eligible[p.draw(len(eligible))]
	}
	total := 0
	for _, a := range list {
		total += max(p.left[a.Goroutine], 1)
	}
	at := p.draw(total)
	for _, a := range list {
		if at -= max(p.left[a.Goroutine], 1); at < 0 {
			p.intended = a.Goroutine
			return a
		}
	}
	panic("the weights changed while they were counted")
}

// count takes note of a transition: what is left of what it has executed, and of those that it has
// started.
func (p *picker) count(t core.Transition) {
	if p.interesting(t.Accesses) {
		p.left[t.Goroutine] = max(p.left[t.Goroutine]-1, 0)
		if p.intended == t.Goroutine {
			p.intended = 0
		}
	}
	for _, id := range t.Starts {
		if _, known := p.left[id]; known {
			continue // it was woken
		}
		p.left[id] = p.weight(id)
		if p.left[id] == 0 || p.left[t.Goroutine] == 0 {
			continue
		}
		if p.intended == t.Goroutine && p.draw(p.left[t.Goroutine]) < p.left[id] {
			p.intended = id
		}
		p.left[t.Goroutine] = max(p.left[t.Goroutine]-p.left[id], 0)
	}
}

// drawIntended draws a goroutine by what is left to it; 0 if nothing is left to any.
func (p *picker) drawIntended() core.GoroutineID {
	left := func(g *simGoroutine) int { return p.left[g.id] * btoi(!g.returned) }
	total := 0
	for _, g := range p.goroutines {
		total += left(g)
	}
	if total == 0 {
		return 0
	}
	at := p.draw(total)
	for _, g := range p.goroutines {
		if at -= left(g); at < 0 {
			return g.id
		}
	}
	panic("the weights changed while they were counted")
}

func (p *picker) weight(id core.GoroutineID) int {
	for _, w := range p.schedule.Weights {
		if w.Goroutine == id {
			return w.Events
		}
	}
	return 0
}

func (p *picker) interesting(accesses []core.Access) bool {
	return slices.ContainsFunc(accesses,
		func(a core.Access) bool { return slices.Contains(p.schedule.Objects, a.Object) })
}

func (p *picker) pendingAccesses(id core.GoroutineID) []core.Access {
	for _, g := range p.goroutines {
		if g.id == id {
			return p.pendingOf(g).Accesses
		}
	}
	return nil
}

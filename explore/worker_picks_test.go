package explore

import "slices"

// simCost is what picks have cost: see Limits.
type simCost struct{ preemptions, delays int }

func (c simCost) plus(other simCost) simCost {
	return simCost{c.preemptions + other.preemptions, c.delays + other.delays}
}

// cost is that of picking one of the enabled goroutines.
func (w *worker) cost(a Alternative, enabled []Alternative) (c simCost) {
	if a.Goroutine == 0 || len(enabled) == 1 {
		return c
	}
	var order []GoroutineID // of creation, beginning with the one that ran last
	for _, g := range append(slices.Clone(w.goroutines), w.goroutines...) {
		if len(order) > 0 || w.last == nil || w.last.returned || g == w.last {
			order = append(order, g.id)
		}
	}
	order = slices.DeleteFunc(order, func(id GoroutineID) bool { return w.alternative(id, enabled) == nil })
	c.delays = slices.Index(order, a.Goroutine)
	if w.last != nil && a.Goroutine != w.last.id && !w.last.continuing && w.alternative(w.last.id, enabled) != nil {
		c.preemptions = 1
	}
	return c
}

func (w *worker) alternative(id GoroutineID, enabled []Alternative) *Alternative {
	for i := range enabled {
		if enabled[i].Goroutine == id {
			return &enabled[i]
		}
	}
	return nil
}

func (w *worker) affordable(a Alternative, enabled []Alternative) bool {
	c, l := w.spent.plus(w.cost(a, enabled)), w.schedule.Limits
	return (l.Preemptions == nil || c.preemptions <= *l.Preemptions) && (l.Delays == nil || c.delays <= *l.Delays)
}

// draw is a pseudo-random number below n.
func (w *worker) draw(n int) int {
	w.random = mix(w.random + 1)
	return int(w.random % uint64(n))
}

// pickRandomly picks a goroutine, and then one of its alternatives.
func (w *worker) pickRandomly(list []Alternative) Action {
	a := list[w.draw(len(list))]
	w.log.Weight *= float64(len(list) * a.Choices)
	return Action{Goroutine: a.Goroutine, Choice: w.draw(a.Choices)}
}

// pickByPriority is for transition n, counted from 0.
func (w *worker) pickByPriority(n int, list []Alternative) Action {
	priority := func(a Alternative) uint64 {
		if w.priorities[a.Goroutine] == 0 {
			w.priorities[a.Goroutine] = mix(w.schedule.Seed+mix(uint64(a.Goroutine))) | 1<<63
		}
		return w.priorities[a.Goroutine]
	}
	best := slices.MaxFunc(list, func(a, b Alternative) int {
		if priority(a) > priority(b) {
			return 1
		}
		return -1
	})
	for _, t := range w.log.Transitions {
		if t.Goroutine == 0 {
			n--
		}
	}
	if i := slices.Index(w.schedule.Priorities.Changes, n+1); i >= 0 {
		w.priorities[best.Goroutine] = uint64(i + 1)
	}
	return Action{Goroutine: best.Goroutine, Choice: w.draw(best.Choices)}
}

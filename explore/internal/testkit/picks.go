package testkit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tandem-mc/tandem/explore/internal/core"
)

// SimCost is what picks have cost: see Limits.
type SimCost struct{ Preemptions, Delays int }

// Plus is the sum of two costs.
func (c SimCost) Plus(other SimCost) SimCost {
	return SimCost{c.Preemptions + other.Preemptions, c.Delays + other.Delays}
}

// cost is that of picking one of the enabled goroutines.
func (w *Worker) cost(a core.Alternative, enabled []core.Alternative) (c SimCost) {
	if a.Goroutine == 0 || len(enabled) == 1 {
		return c
	}
	var order []core.GoroutineID // of creation, beginning with the one that ran last
	for _, g := range append(slices.Clone(w.goroutines), w.goroutines...) {
		if len(order) > 0 || w.last == nil || w.last.returned || g == w.last {
			order = append(order, g.id)
		}
	}
	order = slices.DeleteFunc(order, func(id core.GoroutineID) bool {
		return w.alternative(id,
			enabled) == nil
	})
	c.Delays = slices.Index(order, a.Goroutine)
	if w.last != nil && a.Goroutine != w.last.id && !w.last.continuing &&
		w.alternative(w.last.id, enabled) != nil {
		c.Preemptions = 1
	}
	return c
}

func (w *Worker) alternative(id core.GoroutineID, enabled []core.Alternative) *core.Alternative {
	for i := range enabled {
		if enabled[i].Goroutine == id {
			return &enabled[i]
		}
	}
	return nil
}

func (w *Worker) affordable(a core.Alternative, enabled []core.Alternative) bool {
	c, l := w.spent.Plus(w.cost(a, enabled)), w.schedule.Limits
	return (l.Preemptions == nil || c.Preemptions <= *l.Preemptions) &&
		(l.Delays == nil || c.Delays <= *l.Delays)
}

// draw is a pseudo-random number below n.
func (w *Worker) draw(n int) int {
	w.random = core.Mix(w.random + 1)
	return int(w.random % uint64(n))
}

// pickRandomly picks a goroutine, and then one of its alternatives.
func (w *Worker) pickRandomly(list []core.Alternative) core.Action {
	a := list[w.draw(len(list))]
	w.Log.Weight *= float64(len(list) * a.Choices)
	return core.Action{Goroutine: a.Goroutine, Choice: w.draw(a.Choices)}
}

// pickByPriority is for transition n, counted from 0.
func (w *Worker) pickByPriority(n int, list []core.Alternative) core.Action {
	priority := func(a core.Alternative) uint64 {
		if w.priorities[a.Goroutine] == 0 {
			w.priorities[a.Goroutine] = core.Mix(w.schedule.Seed+core.Mix(uint64(a.Goroutine))) | 1<<63
		}
		return w.priorities[a.Goroutine]
	}
	best := slices.MaxFunc(list, func(a, b core.Alternative) int {
		if priority(a) > priority(b) {
			return 1
		}
		return -1
	})
	for _, t := range w.Log.Transitions {
		if t.Goroutine == 0 {
			n--
		}
	}
	if i := slices.Index(w.schedule.Priorities.Changes, n+1); i >= 0 {
		w.priorities[best.Goroutine] = uint64(i + 1)
	}
	return core.Action{Goroutine: best.Goroutine, Choice: w.draw(best.Choices)}
}

// Path lists what was executed; "|" is where the given prefix ends.
func (w *Worker) Path(prefix int) string {
	var b strings.Builder
	for i, t := range w.Log.Transitions {
		if i == prefix && prefix > 0 {
			b.WriteString(" |")
		}
		b.WriteString(" " + w.NameOf(t.Action))
		if t.Choices > 1 {
			fmt.Fprintf(&b, "/%d", t.Choice)
		}
	}
	return b.String()
}

// NameOf is the name in the program of the goroutine that an action picks.
func (w *Worker) NameOf(a core.Action) string {
	for _, g := range w.goroutines {
		if g.id == a.Goroutine {
			return g.name
		}
	}
	return "clock"
}

package random

import (
	"slices"

	"github.com/tandem-mc/tandem/explore/internal/codec"
	"github.com/tandem-mc/tandem/explore/internal/core"
)

// NewPOS returns a search that runs n executions by partial order sampling (Yuan, Yang, Gu: Partial
// Order Aware Concurrency Sampling, CAV 2018), the same ones for the same seed: of the pending
// operations, one of the highest priority is executed, and those that conflict with it get new
// priorities. So the orders of operations that conflict are drawn, and none is drawn seldom only
// because others take many steps.
func NewPOS(n int, seed uint64, b core.Bounds) *Search {
	s := newSampling("pos", n, seed, nil, b)
	s.order, s.leg.order, s.biased = core.PartialOrder, core.PartialOrder, true
	return s
}

// NewSURW returns a search that runs n executions by selectively uniform random walks (Zhao, Wolff,
// Mathur, Roychoudhury: Selectively Uniform Concurrency Testing, ASPLOS 2025), the same ones for
// the same seed. For each execution some objects are drawn of those about which goroutines
// conflict, and all orders of the accesses to these are as likely as each other, as far as it is
// known from earlier executions how many there are.
func NewSURW(n int, seed uint64, b core.Bounds) *Search {
	s := newSampling("surw", n, seed, nil, b)
	s.events = &events{}
	s.order, s.leg.order, s.leg.events, s.biased = core.Walk, core.Walk, s.events, true
	return s
}

// events is how often goroutines have accessed objects: what a leg draws is from those before it.
// Its methods do nothing without it.
type events struct {
	known, seen census
	// What follows from known:
	contested []core.ObjectID
	parents   map[core.GoroutineID]core.GoroutineID
}

// measured is how many executions are counted: the first ones of the search.
const measured = 64

// census counts transitions by who executed them and what they accessed.
type census struct {
	executions int
	groups     []group
	births     []birth
}

// group is the transitions of a goroutine that access the same objects, which are sorted.
type group struct {
	goroutine core.GoroutineID
	objects   []core.ObjectID
	writes    bool // some of them do more than read
	count     int
}

// birth is who has started a goroutine.
type birth struct{ goroutine, parent core.GoroutineID }

// measure looks at an execution.
func (e *events) measure(x core.Execution) {
	if e == nil || e.known.executions+e.seen.executions >= measured {
		return
	}
	var found census
	found.executions = 1
	begun := map[core.GoroutineID]bool{}
	at := map[uint64][]int{} // groups by a hash
	for i := range x.Transitions {
		t := &x.Transitions[i]
		begun[t.Goroutine] = true
		for _, id := range t.Starts {
			if !begun[id] {
				begun[id] = true
				found.births = append(found.births, birth{id, t.Goroutine})
			}
		}
		if t.Goroutine != 0 && len(t.Accesses) > 0 {
			found.note(groupOf(t), at)
		}
	}
	e.seen.join(&found)
}

func groupOf(t *core.Transition) group {
	g := group{goroutine: t.Goroutine, count: 1}
	for _, a := range t.Accesses {
		if a.Object != 0 {
			g.objects = append(g.objects, a.Object)
		}
		g.writes = g.writes || a.Kind != core.Read
	}
	slices.Sort(g.objects)
	g.objects = slices.Compact(g.objects)
	return g
}

func (g *group) hash() uint64 {
	h := core.Mix(uint64(g.goroutine))
	for _, o := range g.objects {
		h = core.Mix(h ^ uint64(o))
	}
	return h
}

func (g *group) alike(other *group) bool {
	return g.goroutine == other.goroutine && slices.Equal(g.objects, other.objects)
}

// note adds a group; at has the places of groups by their hashes.
func (c *census) note(g group, at map[uint64][]int) {
	h := g.hash()
	for _, i := range at[h] {
		if known := &c.groups[i]; known.alike(&g) {
			known.count += g.count
			known.writes = known.writes || g.writes
			return
		}
	}
	at[h] = append(at[h], len(c.groups))
	c.groups = append(c.groups, g)
}

// join adds what another census has counted.
func (c *census) join(other *census) {
	c.executions += other.executions
	at := map[uint64][]int{}
	for i := range c.groups {
		h := c.groups[i].hash()
		at[h] = append(at[h], i)
	}
	for _, g := range other.groups {
		c.note(g, at)
	}
	parents := c.parents()
	for _, b := range other.births {
		if _, known := parents[b.goroutine]; !known {
			c.births = append(c.births, b)
		}
	}
}

func (c *census) parents() map[core.GoroutineID]core.GoroutineID {
	parents := make(map[core.GoroutineID]core.GoroutineID, len(c.births))
	for _, b := range c.births {
		parents[b.goroutine] = b.parent
	}
	return parents
}

// goOn begins the next leg.
func (e *events) goOn() {
	if e != nil {
		e.known.join(&e.seen)
		e.seen = census{}
		e.contested, e.parents = e.known.contested(), e.known.parents()
	}
}

// contested lists the objects that several goroutines access and one of them changes, in the order
// in which they were first seen.
func (c *census) contested() (list []core.ObjectID) {
	var contest core.Contest
	seen := map[core.ObjectID]bool{}
	for i := range c.groups {
		g := &c.groups[i]
		for _, o := range g.objects {
			contest.Add(g.goroutine, o, g.writes)
			if !seen[o] {
				seen[o], list = true, append(list, o)
			}
		}
	}
	return slices.DeleteFunc(list, func(o core.ObjectID) bool { return !contest.Contested(o) })
}

// draw has the schedule with a seed order the accesses to some objects.
func (e *events) draw(seed uint64, s *core.Schedule) {
	if e == nil {
		return
	}
	random := Seeds{core.Mix(seed ^ 0x73757277)}
	s.Objects = choose(slices.Clone(e.contested), &random)
	s.Weights = e.weights(s.Objects)
}

// choose draws objects: one half of the time one of them, twice as many half as often, and else
// as many as there may be.
func choose(objects []core.ObjectID, random *Seeds) []core.ObjectID {
	n := 1
	for n < len(objects) && random.Seed()%2 == 0 {
		n *= 2
	}
	n = min(n, len(objects), core.MaxObjects)
	for i := range n {
		j := i + int(random.Seed()%uint64(len(objects)-i))
		objects[i], objects[j] = objects[j], objects[i]
	}
	return slices.Clip(objects[:n])
}

// weights is how many transitions of goroutines and their descendants access some objects, on
// average and rounded, but at least 1 where there are any.
func (e *events) weights(objects []core.ObjectID) (list []core.Weight) {
	c, at := &e.known, map[core.GoroutineID]int{}
	for i := range c.groups {
		g := &c.groups[i]
		chosen := func(o core.ObjectID) bool { return slices.Contains(objects, o) }
		if !slices.ContainsFunc(g.objects, chosen) {
			continue
		}
		for id, more := g.goroutine, true; more; id, more = e.parents[id] {
			place, known := at[id]
			if !known {
				place = len(list)
				at[id], list = place, append(list, core.Weight{Goroutine: id})
			}
			list[place].Events += g.count
		}
	}
	for i := range list {
		n := list[i].Events
		list[i].Events = max(1, (2*n+c.executions)/(2*c.executions))
	}
	return list[:min(len(list), core.MaxWeights)]
}

func (e *events) save(to *codec.Encoder) {
	if e == nil {
		return
	}
	for _, c := range []*census{&e.known, &e.seen} {
		to.Count(c.executions)
		to.Count(len(c.groups))
		for _, g := range c.groups {
			to.ID(uint64(g.goroutine))
			to.Truth(g.writes)
			to.Count(g.count)
			to.Count(len(g.objects))
			for _, o := range g.objects {
				to.ID(uint64(o))
			}
		}
		to.Count(len(c.births))
		for _, b := range c.births {
			to.ID(uint64(b.goroutine))
			to.ID(uint64(b.parent))
		}
	}
}

func (e *events) resume(d *codec.Decoder) {
	if e == nil {
		return
	}
	for _, c := range []*census{&e.known, &e.seen} {
		*c = census{executions: d.Count(measured)}
		for range d.Length() {
			g := group{goroutine: core.GoroutineID(d.ID()), writes: d.Truth(),
				count: d.Count(measured * core.MaxTransitions)}
			for range d.Length() {
				g.objects = append(g.objects, core.ObjectID(d.ID()))
			}
			c.groups = append(c.groups, g)
		}
		for range d.Length() {
			c.births = append(c.births, birth{core.GoroutineID(d.ID()), core.GoroutineID(d.ID())})
		}
		if c.executions == 0 && len(c.groups)+len(c.births) > 0 {
			d.Fail("transitions are counted of no execution")
		}
		c.breakCircles(d)
	}
	e.contested, e.parents = e.known.contested(), e.known.parents()
}

// breakCircles refuses births by which a goroutine would be its own ancestor.
func (c *census) breakCircles(d *codec.Decoder) {
	parents := c.parents()
	for id := range parents {
		steps := 0
		for at, more := id, true; more && d.Problem == ""; at, more = parents[at] {
			if steps++; steps > len(parents)+1 {
				d.Fail("it is damaged: a goroutine has started itself")
			}
		}
	}
}

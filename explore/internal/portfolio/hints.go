package portfolio

import (
	"slices"

	"github.com/tandem-mc/tandem/explore/internal/core"
	"github.com/tandem-mc/tandem/explore/internal/lockgraph"
	"github.com/tandem-mc/tandem/explore/internal/trace"
)

// hint is what an execution shows that might go wrong, and how to get there.
type hint struct {
	aim
	class   uint64 // equal for hints of which one is enough
	promise int    // greater: more likely to be a violation
	round   int    // what is less promising than all of another round comes in a later one
}

// finder finds the hints of an execution.
type finder struct {
	e       *core.Execution
	trace   *trace.Trace
	holds   []core.Hold // of each transition: what keeps its goroutine back before it
	of      map[core.GoroutineID][]int
	after   []int // the next transition of its goroutine; -1: there is none
	reach   []reached
	pairs   []pair
	classes []*class
	classOf map[uint64]*class
	hints   []hint
	touched map[touch]bool
}

// pair is a race between two transitions.
type pair struct{ first, second int }

// reached is what is known of a transition's part in races, and so whether it may be overtaken.
type reached struct {
	first  bool // of a race
	second bool
	// it accesses an object that several goroutines do, of which one changes it
	contested bool
	closes    bool // something that a channel operation meets and that waits for nothing
	again     bool // the goroutine has used an object of it before
}

type touch struct {
	goroutine core.GoroutineID
	object    core.ObjectID
}

// visit is that a goroutine comes to a place in the code.
type visit struct {
	goroutine core.GoroutineID
	place     uint64
}

// Bounds on what is looked at.
const (
	mostClocks = 1 << 24 // transitions x goroutines
	mostCycles = 32
)

// find returns the hints of an execution.
func find(e *core.Execution, early bool) []hint {
	f := &finder{e: e, trace: trace.New(), touched: map[touch]bool{}}
	f.number()
	f.cycles()
	f.order()
	f.counters()
	f.alternatives()
	if early && e.Timers > 0 {
		f.timers()
	}
	return f.hints
}

// number finds what keeps the goroutine of each transition back before it.
func (f *finder) number() {
	n := len(f.e.Transitions)
	f.holds, f.after, f.reach = make([]core.Hold, n), make([]int, n), make([]reached, n)
	f.of = map[core.GoroutineID][]int{}
	for i := range f.e.Transitions {
		g := f.e.Transitions[i].Goroutine
		f.holds[i], f.after[i] = f.holdBefore(g, f.e.Transitions[i].ReadsClock), -1
		if list := f.of[g]; len(list) > 0 {
			f.after[list[len(list)-1]] = i
		}
		f.of[g] = append(f.of[g], i)
	}
}

// holdBefore keeps a goroutine back before the transition that comes after those that are known of
// it, which reads the clock or does not. Readings are counted by themselves (core.Hold).
func (f *finder) holdBefore(g core.GoroutineID, reads bool) core.Hold {
	h := core.Hold{Goroutine: g, Nth: 1}
	readings := 0
	if list := f.of[g]; len(list) > 0 {
		last := list[len(list)-1]
		h.Nth, readings = f.holds[last].Nth, f.holds[last].Reading
		if !f.e.Transitions[last].ReadsClock {
			h.Nth++
		}
	}
	if reads {
		h.Reading = readings + 1
	}
	return h
}

// hold keeps a goroutine back before its n-th transition, which may be one that was pending when
// the execution ended.
func (f *finder) hold(g core.GoroutineID, n int) core.Hold {
	if list := f.of[g]; n <= len(list) {
		return f.holds[list[n-1]]
	}
	return f.holdBefore(g, false)
}

// cycles holds the goroutines of a potential deadlock back before they take their second lock.
func (f *finder) cycles() {
	for _, c := range lockgraph.Cycles(f.e, mostCycles) {
		h := hint{promise: promiseCycle}
		var places []uint64
		for _, w := range c {
			h.holds = append(h.holds, f.hold(w.Goroutine, w.Nth))
			places = append(places, w.Place)
		}
		slices.Sort(places)
		h.class = uint64(len(places))
		for _, p := range places {
			h.class = core.Mix(h.class ^ p)
		}
		f.hints = append(f.hints, h)
	}
}

// What is promising.
const (
	promiseCycle   = 100
	promiseCounter = 60
	promiseClose   = 50
	promiseAgain   = 40
	promiseBetween = 30
	promiseRace    = 20

	promiseContested = 10
)

// order holds back what something else might overtake: a transition that is the first of a race.
func (f *finder) order() {
	f.races()
	f.contest()
	f.classify()
	for _, c := range f.classes {
		if c.races {
			f.delay(c.place, 0, c.promise, c.events[0])
		} else {
			f.delay(c.place, 1, c.promise, c.events[0])
		}
		if len(c.goroutines) > 1 {
			f.delay(c.place, 1, c.promise, c.goroutines...)
			f.delay(c.place, 2, c.promise, c.goroutines[len(c.goroutines)-1])
		}
		if len(c.events) > 1 {
			f.delay(c.place, 3, c.promise, c.events[len(c.events)-1])
			f.delay(c.place, 4, c.promise, c.events[len(c.events)/2])
		}
	}
	f.between()
}

// contest finds the transitions that access what several goroutines do. Only the last of them is in
// a race with what comes after it, but what comes before may be overtaken with it.
func (f *finder) contest() {
	var contest core.Contest
	for i := range f.e.Transitions {
		x := &f.e.Transitions[i]
		for _, a := range x.Accesses {
			contest.Add(x.Goroutine, a.Object, a.Kind != core.Read)
		}
	}
	for i := range f.e.Transitions {
		x := &f.e.Transitions[i]
		f.reach[i].contested = !x.Barrier && slices.ContainsFunc(x.Accesses, func(a core.Access) bool {
			return contest.Contested(a.Object)
		})
	}
}

// class is what the transitions at a place have in common.
type class struct {
	place      uint64
	events     []int // which are the first of a race, or others if none is
	goroutines []int // the first event of each
	races      bool  // one is the first
	promise    int
}

// classify puts the transitions that may be overtaken into classes.
func (f *finder) classify() {
	known := map[uint64]*class{}
	seen := map[visit]bool{}
	for i := range f.reach {
		r, x := &f.reach[i], &f.e.Transitions[i]
		if !r.first && !r.second && !r.contested {
			continue
		}
		c := known[x.Place]
		if c == nil {
			c = &class{place: x.Place}
			known[x.Place], f.classes = c, append(f.classes, c)
		}
		if r.first && !c.races {
			c.races, c.events = true, nil
		}
		if r.first || !c.races {
			c.events = append(c.events, i)
		}
		c.promise = max(c.promise, r.promise())
		at := visit{x.Goroutine, x.Place}
		if !seen[at] && len(c.goroutines) < core.MaxHolds {
			c.goroutines = append(c.goroutines, i)
		}
		seen[at] = true
	}
	f.classOf = known
}

// between has the first transition of a race come right after the second: its goroutine is held
// back, and so are all that would go on behind the second.
func (f *finder) between() {
	for _, p := range f.pairs {
		next := f.next(p.second)
		if next < 0 {
			continue
		}
		first, c := &f.e.Transitions[p.first], f.classOf[f.e.Transitions[next].Place]
		h := hint{class: core.Mix(core.Mix(first.Place) + core.Mix(c.place+13)), round: 1,
			promise: promiseBetween}
		h.holds = append(h.holds, f.holds[p.first])
		for _, i := range c.goroutines {
			if g := f.e.Transitions[i].Goroutine; g != first.Goroutine {
				h.holds = append(h.holds, f.holds[i])
			}
		}
		f.hints = append(f.hints, h)
	}
}

// next is the transition of the same goroutine after one, of those in a race; -1 if there is none.
func (f *finder) next(i int) int {
	for i = f.after[i]; i >= 0 && !f.reach[i].first && !f.reach[i].second; i = f.after[i] {
	}
	return i
}

func (r *reached) promise() int {
	switch {
	case !r.first:
		return promiseContested
	case r.closes:
		return promiseClose
	case r.again:
		return promiseAgain
	}
	return promiseRace
}

// delay adds a hint that holds goroutines back before events.
func (f *finder) delay(place uint64, round, promise int, events ...int) {
	h := hint{class: core.Mix(core.Mix(place+uint64(round)) + 7), round: round, promise: promise}
	for _, i := range events {
		h.holds = append(h.holds, f.holds[i])
	}
	f.hints = append(f.hints, h)
}

// races notes which transitions race, in pairs, and which use an object again. It stops at
// mostClocks: what comes after is not looked at.
func (f *finder) races() {
	goroutines := map[core.GoroutineID]bool{}
	for i := range f.e.Transitions {
		x := &f.e.Transitions[i]
		if goroutines[x.Goroutine] = true; (i+1)*len(goroutines) > mostClocks {
			return
		}
		races, err := f.trace.Push(x)
		if err != nil {
			return // the systematic search says what is wrong
		}
		for _, a := range x.Accesses {
			t := touch{x.Goroutine, a.Object}
			f.reach[i].again = f.reach[i].again || f.touched[t]
			f.touched[t] = true
		}
		f.noteRaces(races, i, len(x.Needs) == 0 && writes(x.Accesses))
	}
	for i := range f.e.Pending {
		p := &f.e.Pending[i]
		if races, err := f.trace.PendingRaces(p, false); err == nil {
			f.noteRaces(races, -1, len(p.Needs) == 0 && writes(p.Accesses))
		}
	}
}

func writes(list []core.Access) bool {
	return slices.ContainsFunc(list, func(a core.Access) bool { return a.Kind == core.Write })
}

// noteRaces takes races with transition second; -1: with a pending operation. free: that waits for
// nothing.
func (f *finder) noteRaces(races []trace.Race, second int, free bool) {
	for _, r := range races {
		x := &f.reach[r.Event]
		x.first = true
		x.closes = x.closes || free && slices.ContainsFunc(f.e.Transitions[r.Event].Needs,
			func(n core.Need) bool { return n.Mask&(core.ReadySend|core.ReadyReceive) != 0 })
		if second >= 0 {
			f.reach[second].second = true
			f.pairs = append(f.pairs, pair{int(r.Event), second})
		}
	}
}

// counters holds back what is added to a counter from which others take without waiting for that.
func (f *finder) counters() {
	additions := map[core.ObjectID][]int{}
	n := len(f.trace.Events)
	for i := range n {
		x := &f.e.Transitions[i]
		for _, a := range x.Accesses {
			if a.Kind != core.Commute || a.Ready&core.CountsWaiting != 0 {
				continue
			}
			if a.Delta > 0 {
				additions[a.Object] = append(additions[a.Object], i)
				continue
			}
			for _, add := range additions[a.Object] {
				if f.e.Transitions[add].Goroutine != x.Goroutine &&
					!f.trace.Includes(f.trace.ClockOf(int32(i)), int32(add)) {
					f.delay(f.e.Transitions[add].Place, 0, promiseCounter, add)
					break
				}
			}
		}
	}
}

// alternatives takes each other alternative of an operation, once for each place.
func (f *finder) alternatives() {
	for i := range f.e.Transitions {
		x := &f.e.Transitions[i]
		for choice := range min(x.Choices, 8) {
			if choice == x.Choice || x.Goroutine == 0 {
				continue
			}
			f.hints = append(f.hints, hint{
				aim:   aim{after: i, turn: core.Action{Goroutine: x.Goroutine, Choice: choice}},
				class: core.Mix(core.Mix(x.Place+uint64(choice)) + 11), promise: promiseRace,
			})
		}
	}
}

// timers has time pass before each place, at the first transition there. These orders come last:
// they rest on a goroutine being held up for as long as a timer takes.
func (f *finder) timers() {
	seen := map[uint64]bool{}
	for i := range f.e.Transitions {
		x := &f.e.Transitions[i]
		if x.Goroutine == 0 || seen[x.Place] {
			continue
		}
		seen[x.Place] = true
		h := hint{class: core.Mix(core.Mix(x.Place) + 17), round: 5, promise: promiseRace}
		if f.reach[i].first {
			h.promise = promiseAgain
		}
		h.early, h.holds = true, []core.Hold{f.holds[i]}
		f.hints = append(f.hints, h)
	}
}

package dpor

import (
	"slices"

	"github.com/tandem-mc/tandem/explore/internal/core"
	"github.com/tandem-mc/tandem/explore/internal/trace"
)

// Additions to a counter commute, until one takes it below zero: a Done that overtakes the Add it
// answers panics. An addition that does is logged as a Write (as is one of a large number, which
// counts here as the others do); what remains to be found is a deficit: in an execution in which
// none does, another order of the same events in which one would. By Hall's theorem there is one
// exactly if what is taken cannot all be matched with what was added before, where before means
// happens-before. The events that lead there are then a set closed under happens-before, and the
// search is led to run these first.

// account is the matching for one counter.
type account struct {
	trace *trace.Trace
	takes []take
	gives []give
	// overdrawn are the clocks of sets of events that have to run, and no others, for the
	// account to be overdrawn.
	overdrawn []trace.Clock
	balanced  bool // it is not, in any order
	mixed     bool // something else than an addition has changed the counter
}

// take is an event that takes from the counter.
type take struct {
	event  int32
	amount int32       // not matched yet
	past   trace.Clock // the gives that it may be matched with are among these events
	late   bool        // past has been extended
}

// give is an event that adds to the counter, or what was there before: event -1.
type give struct {
	event   int32
	free    int32   // not matched yet
	taken   []match // what is, in the order of the takes
	visited int     // round in which it was last looked at
}

// match is how much of a give goes to a take.
type match struct {
	take   int
	amount int32
}

// accounts are those of objects in one execution. The memory is used again for the next one.
type accounts struct {
	trace *trace.Trace
	of    map[int32]*account
	all   []*account // the first len(of) are in use
	// safe tells whether all are, those that have not been opened too; perhaps: nobody has asked
	// yet.
	safe trace.Answer
}

// reset begins with another execution.
func (a *accounts) reset(t *trace.Trace) {
	a.trace = t
	clear(a.of)
	a.safe = trace.Perhaps
}

// open returns an account without anything in it.
func (a *accounts) open(object int32) *account {
	if len(a.of) == len(a.all) {
		a.all = append(a.all, &account{})
	}
	opened := a.all[len(a.of)]
	*opened = account{trace: a.trace, takes: opened.takes[:0], gives: opened.gives[:0],
		overdrawn: opened.overdrawn[:0]}
	a.of[object] = opened
	return opened
}

// isSafe reports whether nothing of what overdraws looks for can be found.
func (a *account) isSafe() bool { return a.balanced && !a.mixed }

// enter enters the uses of an object, up to where it is overdrawn already.
func (a *account) enter(object *trace.ObjectLog) {
	t := a.trace
	if first := t.Uses[object.Uses[0].Use]; first.Count > 0 {
		a.addGive(-1, first.Count)
	}
	for _, x := range object.Uses {
		u := t.Uses[x.Use]
		a.mixed = a.mixed || u.Delta != 0 && u.Kinds != 1<<core.Commute
		switch {
		case u.Count < 0 || u.Kinds&(1<<core.Write) != 0 && u.Delta < -u.Count:
			return
		case u.Delta > 0:
			a.addGive(x.Event, u.Delta)
		case u.Delta < 0:
			a.takes = append(a.takes, take{event: x.Event, amount: -u.Delta, past: t.ClockOf(x.Event)})
		}
	}
	a.balanced = true
}

func (a *account) addGive(event, amount int32) {
	a.gives = trace.Extend(a.gives)
	g := &a.gives[len(a.gives)-1]
	*g = give{event: event, free: amount, taken: g.taken[:0]}
}

// add has more of a give, or less, go to a take.
func (g *give) add(take int, amount int32) {
	i, found := slices.BinarySearchFunc(g.taken, take, func(m match, take int) int { return m.take - take })
	if !found {
		g.taken = slices.Insert(g.taken, i, match{take: take})
	}
	if g.taken[i].amount += amount; g.taken[i].amount == 0 {
		g.taken = slices.Delete(g.taken, i, i+1)
	}
}

// balance matches what is taken, and finds out how the account is overdrawn. A take that can
// do that is from then on held to the order in which it was executed, to find others.
func (a *account) balance() {
	round := 0
	for i := range a.takes {
		for x := &a.takes[i]; x.amount > 0; {
			round++
			matched := a.match(i, x.amount, round)
			x.amount -= matched
			if matched > 0 {
				continue
			}
			a.overdrawn, a.balanced = append(a.overdrawn, a.reached(i, round)), false
			if x.late {
				break
			}
			a.delay(x)
		}
	}
}

// delay adds to the past of a take all gives before it.
func (a *account) delay(x *take) {
	x.late = true
	past := trace.Zeros(nil, len(a.trace.Goroutines))
	trace.Clock(past).Join(x.past)
	for i := range a.gives {
		if g := &a.gives[i]; g.event >= 0 && g.event < x.event {
			trace.Clock(past).Join(a.trace.ClockOf(g.event))
		}
	}
	x.past = past
}

// match matches up to want of a take, and returns how much: with what is free, or
// else along an augmenting path.
func (a *account) match(i int, want int32, round int) int32 {
	for j := len(a.gives) - 1; j >= 0; j-- {
		if g := &a.gives[j]; g.free > 0 && a.mayMatch(i, g) {
			got := min(want, g.free)
			g.free -= got
			g.add(i, got)
			return got
		}
	}
	for j := len(a.gives) - 1; j >= 0; j-- {
		g := &a.gives[j]
		if g.visited == round || !a.mayMatch(i, g) {
			continue
		}
		g.visited = round
		for _, other := range g.taken {
			if got := a.match(other.take, min(want, other.amount), round); got > 0 {
				g.add(other.take, -got)
				g.add(i, got)
				return got
			}
		}
	}
	return 0
}

func (a *account) mayMatch(i int, g *give) bool {
	return g.event < 0 || a.trace.Includes(a.takes[i].past, g.event)
}

// reached is the past of the takes that a round without success has looked at.
func (a *account) reached(i, round int) trace.Clock {
	c := trace.Clock(trace.Zeros(nil, len(a.trace.Goroutines)))
	include := func(x *take) {
		c.Join(x.past)
		c.Join(a.trace.ClockOf(x.event))
	}
	include(&a.takes[i])
	for j := range a.gives {
		if g := &a.gives[j]; g.visited == round {
			for _, m := range g.taken {
				include(&a.takes[m.take])
			}
		}
	}
	return c
}

// accountOf returns the account of an object, in which takes are matched with gives.
func (a *accounts) accountOf(object int32) *account {
	of := a.of[object]
	if of == nil {
		of = a.open(object)
		of.enter(&a.trace.Objects[object])
		of.balance()
	}
	return of
}

// mayOverdraw reports whether a counter may get below zero in another order of the events. For the
// many executions in which none may, that is found out once.
func (a *accounts) mayOverdraw() bool {
	if a.safe == trace.Perhaps {
		a.safe = trace.No
		if a.allSafe() {
			a.safe = trace.Yes
		}
	}
	return a.safe != trace.Yes
}

func (a *accounts) allSafe() bool {
	last := int32(-1)
	for _, x := range a.trace.Counting {
		for _, u := range a.trace.UsesOf(x) {
			if !u.Counts() || u.Object == last {
				continue
			}
			if last = u.Object; !a.accountOf(last).isSafe() {
				return false
			}
		}
	}
	return true
}

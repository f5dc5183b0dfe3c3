package explore

import (
	"slices"

	"github.com/tandem-mc/tandem/internal/model"
)

// Additions to a counter commute, until one takes it below zero: a Done that
// overtakes the Add it answers panics. An addition that does is logged as a Write
// (as is one of a large number, which counts here as the others do); what remains to be found is a deficit: in an execution in which none does, another
// order of the same events in which one would. By Hall's theorem there is one
// exactly if what is taken cannot all be matched with what was added before, where
// before means happens-before. The events that lead there are then a set closed
// under happens-before, and the search is led to run these first.

// account is the matching for one counter.
type account struct {
	trace *trace
	takes []take
	gives []give
	// overdrawn are the clocks of sets of events that have to run, and no others, for the
	// account to be overdrawn.
	overdrawn []clock
	balanced  bool // it is not, in any order
	mixed     bool // something else than an addition has changed the counter
}

// take is an event that takes from the counter.
type take struct {
	event  int32
	amount int32 // not matched yet
	past   clock // the gives that it may be matched with are among these events
	late   bool  // past has been extended
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
	of  map[int32]*account
	all []*account // the first len(of) are in use
	// safe tells whether all are, those that have not been opened too; perhaps: nobody has asked yet.
	safe answer
}

func (a *accounts) reset() {
	clear(a.of)
	a.safe = perhaps
}

// open returns an account without anything in it.
func (a *accounts) open(object int32, t *trace) *account {
	if len(a.of) == len(a.all) {
		a.all = append(a.all, &account{})
	}
	opened := a.all[len(a.of)]
	*opened = account{trace: t, takes: opened.takes[:0], gives: opened.gives[:0], overdrawn: opened.overdrawn[:0]}
	a.of[object] = opened
	return opened
}

// accountOf returns the settled account of an object.
func (d *dpor) accountOf(object int32) *account {
	a := d.accounts.of[object]
	if a == nil {
		a = d.accounts.open(object, d.trace)
		a.enter(&d.trace.objects[object])
		a.settle()
	}
	return a
}

// mayOverdraw reports whether a counter may get below zero in another order of the events. For the many executions in which none
// may, that is found out once.
func (d *dpor) mayOverdraw() bool {
	if d.accounts.safe == perhaps {
		d.accounts.safe = no
		if d.allSafe() {
			d.accounts.safe = yes
		}
	}
	return d.accounts.safe != yes
}

func (d *dpor) allSafe() bool {
	last := int32(-1)
	for _, x := range d.trace.counting {
		for _, u := range d.trace.usesOf(x) {
			if !u.counts() || u.object == last {
				continue
			}
			if last = u.object; !d.accountOf(last).isSafe() {
				return false
			}
		}
	}
	return true
}

// isSafe reports whether nothing of what overdraws looks for can be found.
func (a *account) isSafe() bool { return a.balanced && !a.mixed }

// enter enters the uses of an object, up to where it is overdrawn already.
func (a *account) enter(object *objectLog) {
	t := a.trace
	if first := t.uses[object.uses[0].use]; first.count > 0 {
		a.give(-1, first.count)
	}
	for _, x := range object.uses {
		u := t.uses[x.use]
		a.mixed = a.mixed || u.delta != 0 && u.kinds != 1<<Commute
		switch {
		case u.count < 0 || u.kinds&(1<<Write) != 0 && u.delta < -u.count:
			return
		case u.delta > 0:
			a.give(x.event, u.delta)
		case u.delta < 0:
			a.takes = append(a.takes, take{event: x.event, amount: -u.delta, past: t.clockOf(x.event)})
		}
	}
	a.balanced = true
}

func (a *account) give(event, amount int32) {
	a.gives = extend(a.gives)
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

// settle matches what is taken, and finds out how the account is overdrawn. A take that can
// do that is from then on held to the order in which it was executed, to find others.
func (a *account) settle() {
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
	past := zeros(nil, len(a.trace.goroutines))
	clock(past).join(x.past)
	for i := range a.gives {
		if g := &a.gives[i]; g.event >= 0 && g.event < x.event {
			clock(past).join(a.trace.clockOf(g.event))
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
	return g.event < 0 || a.trace.includes(a.takes[i].past, g.event)
}

// reached is the past of the takes that a round without success has looked at.
func (a *account) reached(i, round int) clock {
	c := clock(zeros(nil, len(a.trace.goroutines)))
	include := func(x *take) {
		c.join(x.past)
		c.join(a.trace.clockOf(x.event))
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

// reverseDeficits sees to it that counters which become negative in another order
// of the events do so: beginning with the first event that is in the way, the next of
// those that lead there runs instead.
func (d *dpor) reverseDeficits(from int) {
	t := d.trace
	t.generation++
	for e := int32(from); e < int32(len(t.events)); e++ {
		for _, u := range t.usesOf(e) {
			object := &t.objects[u.object]
			if u.delta >= 0 || u.ready&model.CountsWaiting != 0 || object.seen == t.generation {
				continue
			}
			object.seen = t.generation
			for _, c := range d.accountOf(u.object).overdrawn {
				d.runFirst(c)
			}
		}
	}
}

// runFirst sees to it that the events of a clock are explored before all others.
func (d *dpor) runFirst(c clock) {
	t, e := d.trace, int32(0)
	for e < int32(len(t.events)) && t.includes(c, e) {
		e++
	}
	d.scratch = d.scratch[:0]
	for x := e + 1; x < int32(len(t.events)); x++ {
		if t.includes(c, x) {
			d.scratch = append(d.scratch, x)
		}
	}
	if len(d.scratch) > 0 {
		r, _ := d.compose(e, d.scratch, c)
		r.whole = false
		d.insert(r)
	}
}

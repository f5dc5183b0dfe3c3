package explore

import "slices"

// Most reversals are explored already, or to be. This finds that out without planning them, for those that are made of
// all events that do not depend on the event of the race, and then the operation: of each goroutine the events from one
// on to another.

// outline is such a reversal, as far as it is left.
type outline struct {
	trace *trace
	event int32 // of the race
	// For each goroutine, which of its events comes next, counted from 0, and the first that is not part of it.
	next, limits []int32
	head         int32 // no event before this one is left
	op           step
	goneOp       bool
}

// short is after how many events it takes no longer to plan a reversal than to find out about it.
const short = 64

// clearlyCovered reports whether a reversal would be inserted in vain. Where that is not clear it says no.
func (d *dpor) clearlyCovered(f *reversible) bool {
	if !d.isPlain(f) {
		return false
	}
	if d.clearlyAsleep(f) {
		return true
	}
	if len(d.trace.events)-int(f.event) < d.short {
		return false
	}
	n, o := &d.nodes[f.event], d.outline(f)
	sleepers := d.sleepOf(n)
	if slices.ContainsFunc(sleepers, func(s *Sleeper) bool { return s.Goroutine == f.op.Goroutine && s.choices >= 2 }) {
		return false // there may be several to insert: choicesAsleep
	}
	for _, s := range sleepers {
		relation, _ := o.relate(&step{Action: s.Action, Accesses: s.Accesses})
		if relation == initial || relation == commuting && !s.vague {
			return true
		}
	}
	for at := (spot{list: &n.todo}); ; {
		i := o.follow(&at)
		if i < 0 {
			return false
		}
		if at = at.after(i); at.branches() == 0 || o.isEmpty() {
			return int(f.event) >= d.floor || at.owner() != d.owner // else to be told, see insertAt
		}
	}
}

// isPlain reports whether a reversal is made of all events that do not depend on the event, and then the operation.
func (d *dpor) isPlain(f *reversible) bool {
	return d.maximal && d.ender < 0 && f.without < 0 && f.within == nil && len(d.trace.events)-int(f.event) <= maxSteps && !d.overdrawnWithout(f.event)
}

// overdrawnWithout reports whether a counter gets below zero without event e and what depends on it.
func (d *dpor) overdrawnWithout(e int32) bool {
	t := d.trace
	if !t.countsFrom(e) || !d.mayOverdraw() {
		return false
	}
	clear(d.counters)
	from := len(t.counting)
	for from > 0 && t.counting[from-1] >= e {
		from--
	}
	for n, x := range t.counting[from:] {
		if n > 0 && x == t.counting[from+n-1] || t.includes(t.clockOf(x), e) { // it is listed for each counter
			continue
		}
		if d.overdraws(e, x) {
			return true
		}
	}
	return false
}

// clearlyAsleep reports whether something asleep may be the first to run in a plain reversal, and so covers it (coveredAsleep). It
// is for the many of which that can be told at once.
func (d *dpor) clearlyAsleep(f *reversible) bool {
	t, e := d.trace, f.event
	for _, s := range d.sleepOf(&d.nodes[e]) {
		if g, known := t.goroutineOf.of(s.Goroutine); known {
			x, some := t.firstAfter(g, e)
			if some && !t.includes(t.clockOf(x), e) {
				if d.path[x] == s.Action && t.initial(x, e) {
					return true
				}
				continue
			}
		}
		if s.Action == f.op.Action && s.choices < 2 && !t.conflictsAfter(e, s.Accesses) {
			return true
		}
	}
	return false
}

// outline is the plain reversal of f. It is valid until the next call.
func (d *dpor) outline(f *reversible) *outline {
	t, o := d.trace, &d.outlined
	*o = outline{trace: t, event: f.event, head: f.event + 1, next: o.next[:0], limits: o.limits[:0], op: f.op}
	for g := range t.goroutines {
		from, to := t.without(int32(g), f.event, -1, nil)
		o.next, o.limits = append(o.next, int32(from)), append(o.limits, int32(max(from, to)))
	}
	return o
}

func (o *outline) isEmpty() bool {
	for g, next := range o.next {
		if next < o.limits[g] {
			return false
		}
	}
	return o.goneOp
}

// left is how many steps are left.
func (o *outline) left() (n int) {
	for g, next := range o.next {
		n += int(o.limits[g] - next)
	}
	if !o.goneOp {
		n++
	}
	return n
}

// ofOperation is the place of the operation among the goroutines, whose events are before it.
const ofOperation = -1

// relate is as reversal.relate. Of what is initial it returns the goroutine, or ofOperation.
func (o *outline) relate(a *step) (relation, int) {
	t := o.trace
	if g, known := t.goroutineOf.near(a.goroutine, a.Goroutine); known && o.next[g] < o.limits[g] {
		x := t.goroutines[g].events[o.next[g]]
		if t.events[x].Choice == a.Choice && o.mayBegin(x) {
			return initial, int(g)
		}
		return follows, 0
	}
	if !o.goneOp && a.Goroutine == o.op.Goroutine {
		if !o.conflicts(a.Accesses) { // if a is a guess, what is left has to be nothing else: see follow
			return initial, ofOperation
		}
		return follows, 0
	}
	if o.conflicts(a.Accesses) || !o.goneOp && Conflict(a.Accesses, o.op.Accesses) {
		return follows, 0
	}
	return commuting, 0
}

// mayBegin reports whether no other event that is left happened before x, which is the first of its goroutine that is.
func (o *outline) mayBegin(x int32) bool {
	t := o.trace
	for ; o.head < x; o.head++ { // mostly x is the first of all
		if event := &t.events[o.head]; o.has(event) {
			break
		}
	}
	if o.head == x {
		return true
	}
	own := t.events[x].goroutine
	for g, n := range t.clockOf(x) {
		if int32(g) != own && min(n, o.limits[g]) > o.next[g] {
			return false
		}
	}
	return true
}

// has reports whether an event after that of the race is left.
func (o *outline) has(x *event) bool {
	return x.ordinal > o.next[x.goroutine] && x.ordinal <= o.limits[x.goroutine]
}

// conflicts reports whether an event that is left conflicts with accesses.
func (o *outline) conflicts(accesses []Access) bool {
	t := o.trace
	for _, a := range accesses {
		number, known := t.objectOf.of(a.Object)
		if a.Object == 0 || !known {
			continue
		}
		object := &t.objects[number]
		for _, x := range object.uses[object.firstFrom(o.event+1):] {
			if t.uses[x.use].kinds&conflicting[a.Kind] == 0 {
				continue
			}
			if o.has(&t.events[x.event]) {
				return true
			}
		}
	}
	return false
}

// follow is as spot.follow. It returns -1, too, where that postpones.
func (o *outline) follow(at *spot) (branch int) {
	for n := range at.branches() {
		a := at.first(n)
		switch relation, g := o.relate(a); {
		case relation == initial && g == ofOperation:
			if a.is(guessed) && o.left() > 1 {
				return -1
			}
			o.goneOp = true
			return n
		case relation == initial:
			o.next[g]++
			return n
		case relation == commuting && a.is(guessed):
			return -1
		case relation == commuting:
			return n
		}
	}
	return -1
}

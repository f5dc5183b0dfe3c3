package explore

import (
	"iter"
	"slices"
	"sort"
)

// race is an event that the event or operation at hand could have preceded.
type race struct {
	event int32
	// direct tells that the operation is enabled in the state before the event
	// without anything else having to run first: it is an initial of the reversal.
	direct bool
}

// pendingRaces returns the races that end in an operation that was pending when
// the execution ended. They are valid until the next call, or push.
func (t *trace) pendingRaces(p *Pending) ([]race, error) {
	t.races = t.races[:0]
	object, known := t.objectOf[p.Access.Object]
	if !known {
		return nil, nil
	}
	if err := t.joinPast(p.Goroutine, p.Need); err != nil {
		return nil, err
	}
	uses := [1]use{{object: object, kinds: 1 << p.Access.Kind}}
	t.findRaces(uses[:], operation{need: p.Need, blocked: !p.Enabled})
	return t.races, nil
}

// operation is what is at the end of a race: the one that is being pushed, or one
// that was still pending, and perhaps blocked, when the execution ended.
type operation struct {
	need    Need
	blocked bool
}

// findRaces finds the races that end in an operation with these uses; now must
// hold its past, and grows by the events that race with it.
//
// An event races with a later operation of another goroutine if the two are
// dependent, nothing in between orders them, and they can be exchanged (Abdulla,
// Aronis, Jonsson, Sagonas: Optimal Dynamic Partial Order Reduction, POPL 2014,
// section 3). Conflicts are looked at latest first, since what a later one is
// ordered after is not in a race. One that cannot be exchanged (Unlock, then Lock)
// orders but hides nothing before it: the critical sections as a whole can be
// exchanged, and that is the race between the two Locks.
func (t *trace) findRaces(uses []use, op operation) {
	t.candidates = t.candidates[:0]
	for _, u := range uses {
		t.collect(u, op)
	}
	slices.Sort(t.candidates)
	for i := len(t.candidates) - 1; i >= 0; i-- {
		e := t.candidates[i]
		switch {
		case i+1 < len(t.candidates) && t.candidates[i+1] == e, t.includes(t.now, e):
		case !t.exchangeable(e, op):
			t.deferred = append(t.deferred, e)
		default:
			t.races = append(t.races, race{event: e, direct: t.direct(e)})
			t.now.join(t.clockOf(e))
		}
	}
}

// collect adds the events that conflict with use u and are not ordered before it
// by now. An event that conflicts with everything before it on the object, and is
// itself joined to now sooner or later, makes looking further back unnecessary.
func (t *trace) collect(u use, op operation) {
	object := &t.objects[u.object]
	floor := int32(-1)
	writes := object.byKind[Write]
	for i := len(writes) - 1; i >= 0 && floor < 0; i-- {
		e := writes[i]
		if t.includes(t.now, e) {
			floor = e
			break
		}
		t.candidates = append(t.candidates, e)
		if t.exchangeable(e, op) {
			floor = e
		}
	}
	for kind := range accessKinds {
		if kind == Write || u.kinds&conflicting[kind] == 0 {
			continue
		}
		low := floor
		for other := range accessKinds {
			events := object.byKind[other]
			if n := len(events); conflicts[other][kind] && n > 0 && t.includes(t.now, events[n-1]) {
				low = max(low, events[n-1])
			}
		}
		events := object.byKind[kind]
		for i := len(events) - 1; i >= 0 && events[i] > low; i-- {
			if !t.includes(t.now, events[i]) {
				t.candidates = append(t.candidates, events[i])
			}
		}
	}
}

// exchangeable reports whether the operation, which conflicts with the earlier
// event e, could run before it. Let D be the events from e on that happen after e,
// e included. All others can run before e, so the question is whether the wait
// condition holds in the state after them, that is without D.
func (t *trace) exchangeable(e int32, op operation) bool {
	if t.events[e].barrier {
		return false
	}
	if op.need.Mask == 0 {
		return true
	}
	o, known := t.objectOf[op.need.Object]
	if !known {
		return !op.blocked
	}
	object := &t.objects[o]
	i := sort.Search(len(object.uses), func(i int) bool { return object.uses[i].event >= e })
	if op.need.Mask == ReadyExclusive && object.onlyFalls(i, e) {
		return false // the counter is higher without D, and it is not below 0 now
	}
	delta := int32(0) // what D adds to the counter
	for ; i < len(object.uses); i++ {
		x := object.uses[i]
		if !t.includes(t.clockOf(x.event), e) {
			continue
		}
		u := t.uses[x.use]
		if u.kinds != 1<<Commute {
			// x is ordered after all changes outside D: its Ready includes them all.
			return t.heldWithout(delta, op.need.Mask, u.ready, object, i)
		}
		delta += u.delta
	}
	ready := op.need.Mask
	if op.blocked {
		ready = 0
	}
	return t.heldWithout(delta, op.need.Mask, ready, object, i)
}

// onlyFalls reports whether e uses the object and, like all uses after it, only
// takes its counter down; i is the first use not before e.
func (o *objectLog) onlyFalls(i int, e int32) bool {
	return i < len(o.uses) && o.uses[i].event == e && o.stepsBefore(i) == o.stepsBefore(len(o.uses))
}

// heldWithout reports whether the conditions of mask would hold just before use i
// of the object if its counter were lower by delta; ready are those that do hold.
func (t *trace) heldWithout(delta int32, mask, ready uint8, object *objectLog, i int) bool {
	if mask&ReadyShared&^ready != 0 {
		return false
	}
	if mask&ReadyExclusive == 0 {
		return true
	}
	if delta == 0 {
		return ready&ReadyExclusive != 0
	}
	counter := int32(0)
	for i--; i >= 0 && ready&ReadyExclusive == 0; i-- {
		u := t.uses[object.uses[i].use]
		counter += u.delta
		ready = u.ready
	}
	return counter == delta
}

// direct reports whether nothing that has to run before the operation, as far as
// joined to now or deferred, comes after event e and does not depend on it.
func (t *trace) direct(e int32) bool {
	if t.anyAfter(t.now, e) {
		return false
	}
	for _, d := range t.deferred {
		if d > e && !t.includes(t.clockOf(d), e) {
			return false
		}
	}
	return true
}

// anyAfter reports whether clock c includes an event later than e.
func (t *trace) anyAfter(c clock, e int32) bool {
	for g, n := range c {
		if n > 0 && t.goroutines[g].events[n-1] > e {
			return true
		}
	}
	return false
}

// initials yields the initials of what comes after event e without depending on
// it: the events that could be the first to run there instead of e.
func (t *trace) initials(e int32) iter.Seq[int32] {
	return func(yield func(int32) bool) {
		for g := range t.goroutines {
			x, ok := t.firstAfter(int32(g), e)
			if ok && t.initial(x, e) && !yield(x) {
				return
			}
		}
	}
}

// initial reports whether no event after e, not even e, happened before x, which
// is the first event of its goroutine after e.
func (t *trace) initial(x, e int32) bool {
	if t.includes(t.clockOf(x), e) {
		return false
	}
	for g, n := range t.clockOf(x) {
		if n > 0 && int32(g) != t.events[x].goroutine && t.goroutines[g].events[n-1] > e {
			return false
		}
	}
	return true
}

// wasEnabled reports whether a pending operation that is enabled after the last
// event was so before it.
func (t *trace) wasEnabled(p *Pending, last int32) bool {
	return !slices.Contains(t.startsOf(last), p.Goroutine) &&
		p.Goroutine != t.events[last].Action.Goroutine && t.exchangeable(last, operation{need: p.Need})
}

package explore

import (
	"iter"
	"slices"
	"sort"

	"github.com/tandem-mc/tandem/internal/model"
)

// race is an event that the event or operation at hand could have preceded.
type race struct {
	event int32
	past  clock // of what does not depend on the event, what has to run before the operation
	// direct tells that the operation is an initial of the reversal: nothing else
	// has to run before it in the state before the event.
	direct bool
	// counter is an object, if not negative, of which the counter would not be zero without
	// the event and what happened after it: it is still to be found out what else has to be
	// left out (dpor.empty).
	counter int32
	// within are the events of which those that do not depend on the event are to run; nil for all.
	within clock
}

// pendingRaces returns the races that end in an operation that was pending when
// the execution ended, or, if it is a partner's, that the last event made an end of:
// it would have run instead. They are valid until the next call, or push.
func (t *trace) pendingRaces(p *Pending, partner bool) ([]race, error) {
	t.races = t.races[:0]
	op, err := t.pendingOperation(p)
	if err != nil || len(op.uses) == 0 {
		return nil, err
	}
	if partner {
		err = t.joinPastBefore(int32(len(t.events))-1, p.Goroutine, p.Needs)
	} else {
		err = t.joinPast(p.Goroutine, p.Needs)
	}
	if err != nil {
		return nil, err
	}
	t.findRaces(op)
	return t.races, nil
}

// pendingOperation is what a pending operation would have done.
func (t *trace) pendingOperation(p *Pending) (operation, error) {
	op := operation{needs: p.Needs}
	for _, n := range p.Needs {
		if n.Mask == 0 || n.Mask >= model.ReadyMasks {
			return op, logError(len(t.events), "goroutine %#x is pending with the unknown wait condition %#x", uint64(p.Goroutine), n.Mask)
		}
	}
	for _, a := range p.Accesses {
		if a.Kind >= model.AccessKinds {
			return op, logError(len(t.events), "goroutine %#x is pending with an access of unknown kind %d", uint64(p.Goroutine), a.Kind)
		}
		if a.Object != 0 {
			op.uses = append(op.uses, use{object: t.object(a.Object), kinds: 1 << a.Kind, ready: a.Ready, count: a.Count})
		}
	}
	return op, nil
}

// operation is what is at the end of a race: the one that is being pushed, or one
// that was still pending, and perhaps blocked, when the execution ended.
type operation struct {
	needs []Need
	uses  []use
}

// useOf is how the operation finds an object. One that it does not use is not
// ready for anything.
func (op operation) useOf(object int32) use {
	for _, u := range op.uses {
		if u.object == object {
			return u
		}
	}
	return use{object: object}
}

// findRaces finds the races that end in an operation; now must hold its past, and
// grows by the events that race with it.
//
// An event races with a later operation of another goroutine if the two are
// dependent, nothing in between orders them, and they can be exchanged (Abdulla,
// Aronis, Jonsson, Sagonas: Optimal Dynamic Partial Order Reduction, POPL 2014,
// section 3). Conflicts are looked at latest first, since what a later one is
// ordered after is not in a race. One that cannot be exchanged (Unlock, then Lock)
// orders but hides nothing before it: the critical sections as a whole can be
// exchanged, and that is the race between the two Locks.
func (t *trace) findRaces(op operation) {
	t.candidates = t.candidates[:0]
	for _, u := range op.uses {
		t.collect(u, op)
	}
	slices.Sort(t.candidates)
	for i := len(t.candidates) - 1; i >= 0; i-- {
		e := t.candidates[i]
		if i+1 < len(t.candidates) && t.candidates[i+1] == e || t.includes(t.now, e) {
			continue
		}
		switch t.exchangeable(e, op) {
		case no:
			t.deferred = append(t.deferred, e)
		case perhaps:
			t.races = append(t.races, race{event: e, past: t.pastWithout(e, nil), counter: t.counterOf(op),
				direct: !t.anyAfter(t.now, e) && t.heldBefore(e, op)})
			t.deferred = append(t.deferred, e)
		case yes:
			t.races = append(t.races, race{event: e, past: t.pastWithout(e, t.deferred), counter: -1})
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
		if t.exchangeable(e, op) == yes {
			floor = e
		}
	}
	for kind := range model.AccessKinds {
		if kind == Write || u.kinds&conflicting[kind] == 0 {
			continue
		}
		low := floor
		for other := range model.AccessKinds {
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

// answer is that of exchangeable.
type answer uint8

const (
	no answer = iota
	perhaps
	yes
)

// exchangeable tells whether the operation, which conflicts with the earlier event
// e, could run before it. Let D be the events from e on that happen after e, e
// included. All others can run before e, so the answer is yes if the wait condition
// holds in the state after them, that is without D.
//
// If it does not, it may still hold when some more are left out. With a mutex that
// is a race of its own: the one left out is the Lock that closed it, and where that
// is reversed the race with e shows up again. Of several Adds to a counter, however,
// each alone makes no difference: the answer is then perhaps.
func (t *trace) exchangeable(e int32, op operation) answer {
	switch {
	case t.events[e].barrier:
		return no
	case len(op.needs) == 0:
		return yes
	}
	best := no
	for _, n := range op.needs {
		if best < yes {
			best = max(best, t.holdsBefore(e, n, op))
		}
	}
	return best
}

// holdsBefore is exchangeable for one of the conditions that the operation waits for.
func (t *trace) holdsBefore(e int32, need Need, op operation) answer {
	o, known := t.objectOf.of(need.Object)
	if !known {
		return no // a condition of an object that nobody used holds for ever, or never
	}
	object := &t.objects[o]
	from := object.firstFrom(e)
	if need.Mask == model.ReadyExclusive && object.onlyFalls(from, e) {
		return no // without D the counter is higher than after it
	}
	if t.holdsWithout(e, need, op.useOf(o), from) {
		return yes
	}
	if n := len(object.byKind[Commute]); n > 0 && object.byKind[Commute][n-1] >= e && need.Mask&model.ReadyExclusive != 0 {
		return perhaps
	}
	return no
}

// firstFrom returns the index of the first use by event e or later.
func (o *objectLog) firstFrom(e int32) int {
	return sort.Search(len(o.uses), func(i int) bool { return o.uses[i].event >= e })
}

// countBefore returns the counter of an object in the state before event e, from which on something counts. Only what counts
// tells it: a writer that locks does not say how many readers there are.
func (t *trace) countBefore(o *objectLog, e int32) int32 {
	i := o.firstFrom(e)
	for !t.uses[o.uses[i].use].counts() {
		i++
	}
	return t.uses[o.uses[i].use].count
}

// onlyFalls reports whether e uses the object and, like all uses after it, only
// takes its counter down; from is firstFrom(e).
func (o *objectLog) onlyFalls(from int, e int32) bool {
	return from < len(o.uses) && o.uses[from].event == e && o.stepsBefore(from) == o.stepsBefore(len(o.uses))
}

// holdsWithout reports whether a wait condition would hold without D. end is how the
// operation finds the object, and from the index of the first use by e or later.
func (t *trace) holdsWithout(e int32, need Need, end use, from int) bool {
	object := &t.objects[end.object]
	delta := int32(0) // what D adds to the counter
	for i := from; i < len(object.uses); i++ {
		x := object.uses[i]
		if !t.includes(t.clockOf(x.event), e) {
			continue
		}
		u := t.uses[x.use]
		if u.kinds != 1<<Commute {
			// It is ordered after all changes outside D: its Ready includes them all.
			return t.heldWithout(delta, need, u, i)
		}
		delta += u.delta
	}
	return t.heldWithout(delta, need, end, len(object.uses))
}

// heldWithout reports whether a wait condition would hold just before use i
// of an object, which is u, if its counter were lower by delta.
func (t *trace) heldWithout(delta int32, need Need, u use, i int) bool {
	object, mask, ready := &t.objects[u.object], need.Mask, u.ready
	switch {
	case mask == model.ReadyPartner && (delta != 0 || need.Own > 0):
		return u.count > delta+int32(need.Own)
	case mask&^model.ReadyExclusive&^ready != 0:
		return false
	case mask&model.ReadyExclusive == 0:
		return true
	case delta == 0:
		return ready&model.ReadyExclusive != 0
	case ready&model.ReadyExclusive != 0:
		return false
	}
	return t.counterBefore(object, i) == delta
}

// counterBefore returns the counter of the object just before use i.
func (t *trace) counterBefore(object *objectLog, i int) int32 {
	counter := int32(0)
	for i--; i >= 0; i-- {
		u := t.uses[object.uses[i].use]
		counter += u.delta
		if u.ready&model.ReadyExclusive != 0 {
			break
		}
	}
	return counter
}

// counterOf returns the object of which an operation waits for the counter to be zero.
func (t *trace) counterOf(op operation) int32 {
	i := slices.IndexFunc(op.needs, func(n Need) bool { return n.Mask&model.ReadyExclusive != 0 })
	o, _ := t.objectOf.of(op.needs[i].Object)
	return o
}

// zeros returns n zeros in the memory of s if it suffices.
func zeros(s []int32, n int) []int32 {
	if cap(s) < n {
		return make([]int32, n, 2*n)
	}
	s = s[:n]
	clear(s)
	return s
}

// heldBefore reports whether one of the wait conditions held in the state before
// event e, or there is none.
func (t *trace) heldBefore(e int32, op operation) bool {
	for _, n := range op.needs {
		o, known := t.objectOf.of(n.Object)
		if !known {
			continue
		}
		u, object := op.useOf(o), &t.objects[o]
		if from := object.firstFrom(e); from < len(object.uses) {
			u = t.uses[object.uses[from].use]
		}
		if n.holds(u.ready, u.count) {
			return true
		}
	}
	return len(op.needs) == 0
}

// pastWithout returns a copy of now, with those deferred after e that do not depend
// on it: they enable the operation, or disabled it, in the reversal too. It is valid
// as long as the event that is being pushed is part of the trace, or else until that is truncated.
func (t *trace) pastWithout(e int32, deferred []int32) clock {
	from := len(t.pasts)
	t.pasts = append(t.pasts, t.now...)
	past := clock(t.pasts[from:len(t.pasts):len(t.pasts)])
	for _, d := range deferred {
		if d > e && !t.includes(t.clockOf(d), e) {
			past.join(t.clockOf(d))
		}
	}
	return past
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

// conflictsAfter reports whether an event after e that does not depend on it conflicts with accesses, or
// more events use the same objects than are looked at.
func (t *trace) conflictsAfter(e int32, accesses []Access) bool {
	for _, a := range accesses {
		o, known := t.objectOf.of(a.Object)
		if a.Object == 0 || !known {
			continue
		}
		object := &t.objects[o]
		const most = 64
		from := object.firstFrom(e + 1)
		if len(object.uses)-from > most {
			return true
		}
		for _, x := range object.uses[from:] {
			if t.uses[x.use].kinds&conflicting[a.Kind] != 0 && !t.includes(t.clockOf(x.event), e) {
				return true
			}
		}
	}
	return false
}

// wasEnabled reports whether a pending operation that is enabled after the last
// event was so before it.
func (t *trace) wasEnabled(p *Pending, last int32) bool {
	if p.Goroutine == t.events[last].Action.Goroutine || slices.Contains(t.startsOf(last), p.Goroutine) {
		return false
	}
	op, err := t.pendingOperation(p)
	return err == nil && t.heldBefore(last, op)
}

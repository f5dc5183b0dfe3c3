package trace

import (
	"iter"
	"slices"
	"sort"

	"github.com/tandem-mc/tandem/explore/internal/core"
)

// Race is an event that the event or operation at hand could have preceded.
type Race struct {
	Event int32
	Past  Clock // of what does not depend on the event, what has to run before the operation
	// direct tells that the operation is an initial of the reversal: nothing else
	// has to run before it in the state before the event.
	Direct bool
	// counter is an object, if not negative, of which the counter would not be zero without
	// the event and what happened after it: it is still to be found out what else has to be
	// left out (dpor, enableCounter).
	Counter int32
	// within are the events of which those that do not depend on the event are to run; nil for all.
	Within Clock
}

// PendingRaces returns the races that end in an operation that was pending when
// the execution ended, or, if it is a partner's, that the last event made an end of:
// it would have run instead. They are valid until the next call, or push.
func (t *Trace) PendingRaces(p *core.Pending, partner bool) ([]Race, error) {
	t.races = t.races[:0]
	op, err := t.PendingOperation(p)
	if err != nil || len(op.Uses) == 0 {
		return nil, err
	}
	if partner {
		err = t.JoinPastBefore(int32(len(t.Events))-1, p.Goroutine, p.Needs)
	} else {
		err = t.joinPast(p.Goroutine, p.Needs)
	}
	if err != nil {
		return nil, err
	}
	t.findRaces(op)
	return t.races, nil
}

// PendingOperation is what a pending operation would have done.
func (t *Trace) PendingOperation(p *core.Pending) (operation, error) {
	op := operation{needs: p.Needs}
	for _, n := range p.Needs {
		if n.Mask == 0 || n.Mask >= core.ReadyMasks {
			return op, core.WrongLog(len(t.Events), "goroutine %#x is pending with the unknown wait "+
				"condition %#x", uint64(p.Goroutine), n.Mask)
		}
	}
	for _, a := range p.Accesses {
		if a.Kind >= core.AccessKinds {
			return op, core.WrongLog(len(t.Events), "goroutine %#x is pending with an access of unknown "+
				"kind %d", uint64(p.Goroutine), a.Kind)
		}
		if a.Object != 0 {
			op.Uses = append(op.Uses, use{Object: t.object(a.Object), Kinds: 1 << a.Kind, Ready: a.Ready,
				Count: a.Count})
		}
	}
	return op, nil
}

// operation is what is at the end of a race: the one that is being pushed, or one
// that was still pending, and perhaps blocked, when the execution ended.
type operation struct {
	needs []core.Need
	Uses  []use
}

// useOf is how the operation finds an object. One that it does not use is not
// ready for anything.
func (op operation) useOf(object int32) use {
	for _, u := range op.Uses {
		if u.Object == object {
			return u
		}
	}
	return use{Object: object}
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
func (t *Trace) findRaces(op operation) {
	t.candidates = t.candidates[:0]
	for _, u := range op.Uses {
		t.collect(u, op)
	}
	slices.Sort(t.candidates)
	for i := len(t.candidates) - 1; i >= 0; i-- {
		e := t.candidates[i]
		if i+1 < len(t.candidates) && t.candidates[i+1] == e || t.Includes(t.Now, e) {
			continue
		}
		switch t.exchangeable(e, op) {
		case No:
			t.deferred = append(t.deferred, e)
		case Perhaps:
			t.races = append(t.races, Race{Event: e, Past: t.pastWithout(e, nil), Counter: t.counterOf(op),
				Direct: !t.anyAfter(t.Now, e) && t.heldBefore(e, op)})
			t.deferred = append(t.deferred, e)
		case Yes:
			t.races = append(t.races, Race{Event: e, Past: t.pastWithout(e, t.deferred), Counter: -1})
			t.Now.Join(t.ClockOf(e))
		}
	}
}

// collect adds the events that conflict with use u and are not ordered before it
// by now. An event that conflicts with everything before it on the object, and is
// itself joined to now sooner or later, makes looking further back unnecessary.
func (t *Trace) collect(u use, op operation) {
	object := &t.Objects[u.Object]
	floor := int32(-1)
	writes := object.byKind[core.Write]
	for i := len(writes) - 1; i >= 0 && floor < 0; i-- {
		e := writes[i]
		if t.Includes(t.Now, e) {
			floor = e
			break
		}
		t.candidates = append(t.candidates, e)
		if t.exchangeable(e, op) == Yes {
			floor = e
		}
	}
	for kind := range core.AccessKinds {
		if kind == core.Write || u.Kinds&core.Conflicting[kind] == 0 {
			continue
		}
		low := floor
		for other := range core.AccessKinds {
			events := object.byKind[other]
			if n := len(events); core.Conflicts[other][kind] && n > 0 && t.Includes(t.Now, events[n-1]) {
				low = max(low, events[n-1])
			}
		}
		events := object.byKind[kind]
		for i := len(events) - 1; i >= 0 && events[i] > low; i-- {
			if !t.Includes(t.Now, events[i]) {
				t.candidates = append(t.candidates, events[i])
			}
		}
	}
}

// Answer is that of exchangeable.
type Answer uint8

const (
	No Answer = iota
	Perhaps
	Yes
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
func (t *Trace) exchangeable(e int32, op operation) Answer {
	switch {
	case t.Events[e].Barrier:
		return No
	case len(op.needs) == 0:
		return Yes
	}
	best := No
	for _, n := range op.needs {
		if best < Yes {
			best = max(best, t.holdsBefore(e, n, op))
		}
	}
	return best
}

// holdsBefore is exchangeable for one of the conditions that the operation waits for.
func (t *Trace) holdsBefore(e int32, need core.Need, op operation) Answer {
	o, known := t.ObjectOf.Of(need.Object)
	if !known {
		return No // a condition of an object that nobody used holds for ever, or never
	}
	object := &t.Objects[o]
	from := object.FirstFrom(e)
	if need.Mask == core.ReadyExclusive && object.onlyFalls(from, e) {
		return No // without D the counter is higher than after it
	}
	if t.holdsWithout(e, need, op.useOf(o), from) {
		return Yes
	}
	if n := len(object.byKind[core.Commute]); n > 0 && object.byKind[core.Commute][n-1] >= e &&
		need.Mask&core.ReadyExclusive != 0 {
		return Perhaps
	}
	return No
}

// FirstFrom returns the index of the first use by event e or later.
func (o *ObjectLog) FirstFrom(e int32) int {
	return sort.Search(len(o.Uses), func(i int) bool { return o.Uses[i].Event >= e })
}

// CountBefore returns the counter of an object in the state before event e, from which on something
// counts. Only what counts tells it: a writer that locks does not say how many readers there are.
func (t *Trace) CountBefore(o *ObjectLog, e int32) int32 {
	i := o.FirstFrom(e)
	for !t.Uses[o.Uses[i].Use].Counts() {
		i++
	}
	return t.Uses[o.Uses[i].Use].Count
}

// onlyFalls reports whether e uses the object and, like all uses after it, only
// takes its counter down; from is firstFrom(e).
func (o *ObjectLog) onlyFalls(from int, e int32) bool {
	return from < len(o.Uses) && o.Uses[from].Event == e && o.stepsBefore(from) == o.stepsBefore(len(o.Uses))
}

// holdsWithout reports whether a wait condition would hold without D. end is how the
// operation finds the object, and from the index of the first use by e or later.
func (t *Trace) holdsWithout(e int32, need core.Need, end use, from int) bool {
	object := &t.Objects[end.Object]
	delta := int32(0) // what D adds to the counter
	for i := from; i < len(object.Uses); i++ {
		x := object.Uses[i]
		if !t.Includes(t.ClockOf(x.Event), e) {
			continue
		}
		u := t.Uses[x.Use]
		if u.Kinds != 1<<core.Commute {
			// It is ordered after all changes outside D: its Ready includes them all.
			return t.heldWithout(delta, need, u, i)
		}
		delta += u.Delta
	}
	return t.heldWithout(delta, need, end, len(object.Uses))
}

// heldWithout reports whether a wait condition would hold just before use i
// of an object, which is u, if its counter were lower by delta.
func (t *Trace) heldWithout(delta int32, need core.Need, u use, i int) bool {
	object, mask, ready := &t.Objects[u.Object], need.Mask, u.Ready
	switch {
	case mask == core.ReadyPartner && (delta != 0 || need.Own > 0):
		return u.Count > delta+int32(need.Own)
	case mask&^core.ReadyExclusive&^ready != 0:
		return false
	case mask&core.ReadyExclusive == 0:
		return true
	case delta == 0:
		return ready&core.ReadyExclusive != 0
	case ready&core.ReadyExclusive != 0:
		return false
	}
	return t.counterBefore(object, i) == delta
}

// counterBefore returns the counter of the object just before use i.
func (t *Trace) counterBefore(object *ObjectLog, i int) int32 {
	counter := int32(0)
	for i--; i >= 0; i-- {
		u := t.Uses[object.Uses[i].Use]
		counter += u.Delta
		if u.Ready&core.ReadyExclusive != 0 {
			break
		}
	}
	return counter
}

// counterOf returns the object of which an operation waits for the counter to be zero.
func (t *Trace) counterOf(op operation) int32 {
	i := slices.IndexFunc(op.needs, func(n core.Need) bool { return n.Mask&core.ReadyExclusive != 0 })
	o, _ := t.ObjectOf.Of(op.needs[i].Object)
	return o
}

// Zeros returns n zeros in the memory of s if it suffices.
func Zeros(s []int32, n int) []int32 {
	if cap(s) < n {
		return make([]int32, n, 2*n)
	}
	s = s[:n]
	clear(s)
	return s
}

// heldBefore reports whether one of the wait conditions held in the state before
// event e, or there is none.
func (t *Trace) heldBefore(e int32, op operation) bool {
	for _, n := range op.needs {
		o, known := t.ObjectOf.Of(n.Object)
		if !known {
			continue
		}
		u, object := op.useOf(o), &t.Objects[o]
		if from := object.FirstFrom(e); from < len(object.Uses) {
			u = t.Uses[object.Uses[from].Use]
		}
		if n.Holds(u.Ready, u.Count) {
			return true
		}
	}
	return len(op.needs) == 0
}

// pastWithout returns a copy of now, with those deferred after e that do not depend
// on it: they enable the operation, or disabled it, in the reversal too. It is valid
// as long as the event that is being pushed is part of the trace, or else until that is truncated.
func (t *Trace) pastWithout(e int32, deferred []int32) Clock {
	from := len(t.pasts)
	t.pasts = append(t.pasts, t.Now...)
	past := Clock(t.pasts[from:len(t.pasts):len(t.pasts)])
	for _, d := range deferred {
		if d > e && !t.Includes(t.ClockOf(d), e) {
			past.Join(t.ClockOf(d))
		}
	}
	return past
}

// anyAfter reports whether clock c includes an event later than e.
func (t *Trace) anyAfter(c Clock, e int32) bool {
	for g, n := range c {
		if n > 0 && t.Goroutines[g].Events[n-1] > e {
			return true
		}
	}
	return false
}

// Initials yields the initials of what comes after event e without depending on
// it: the events that could be the first to run there instead of e.
func (t *Trace) Initials(e int32) iter.Seq[int32] {
	return func(yield func(int32) bool) {
		for g := range t.Goroutines {
			x, ok := t.FirstAfter(int32(g), e)
			if ok && t.Initial(x, e) && !yield(x) {
				return
			}
		}
	}
}

// Initial reports whether no event after e, not even e, happened before x, which
// is the first event of its goroutine after e.
func (t *Trace) Initial(x, e int32) bool {
	if t.Includes(t.ClockOf(x), e) {
		return false
	}
	for g, n := range t.ClockOf(x) {
		if n > 0 && int32(g) != t.Events[x].Number && t.Goroutines[g].Events[n-1] > e {
			return false
		}
	}
	return true
}

// ConflictsAfter reports whether an event after e that does not depend on it conflicts with
// accesses, or more events use the same objects than are looked at.
func (t *Trace) ConflictsAfter(e int32, accesses []core.Access) bool {
	for _, a := range accesses {
		o, known := t.ObjectOf.Of(a.Object)
		if a.Object == 0 || !known {
			continue
		}
		object := &t.Objects[o]
		const most = 64
		from := object.FirstFrom(e + 1)
		if len(object.Uses)-from > most {
			return true
		}
		for _, x := range object.Uses[from:] {
			if t.Uses[x.Use].Kinds&core.Conflicting[a.Kind] != 0 && !t.Includes(t.ClockOf(x.Event), e) {
				return true
			}
		}
	}
	return false
}

// WasEnabled reports whether a pending operation that is enabled after the last
// event was so before it.
func (t *Trace) WasEnabled(p *core.Pending, last int32) bool {
	if p.Goroutine == t.Events[last].Action.Goroutine || slices.Contains(t.startsOf(last), p.Goroutine) {
		return false
	}
	op, err := t.PendingOperation(p)
	return err == nil && t.heldBefore(last, op)
}

// Without returns which events of a goroutine, from one to before another, gather may list.
func (t *Trace) Without(g, e, without int32, within Clock) (from, to int) {
	events := t.Goroutines[g].Events
	from, to = t.After(g, e), len(events)
	if within != nil {
		to = min(to, int(within.Of(g)))
	}
	for _, x := range [...]int32{e, without} {
		switch {
		case x < 0 || from >= to:
		case t.Includes(t.ClockOf(events[from]), x): // as it is mostly
			to = from
		default:
			after := func(i int) bool { return t.Includes(t.ClockOf(events[from+i]), x) }
			to = from + sort.Search(to-from, after)
		}
	}
	return from, to
}

// AllWithout is the set of all events that did not happen after e, as a clock.
func (t *Trace) AllWithout(e int32) Clock {
	set := Clock(Zeros(nil, len(t.Goroutines)))
	for g := range set {
		set[g] = int32(len(t.Goroutines[g].Events))
	}
	t.LeaveOut(set, e)
	return set
}

// LeaveOut takes event e, and what happened after it, out of a set that is closed under
// happens-before.
func (t *Trace) LeaveOut(set Clock, e int32) {
	for g := range set {
		events := t.Goroutines[g].Events
		for set[g] > 0 && t.Includes(t.ClockOf(events[set[g]-1]), e) {
			set[g]--
		}
	}
}

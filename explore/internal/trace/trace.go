// Package trace keeps the happens-before relation between the transitions of an execution, and
// finds the races in it.
package trace

import (
	"github.com/tandem-mc/tandem/explore/internal/core"
)

// maxClockEntries bounds what one execution may take: transitions x goroutines, and races x
// goroutines, 4 bytes each. Reaching it is a LogError, as with core.MaxTransitions.
const maxClockEntries = 1 << 28

// Trace holds the executed events in order and the happens-before relation
// between them: the transitive closure of program order, creation and waking,
// conflicting accesses, and barriers. It is a stack: push and truncate undo each
// other, so that executions with a common prefix share it. Goroutines and
// objects are numbered densely in the order in which they appear.
type Trace struct {
	Events      []Event
	Goroutines  []goroutineLog
	Objects     []ObjectLog
	barriers    []int32 // events
	Counting    []int32 // events that change counters, once for each
	Meeting     []int32 // events that access counters of goroutines that wait, once for each
	GoroutineOf Numbering[core.GoroutineID]
	ObjectOf    Numbering[core.ObjectID]

	// Slabs that the events point into.
	Clocks   []int32
	accesses []core.Access
	needs    []core.Need
	Uses     []use
	starts   []core.GoroutineID
	pasts    []int32 // clocks of the races that end in the event, and then of others found with it

	Generation uint64 // number of calls of summarize

	// Of the event that is being pushed:
	Now        Clock   // what happens before it, as far as joined
	candidates []int32 // earlier events that conflict with it
	deferred   []int32 // of these, those that could not be exchanged with it
	races      []Race
}

// Event is an executed transition.
type Event struct {
	core.Action
	Choices      int
	Number       int32
	Ordinal      int32 // 1 for the first event of the goroutine
	Barrier      bool
	forced       bool
	SingleAccess bool
	End          extent
}

// extent is where in the slabs the part of an event ends; it begins where that of
// the event before ends.
type extent struct{ Clocks, accesses, needs, uses, starts, pasts int32 }

// Clock is a vector clock: at index g the number of events of goroutine g that
// happened before an event, or are it. What it is too short for is 0.
type Clock []int32

// Join makes a clock that of all events of both.
func (c Clock) Join(other Clock) {
	for g, n := range other {
		c[g] = max(c[g], n)
	}
}

// Of returns the entry of a goroutine.
func (c Clock) Of(g int32) int32 {
	if int(g) >= len(c) {
		return 0
	}
	return c[g]
}

// trimmed is the clock without zeros at its end.
func (c Clock) trimmed() Clock {
	for len(c) > 0 && c[len(c)-1] == 0 {
		c = c[:len(c)-1]
	}
	return c
}

// use sums up the accesses of one event to one object.
type use struct {
	Object int32
	Delta  int32 // of the counter
	Count  int32 // before the first of the accesses
	Kinds  core.Kinds
	Ready  uint8 // as count
}

// Counts reports whether it changes a counter that must not get below zero: see overdraws
// in package dpor.
func (u use) Counts() bool { return u.Kinds == 1<<core.Commute && u.Ready&core.CountsWaiting == 0 }

// meets reports whether it is of a counter of goroutines that wait for partners.
func (u use) meets() bool { return u.Ready&core.CountsWaiting != 0 }

type goroutineLog struct {
	Events []int32
	wakes  []int32 // events that created or woke it
	// for each event, see keptFor: nil, or from its place in this execution or an earlier one
	kept []*Step
}

// ObjectLog is what was done with an object.
type ObjectLog struct {
	Uses   []objectUse
	byKind [core.AccessKinds][]int32 // events with an access of that kind

	Seen uint64 // generation of summarize in which slot is valid
	slot int32  // in trace.uses
}

type objectUse struct {
	Event int32
	Use   int32 // in trace.uses
	// steps counts the uses up to this one that are anything else than a counter
	// going down.
	steps int32
}

// New returns an empty trace.
func New() *Trace { return &Trace{} }

// Begin returns where in the slabs the part of event e begins.
func (t *Trace) Begin(e int32) extent {
	if e == 0 {
		return extent{}
	}
	return t.Events[e-1].End
}

// end returns where the slabs end.
func (t *Trace) end() extent {
	return extent{int32(len(t.Clocks)), int32(len(t.accesses)), int32(len(t.needs)), int32(len(t.Uses)),
		int32(len(t.starts)), int32(len(t.pasts))}
}

// ClockOf is the clock of event e.
func (t *Trace) ClockOf(e int32) Clock {
	return Clock(t.Clocks[t.Begin(e).Clocks:t.Events[e].End.Clocks])
}

// AccessesOf are the accesses of event e.
func (t *Trace) AccessesOf(e int32) []core.Access {
	return t.accesses[t.Begin(e).accesses:t.Events[e].End.accesses]
}

// NeedsOf are the wait conditions of event e.
func (t *Trace) NeedsOf(e int32) []core.Need {
	return t.needs[t.Begin(e).needs:t.Events[e].End.needs]
}

// UsesOf are the uses of objects that the accesses of event e amount to.
func (t *Trace) UsesOf(e int32) []use {
	return t.Uses[t.Begin(e).uses:t.Events[e].End.uses]
}

func (t *Trace) startsOf(e int32) []core.GoroutineID {
	return t.starts[t.Begin(e).starts:t.Events[e].End.starts]
}

// Includes reports whether event e happened before the event of clock c, or is it.
func (t *Trace) Includes(c Clock, e int32) bool {
	x := &t.Events[e]
	return int(x.Number) < len(c) && c[x.Number] >= x.Ordinal
}

// After returns the index of the first event of goroutine g after event e among all
// of the goroutine, or how many those are.
func (t *Trace) After(g, e int32) int {
	events := t.Goroutines[g].Events
	if len(events) == 0 || events[len(events)-1] <= e {
		return len(events)
	}
	// The result is in from ... from+n-1. This is slices.BinarySearch written out: that one calls
	// its comparison through a dictionary, which made planning a tenth slower.
	from, n := 0, len(events)
	for n > 1 {
		half := n / 2
		if events[from+half-1] <= e {
			from += half
		}
		n -= half
	}
	return from
}

// FirstAfter returns the first event of goroutine g after event e.
func (t *Trace) FirstAfter(g, e int32) (int32, bool) {
	events, i := t.Goroutines[g].Events, t.After(g, e)
	if i == len(events) {
		return 0, false
	}
	return events[i], true
}

// goroutine returns the number of a goroutine.
func (t *Trace) goroutine(id core.GoroutineID) int32 {
	g, ok := t.GoroutineOf.Of(id)
	if !ok {
		g = t.GoroutineOf.Add(id)
		t.Goroutines = Extend(t.Goroutines)
		log := &t.Goroutines[g]
		log.Events, log.wakes = log.Events[:0], log.wakes[:0]
	}
	return g
}

// object returns the number of an object.
func (t *Trace) object(id core.ObjectID) int32 {
	o, ok := t.ObjectOf.Of(id)
	if !ok {
		o = t.ObjectOf.Add(id)
		t.Objects = Extend(t.Objects)
		log := &t.Objects[o]
		log.Uses = log.Uses[:0]
		for kind := range log.byKind {
			log.byKind[kind] = log.byKind[kind][:0]
		}
	}
	return o
}

// Extend makes s longer by one element, which keeps what a truncated element had
// there, so that its slices are used again.
func Extend[T any](s []T) []T {
	if len(s) < cap(s) {
		return s[:len(s)+1]
	}
	var zero T
	return append(s, zero)
}

// Push appends transition x and returns the races that end in it, latest first.
// They are valid until the next push.
func (t *Trace) Push(x *core.Transition) ([]Race, error) {
	if err := t.validate(x); err != nil {
		return nil, err
	}
	g := t.goroutine(x.Goroutine)
	t.summarize(x.Accesses)
	t.races = t.races[:0]
	if x.Barrier {
		t.joinAll()
	} else if err := t.joinPast(x.Goroutine, x.Needs); err != nil {
		return nil, err
	} else {
		t.findRaces(operation{x.Needs, t.Uses[t.Begin(int32(len(t.Events))).uses:]})
		t.joinDeferred()
	}
	t.record(g, x)
	return t.races, nil
}

// summarize appends the uses that accesses amount to.
func (t *Trace) summarize(accesses []core.Access) {
	t.Generation++
	for _, a := range accesses {
		if a.Object == 0 {
			continue
		}
		o := t.object(a.Object)
		log := &t.Objects[o]
		if log.Seen != t.Generation {
			log.Seen, log.slot = t.Generation, int32(len(t.Uses))
			t.Uses = append(t.Uses, use{Object: o, Ready: a.Ready, Count: a.Count})
		}
		u := &t.Uses[log.slot]
		u.Kinds |= 1 << a.Kind
		u.Delta += a.Delta
	}
}

// joinAll sets now to the whole past.
func (t *Trace) joinAll() {
	t.Now = Zeros(t.Now, len(t.Goroutines))
	for g := range t.Goroutines {
		t.Now[g] = int32(len(t.Goroutines[g].Events))
	}
}

// joinPast sets now to what happened before an operation of a goroutine whatever
// it does: its last event and those that woke it since. The last barrier too,
// unless the goroutine was then blocked, and could have gone on before.
func (t *Trace) joinPast(id core.GoroutineID, needs []core.Need) error {
	return t.JoinPastBefore(int32(len(t.Events)), id, needs)
}

// JoinPastBefore is joinPast for an operation that was there before event e.
func (t *Trace) JoinPastBefore(e int32, id core.GoroutineID, needs []core.Need) error {
	t.Now = Zeros(t.Now, len(t.Goroutines))
	t.deferred = t.deferred[:0]
	if g, known := t.GoroutineOf.Of(id); known {
		log, last := &t.Goroutines[g], int32(-1)
		if n := len(log.Events); n > 0 {
			last = log.Events[n-1]
			t.Now.Join(t.ClockOf(last))
		}
		for i := len(log.wakes) - 1; i >= 0 && log.wakes[i] > last; i-- {
			if log.wakes[i] < e {
				t.Now.Join(t.ClockOf(log.wakes[i]))
			}
		}
	}
	if n := len(t.barriers); n > 0 && !t.Includes(t.Now, t.barriers[n-1]) {
		if barrier := t.barriers[n-1]; t.Events[barrier].forced {
			t.Now.Join(t.ClockOf(barrier))
			return nil
		}
		if len(needs) == 0 {
			return core.WrongLog(len(t.Events), "goroutine %#x is enabled, and was so already at the "+
				"barrier of step %d, "+
				"which is scheduled only when nothing is (is what woke it missing from "+
				"Starts?)", uint64(id), t.barriers[n-1])
		}
		t.deferred = append(t.deferred, t.barriers[n-1])
	}
	return nil
}

// joinDeferred adds to now what happened before without being in a race.
func (t *Trace) joinDeferred() {
	for _, e := range t.deferred {
		t.Now.Join(t.ClockOf(e))
	}
}

// record appends the event that x, with the clock now and the summarized uses, is.
func (t *Trace) record(g int32, x *core.Transition) {
	e := int32(len(t.Events))
	log := &t.Goroutines[g]
	log.Events = append(log.Events, e)
	t.Now[g] = int32(len(log.Events))
	t.Clocks = append(t.Clocks, t.Now.trimmed()...)
	t.accesses = append(t.accesses, x.Accesses...)
	t.needs = append(t.needs, x.Needs...)
	t.starts = append(t.starts, x.Starts...)
	t.Events = append(t.Events, Event{
		Action: x.Action, Choices: x.Choices, Barrier: x.Barrier, forced: x.Forced,
		SingleAccess: x.SingleAccess,
		Number:       g, Ordinal: t.Now[g],
		End: t.end(),
	})
	for _, id := range x.Starts {
		woken := &t.Goroutines[t.goroutine(id)]
		woken.wakes = append(woken.wakes, e)
	}
	if x.Barrier {
		t.barriers = append(t.barriers, e)
	}
	for i := t.Begin(e).uses; int(i) < len(t.Uses); i++ {
		t.Objects[t.Uses[i].Object].append(e, i, t.Uses[i])
		if t.Uses[i].Counts() {
			t.Counting = append(t.Counting, e)
		}
		if t.Uses[i].meets() {
			t.Meeting = append(t.Meeting, e)
		}
	}
}

// CountsFrom reports whether event e or a later one changes a counter.
func (t *Trace) CountsFrom(e int32) bool {
	n := len(t.Counting)
	return n > 0 && t.Counting[n-1] >= e
}

func (o *ObjectLog) append(e, slot int32, u use) {
	step := int32(1)
	if u.Kinds == 1<<core.Commute && u.Delta < 0 {
		step = 0
	}
	o.Uses = append(o.Uses, objectUse{Event: e, Use: slot, steps: o.stepsBefore(len(o.Uses)) + step})
	for kind := range o.byKind {
		if u.Kinds&(1<<kind) != 0 {
			o.byKind[kind] = append(o.byKind[kind], e)
		}
	}
}

func (o *ObjectLog) stepsBefore(i int) int32 {
	if i == 0 {
		return 0
	}
	return o.Uses[i-1].steps
}

// Truncate removes all events from number n on.
func (t *Trace) Truncate(n int) {
	for e := int32(len(t.Events)) - 1; e >= int32(n); e-- {
		t.pop(e)
	}
	t.pasts = t.pasts[:t.Begin(int32(len(t.Events))).pasts]
}

// pop removes the last event, e, and the goroutines and objects that first
// appeared in it.
func (t *Trace) pop(e int32) {
	x, begin := &t.Events[e], t.Begin(e)
	for _, u := range t.UsesOf(e) {
		if u.Counts() {
			t.Counting = t.Counting[:len(t.Counting)-1]
		}
		if u.meets() {
			t.Meeting = t.Meeting[:len(t.Meeting)-1]
		}
		o := &t.Objects[u.Object]
		o.Uses = o.Uses[:len(o.Uses)-1]
		for kind := range o.byKind {
			if u.Kinds&(1<<kind) != 0 {
				o.byKind[kind] = o.byKind[kind][:len(o.byKind[kind])-1]
			}
		}
	}
	for _, id := range t.startsOf(e) {
		woken := &t.Goroutines[t.goroutine(id)]
		woken.wakes = woken.wakes[:len(woken.wakes)-1]
	}
	log := &t.Goroutines[x.Number]
	log.Events = log.Events[:len(log.Events)-1]
	t.dropUnused()
	if x.Barrier {
		t.barriers = t.barriers[:len(t.barriers)-1]
	}
	t.Clocks, t.accesses, t.needs = t.Clocks[:begin.Clocks], t.accesses[:begin.accesses],
		t.needs[:begin.needs]
	t.Uses, t.starts = t.Uses[:begin.uses], t.starts[:begin.starts]
	t.Events = t.Events[:e]
}

// dropUnused drops the last goroutines and objects that are in no event.
func (t *Trace) dropUnused() {
	for n := len(t.Objects); n > 0 && len(t.Objects[n-1].Uses) == 0; n = len(t.Objects) {
		t.ObjectOf.drop()
		t.Objects = t.Objects[:n-1]
	}
	for n := len(t.Goroutines); n > 0 && t.Goroutines[n-1].unused(); n = len(t.Goroutines) {
		t.GoroutineOf.drop()
		t.Goroutines = t.Goroutines[:n-1]
	}
}

// KeptFor is where the step is noted that was last put in a wakeup tree for an event, or for that
// of an earlier execution in the same place of the goroutine: most likely they are equal. There are
// no more of them than a goroutine has had events.
func (t *Trace) KeptFor(e int32) **Step {
	log, i := &t.Goroutines[t.Events[e].Number], int(t.Events[e].Ordinal)-1
	for len(log.kept) <= i {
		log.kept = append(log.kept, nil)
	}
	return &log.kept[i]
}

func (g *goroutineLog) unused() bool {
	return len(g.Events) == 0 && len(g.wakes) == 0
}

package explore

import (
	"slices"

	"github.com/tandem-mc/tandem/internal/model"
)

// Limits on what one execution may take. Reaching one is a LogError.
const (
	maxTransitions  = 1 << 22
	maxClockEntries = 1 << 28 // transitions x goroutines, and races x goroutines, 4 bytes each
)

// trace holds the executed events in order and the happens-before relation
// between them: the transitive closure of program order, creation and waking,
// conflicting accesses, and barriers. It is a stack: push and truncate undo each
// other, so that executions with a common prefix share it. Goroutines and
// objects are numbered densely in the order in which they appear.
type trace struct {
	events      []event
	goroutines  []goroutineLog
	objects     []objectLog
	barriers    []int32 // events
	counting    []int32 // events that change counters, once for each
	meeting     []int32 // events that access counters of goroutines that wait, once for each
	goroutineOf numbering[GoroutineID]
	objectOf    numbering[ObjectID]

	// Slabs that the events point into.
	clocks   []int32
	accesses []Access
	needs    []Need
	uses     []use
	starts   []GoroutineID
	pasts    []int32 // clocks of the races that end in the event, and then of others found with it

	generation uint64 // number of calls of summarize

	// Of the event that is being pushed:
	now        clock   // what happens before it, as far as joined
	candidates []int32 // earlier events that conflict with it
	deferred   []int32 // of these, those that could not be exchanged with it
	races      []race
}

// event is an executed transition.
type event struct {
	Action
	choices   int
	goroutine int32
	ordinal   int32 // 1 for the first event of the goroutine
	barrier   bool
	forced    bool
	settled   bool
	end       extent
}

// extent is where in the slabs the part of an event ends; it begins where that of
// the event before ends.
type extent struct{ clocks, accesses, needs, uses, starts, pasts int32 }

// clock is a vector clock: at index g the number of events of goroutine g that
// happened before an event, or are it. What it is too short for is 0.
type clock []int32

func (c clock) join(other clock) {
	for g, n := range other {
		c[g] = max(c[g], n)
	}
}

// of returns the entry of a goroutine.
func (c clock) of(g int32) int32 {
	if int(g) >= len(c) {
		return 0
	}
	return c[g]
}

// trimmed is the clock without zeros at its end.
func (c clock) trimmed() clock {
	for len(c) > 0 && c[len(c)-1] == 0 {
		c = c[:len(c)-1]
	}
	return c
}

// use sums up the accesses of one event to one object.
type use struct {
	object int32
	delta  int32 // of the counter
	count  int32 // before the first of the accesses
	kinds  kinds
	ready  uint8 // as count
}

// counts reports whether it changes a counter that must not get below zero (dpor.overdraws).
func (u use) counts() bool { return u.kinds == 1<<Commute && u.ready&model.CountsWaiting == 0 }

// meets reports whether it is of a counter of goroutines that wait for partners.
func (u use) meets() bool { return u.ready&model.CountsWaiting != 0 }

type goroutineLog struct {
	events []int32
	wakes  []int32 // events that created or woke it
	kept   []*step // for each event, see keptFor: nil, or from its place in this execution or an earlier one
}

type objectLog struct {
	uses   []objectUse
	byKind [model.AccessKinds][]int32 // events with an access of that kind

	seen uint64 // generation of summarize in which slot is valid
	slot int32  // in trace.uses
}

type objectUse struct {
	event int32
	use   int32 // in trace.uses
	// steps counts the uses up to this one that are anything else than a counter
	// going down.
	steps int32
}

func newTrace() *trace { return &trace{} }

// begin returns where in the slabs the part of event e begins.
func (t *trace) begin(e int32) extent {
	if e == 0 {
		return extent{}
	}
	return t.events[e-1].end
}

// end returns where the slabs end.
func (t *trace) end() extent {
	return extent{int32(len(t.clocks)), int32(len(t.accesses)), int32(len(t.needs)), int32(len(t.uses)), int32(len(t.starts)), int32(len(t.pasts))}
}

func (t *trace) clockOf(e int32) clock {
	return clock(t.clocks[t.begin(e).clocks:t.events[e].end.clocks])
}

func (t *trace) accessesOf(e int32) []Access {
	return t.accesses[t.begin(e).accesses:t.events[e].end.accesses]
}

func (t *trace) needsOf(e int32) []Need {
	return t.needs[t.begin(e).needs:t.events[e].end.needs]
}

func (t *trace) usesOf(e int32) []use {
	return t.uses[t.begin(e).uses:t.events[e].end.uses]
}

func (t *trace) startsOf(e int32) []GoroutineID {
	return t.starts[t.begin(e).starts:t.events[e].end.starts]
}

// includes reports whether event e happened before the event of clock c, or is it.
func (t *trace) includes(c clock, e int32) bool {
	x := &t.events[e]
	return int(x.goroutine) < len(c) && c[x.goroutine] >= x.ordinal
}

// after returns the index of the first event of goroutine g after event e among all
// of the goroutine, or how many those are.
func (t *trace) after(g, e int32) int {
	events := t.goroutines[g].events
	if len(events) == 0 || events[len(events)-1] <= e {
		return len(events)
	}
	i, _ := slices.BinarySearch(events, e+1)
	return i
}

// firstAfter returns the first event of goroutine g after event e.
func (t *trace) firstAfter(g, e int32) (int32, bool) {
	events, i := t.goroutines[g].events, t.after(g, e)
	if i == len(events) {
		return 0, false
	}
	return events[i], true
}

// goroutine returns the number of a goroutine.
func (t *trace) goroutine(id GoroutineID) int32 {
	g, ok := t.goroutineOf.of(id)
	if !ok {
		g = t.goroutineOf.add(id)
		t.goroutines = extend(t.goroutines)
		log := &t.goroutines[g]
		log.events, log.wakes = log.events[:0], log.wakes[:0]
	}
	return g
}

// object returns the number of an object.
func (t *trace) object(id ObjectID) int32 {
	o, ok := t.objectOf.of(id)
	if !ok {
		o = t.objectOf.add(id)
		t.objects = extend(t.objects)
		log := &t.objects[o]
		log.uses = log.uses[:0]
		for kind := range log.byKind {
			log.byKind[kind] = log.byKind[kind][:0]
		}
	}
	return o
}

// extend makes s longer by one element, which keeps what a truncated element had
// there, so that its slices are used again.
func extend[T any](s []T) []T {
	if len(s) < cap(s) {
		return s[:len(s)+1]
	}
	var zero T
	return append(s, zero)
}

// push appends transition x and returns the races that end in it, latest first.
// They are valid until the next push.
func (t *trace) push(x *Transition) ([]race, error) {
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
		t.findRaces(operation{x.Needs, t.uses[t.begin(int32(len(t.events))).uses:]})
		t.joinDeferred()
	}
	t.record(g, x)
	return t.races, nil
}

// summarize appends the uses that accesses amount to.
func (t *trace) summarize(accesses []Access) {
	t.generation++
	for _, a := range accesses {
		if a.Object == 0 {
			continue
		}
		o := t.object(a.Object)
		log := &t.objects[o]
		if log.seen != t.generation {
			log.seen, log.slot = t.generation, int32(len(t.uses))
			t.uses = append(t.uses, use{object: o, ready: a.Ready, count: a.Count})
		}
		u := &t.uses[log.slot]
		u.kinds |= 1 << a.Kind
		u.delta += a.Delta
	}
}

// joinAll sets now to the whole past.
func (t *trace) joinAll() {
	t.now = zeros(t.now, len(t.goroutines))
	for g := range t.goroutines {
		t.now[g] = int32(len(t.goroutines[g].events))
	}
}

// joinPast sets now to what happened before an operation of a goroutine whatever
// it does: its last event and those that woke it since. The last barrier too,
// unless the goroutine was then blocked, and could have gone on before.
func (t *trace) joinPast(id GoroutineID, needs []Need) error {
	return t.joinPastBefore(int32(len(t.events)), id, needs)
}

// joinPastBefore is joinPast for an operation that was there before event e.
func (t *trace) joinPastBefore(e int32, id GoroutineID, needs []Need) error {
	t.now = zeros(t.now, len(t.goroutines))
	t.deferred = t.deferred[:0]
	if g, known := t.goroutineOf.of(id); known {
		log, last := &t.goroutines[g], int32(-1)
		if n := len(log.events); n > 0 {
			last = log.events[n-1]
			t.now.join(t.clockOf(last))
		}
		for i := len(log.wakes) - 1; i >= 0 && log.wakes[i] > last; i-- {
			if log.wakes[i] < e {
				t.now.join(t.clockOf(log.wakes[i]))
			}
		}
	}
	if n := len(t.barriers); n > 0 && !t.includes(t.now, t.barriers[n-1]) {
		if barrier := t.barriers[n-1]; t.events[barrier].forced {
			t.now.join(t.clockOf(barrier))
			return nil
		}
		if len(needs) == 0 {
			return logError(len(t.events), "goroutine %#x is enabled, and was so already at the barrier of step %d, "+
				"which is scheduled only when nothing is (is what woke it missing from Starts?)", uint64(id), t.barriers[n-1])
		}
		t.deferred = append(t.deferred, t.barriers[n-1])
	}
	return nil
}

// joinDeferred adds to now what happened before without being in a race.
func (t *trace) joinDeferred() {
	for _, e := range t.deferred {
		t.now.join(t.clockOf(e))
	}
}

// record appends the event that x, with the clock now and the summarized uses, is.
func (t *trace) record(g int32, x *Transition) {
	e := int32(len(t.events))
	log := &t.goroutines[g]
	log.events = append(log.events, e)
	t.now[g] = int32(len(log.events))
	t.clocks = append(t.clocks, t.now.trimmed()...)
	t.accesses = append(t.accesses, x.Accesses...)
	t.needs = append(t.needs, x.Needs...)
	t.starts = append(t.starts, x.Starts...)
	t.events = append(t.events, event{
		Action: x.Action, choices: x.Choices, barrier: x.Barrier, forced: x.Forced, settled: x.Settled,
		goroutine: g, ordinal: t.now[g],
		end: t.end(),
	})
	for _, id := range x.Starts {
		woken := &t.goroutines[t.goroutine(id)]
		woken.wakes = append(woken.wakes, e)
	}
	if x.Barrier {
		t.barriers = append(t.barriers, e)
	}
	for i := t.begin(e).uses; int(i) < len(t.uses); i++ {
		t.objects[t.uses[i].object].append(e, i, t.uses[i])
		if t.uses[i].counts() {
			t.counting = append(t.counting, e)
		}
		if t.uses[i].meets() {
			t.meeting = append(t.meeting, e)
		}
	}
}

// countsFrom reports whether event e or a later one changes a counter.
func (t *trace) countsFrom(e int32) bool {
	n := len(t.counting)
	return n > 0 && t.counting[n-1] >= e
}

func (o *objectLog) append(e, slot int32, u use) {
	step := int32(1)
	if u.kinds == 1<<Commute && u.delta < 0 {
		step = 0
	}
	o.uses = append(o.uses, objectUse{event: e, use: slot, steps: o.stepsBefore(len(o.uses)) + step})
	for kind := range o.byKind {
		if u.kinds&(1<<kind) != 0 {
			o.byKind[kind] = append(o.byKind[kind], e)
		}
	}
}

func (o *objectLog) stepsBefore(i int) int32 {
	if i == 0 {
		return 0
	}
	return o.uses[i-1].steps
}

// truncate removes all events from number n on.
func (t *trace) truncate(n int) {
	for e := int32(len(t.events)) - 1; e >= int32(n); e-- {
		t.pop(e)
	}
	t.pasts = t.pasts[:t.begin(int32(len(t.events))).pasts]
}

// pop removes the last event, e, and the goroutines and objects that first
// appeared in it.
func (t *trace) pop(e int32) {
	x, begin := &t.events[e], t.begin(e)
	for _, u := range t.usesOf(e) {
		if u.counts() {
			t.counting = t.counting[:len(t.counting)-1]
		}
		if u.meets() {
			t.meeting = t.meeting[:len(t.meeting)-1]
		}
		o := &t.objects[u.object]
		o.uses = o.uses[:len(o.uses)-1]
		for kind := range o.byKind {
			if u.kinds&(1<<kind) != 0 {
				o.byKind[kind] = o.byKind[kind][:len(o.byKind[kind])-1]
			}
		}
	}
	for _, id := range t.startsOf(e) {
		woken := &t.goroutines[t.goroutine(id)]
		woken.wakes = woken.wakes[:len(woken.wakes)-1]
	}
	log := &t.goroutines[x.goroutine]
	log.events = log.events[:len(log.events)-1]
	t.dropUnused()
	if x.barrier {
		t.barriers = t.barriers[:len(t.barriers)-1]
	}
	t.clocks, t.accesses, t.needs = t.clocks[:begin.clocks], t.accesses[:begin.accesses], t.needs[:begin.needs]
	t.uses, t.starts = t.uses[:begin.uses], t.starts[:begin.starts]
	t.events = t.events[:e]
}

// dropUnused drops the last goroutines and objects that are in no event.
func (t *trace) dropUnused() {
	for n := len(t.objects); n > 0 && len(t.objects[n-1].uses) == 0; n = len(t.objects) {
		t.objectOf.drop()
		t.objects = t.objects[:n-1]
	}
	for n := len(t.goroutines); n > 0 && t.goroutines[n-1].unused(); n = len(t.goroutines) {
		t.goroutineOf.drop()
		t.goroutines = t.goroutines[:n-1]
	}
}

// keptFor is where the step is noted that was last put in a wakeup tree for an event, or for that of an earlier execution in the
// same place of the goroutine: most likely they are equal. There are no more of them than a goroutine has had events.
func (t *trace) keptFor(e int32) **step {
	log, i := &t.goroutines[t.events[e].goroutine], int(t.events[e].ordinal)-1
	for len(log.kept) <= i {
		log.kept = append(log.kept, nil)
	}
	return &log.kept[i]
}

func (g *goroutineLog) unused() bool {
	return len(g.events) == 0 && len(g.wakes) == 0
}

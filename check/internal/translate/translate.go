// Package translate turns schedules of the search into those of a worker, and logs of a worker into
// executions of the search.
package translate

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut"
)

// Translator turns schedules of the search into those of a worker and logs of a worker into
// executions of the search. It reuses its memory: what it returns is valid until its next use. Only
// one goroutine may use it. A pool hands translators from executor to executor, with what they
// hold.
type Translator struct {
	execution explore.Execution
	accesses  []explore.Access
	intended  []explore.Access // of pending operations
	needs     []explore.Need
	starts    []explore.GoroutineID
	enabled   []explore.Alternative
	spans     []span // of the transitions
	turn      turn
	// How many goroutines of the program there are now beside main. Those that are blocked count:
	// the search wants to know how many cannot go on.
	spawned   int
	pending   []pending
	isPending bool // what was begun last is the last of these, no transition
	partners  []explore.Pending
	partnered int // how many there are to be
	prefix    []model.Action
	sleep     []sut.Sleeper
	from      Source // of the log that it holds; else zero
}

// Source is where a log comes from. Most logs begin as the one before of the same worker, and are
// translated from there on. The zero value is a log of unknown origin, which is translated from the
// start.
type Source struct {
	worker *sut.Worker
	number int
	Same   int // Worker.LastLog
}

// SourceOf is where the log comes from that a worker has returned last.
func SourceOf(w *sut.Worker) Source {
	s := Source{worker: w}
	s.number, s.Same = w.LastLog()
	return s
}

// span says where in the Translator's slices the part of a transition begins, and what was known
// there; they are cut only when they have stopped growing.
type span struct {
	lengths
	event   int // that begins it
	turn    turn
	needed  int // so many needs are its own
	chosen  int // how many alternatives there are with its own, which precede it
	spawned int
}

// lengths are how long the Translator's slices are before an event.
type lengths struct{ accesses, starts, enabled, needs, pending, intended, partners, estimates int }

// pending is an operation that was pending: at the end, or until a transition completed it as that
// of a partner.
type pending struct {
	explore.Pending
	partner                           bool
	late                              bool // the partner has come in the transition itself
	accesses, intended, needs, needed int
}

// Schedule leaves out the clock, which is not picked but advances by itself. The result shares the
// translator's memory.
func (t *Translator) Schedule(s explore.Schedule) sut.Schedule {
	t.prefix = t.prefix[:0]
	sleepFrom, newFrom := 0, 0 // s.SleepFrom and s.New without the clock's actions
	for i, a := range s.Prefix {
		if i == s.SleepFrom {
			sleepFrom = len(t.prefix)
		}
		if i == s.New {
			newFrom = len(t.prefix)
		}
		if a.Goroutine != 0 {
			t.prefix = append(t.prefix, a)
		}
	}
	if s.New >= len(s.Prefix) {
		newFrom = len(t.prefix)
	}
	out := sut.Schedule{
		Naming: sut.Naming{States: s.States, StatesFrom: newFrom},
		Prefix: t.prefix, SleepFrom: sleepFrom, Tentative: s.Tentative,
		WantEnabled: s.WantEnabled, Seed: s.Seed, EarlyTimers: s.EarlyTimers,
		Preemptions: s.Limits.Preemptions, Delays: s.Limits.Delays,
	}
	guide(&out, s)
	t.sleep = t.sleep[:0]
	for _, sleeper := range s.Sleep {
		t.sleep = append(t.sleep, sut.Sleeper{Action: sleeper.Action, Accesses: sleeper.Accesses})
	}
	out.Sleep = t.sleep
	return out
}

// guide says how goroutines are picked beyond the prefix. At most one of priorities, partial order,
// and walk is set.
func guide(out *sut.Schedule, s explore.Schedule) {
	for _, h := range s.Holds {
		out.Holds = append(out.Holds, sut.Hold(h))
	}
	for _, r := range s.Rare {
		out.Rare = append(out.Rare, sut.Rare{Kind: rareKinds[r.Kind], At: r.At})
	}
	switch {
	case s.Priorities != nil:
		out.Priorities = &sut.Priorities{Changes: s.Priorities.Changes}
	case s.Order == explore.PartialOrder:
		out.PartialOrder = true
	case s.Order == explore.Walk:
		out.Walk = &sut.Walk{Objects: s.Objects}
		for _, w := range s.Weights {
			out.Walk.Weights = append(out.Walk.Weights, sut.Weight(w))
		}
	}
}

// rareKinds gives the worker's kind for each of the search's.
var rareKinds = [explore.RareKinds]sut.RareKind{
	explore.NetworkFault: sut.RareFault, explore.ShortRead: sut.RareShortRead,
	explore.ShortWrite: sut.RareShortWrite,
	explore.EarlyTimer: sut.RareEarlyTimer, explore.SignalArrival: sut.RareSignal,
}

// Log turns the events of an execution into transitions. from tells how much of the log is the same
// as before. The rest is translated anew.
func (t *Translator) Log(l *sut.Log, from Source) (explore.Execution, error) {
	outcome, err := Outcome(l)
	if err != nil {
		return explore.Execution{}, err
	}
	// The translation can go on only from the log before, of the same worker.
	same := 0
	if t.from.worker == from.worker && t.from.number+1 == from.number {
		same = from.Same
	}
	t.from = from
	t.execution.Outcome, t.execution.Weight, t.execution.Timers = outcome, l.Weight, l.Timers
	for kind, of := range rareKinds {
		t.execution.RarePoints[kind] = l.RarePoints[of]
	}
	kept, next := t.goBack(same)
	capacities := t.capacities()
	for i := next; i < len(l.Events); i++ {
		t.event(&l.Events[i], i)
		t.turn.take(&l.Events[i])
	}
	t.cut(kept, capacities)
	return t.execution, nil
}

// goBack empties the Translator but for those transitions that were made of the first events, as
// many as given. It returns how many these are, and which event comes next.
func (t *Translator) goBack(events int) (kept, next int) {
	for kept = len(t.spans) - 1; kept >= 0 && t.spans[kept].event >= events; kept-- {
	}
	var at span // the last transition that begins with one of them may go on in another way
	if kept >= 0 {
		at = t.spans[kept]
	}
	kept = max(kept, 0)
	t.execution.Transitions, t.spans = t.execution.Transitions[:kept], t.spans[:kept]
	t.accesses, t.starts, t.enabled = t.accesses[:at.accesses], t.starts[:at.starts], t.enabled[:at.enabled]
	t.needs, t.pending, t.intended = t.needs[:at.needs], t.pending[:at.pending], t.intended[:at.intended]
	t.partnered, t.turn, t.spawned = at.partners, at.turn, at.spawned
	t.execution.Estimates = t.execution.Estimates[:at.estimates]
	return kept, at.event
}

// lengths are those of now.
func (t *Translator) lengths() lengths {
	return lengths{
		len(t.accesses), len(t.starts), len(t.enabled), len(t.needs), len(t.pending), len(t.intended),
		t.partnered, len(t.execution.Estimates),
	}
}

// capacities are how long slices of which transitions have parts can become without moving. If one
// of them changes, a slice has moved, and the parts of earlier transitions refer to the old one.
func (t *Translator) capacities() [5]int {
	return [...]int{cap(t.accesses), cap(t.starts), cap(t.enabled), cap(t.needs), cap(t.partners)}
}

// event takes the next event of a log, at index i.
func (t *Translator) event(e *sut.Event, i int) {
	switch e.Kind {
	case sut.Stepped:
		x := t.begin(i)
		x.Action, x.Choices = e.Action(), int(e.Choices)
		x.Barrier, x.Forced, x.SingleAccess = e.Operation == sut.Exit, e.Forced(), e.SingleAccess()
		x.ReadsClock, x.Place = e.Operation == sut.ReadClock, e.PC+e.Open<<1
		t.need(e, e.Object)
	case sut.Ticked:
		if e.TicksWithin() {
			return // a part of the transition that has begun
		}
		x := t.begin(i)
		t.enabled = append(t.enabled, explore.Alternative{Choices: 1}) // nothing else could have happened
		t.spans[len(t.spans)-1].chosen++
		x.Action, x.Choices = explore.Action{}, 1
		x.Barrier, x.Forced, x.SingleAccess = true, e.Forced(), false
		x.ReadsClock, x.Place = false, 0
	case sut.Accessed:
		t.accesses = append(t.accesses, access(e, e.Subject))
	case sut.Estimated:
		t.execution.Estimates = append(t.execution.Estimates,
			explore.Estimated{At: len(t.spans) - 1, Value: e.Estimate()})
	case sut.Ended:
		t.spawned--
	case sut.Spawned, sut.Woke:
		if e.Kind == sut.Spawned {
			t.spawned++
		}
		t.starts = append(t.starts, e.Goroutine())
	case sut.Enabled:
		t.enabled = append(t.enabled, explore.Alternative{
			Goroutine: e.Goroutine(), Choices: int(e.Choices), Rests: t.turn.rests(e),
		})
	case sut.Pending:
		t.pend(e, false)
		t.need(e, e.Object)
		if e.Object != 0 && !e.Operation.HasArms() {
			t.intend(e, e.Object)
		}
	case sut.Partnered:
		t.pend(e, true)
	case sut.Needed:
		t.need(e, e.Subject)
	case sut.Intended:
		t.intend(e, e.Subject)
	}
}

// pend begins a pending operation. Where it is that of a partner which the transition itself has
// started or woken, the search does not count it: it was not pending before.
func (t *Translator) pend(e *sut.Event, partner bool) {
	p := pending{partner: partner, accesses: len(t.intended), needs: len(t.needs)}
	p.Goroutine, p.Enabled = e.Goroutine(), e.CanGoOn()
	if partner {
		s := &t.spans[len(t.spans)-1]
		if p.late = slices.Contains(t.starts[s.starts:], p.Goroutine); !p.late {
			t.partnered++
		}
	}
	t.pending, t.isPending = append(t.pending, p), true
}

// need adds a wait condition to what was begun last. A condition with nothing to wait for is left
// out.
func (t *Translator) need(e *sut.Event, object uint64) {
	if e.Ready == 0 {
		return
	}
	n := explore.Need{Object: explore.ObjectID(object), Mask: e.Ready}
	if e.Kind == sut.Needed {
		n.Own = e.Self()
	}
	t.needs = append(t.needs, n)
	if t.isPending {
		t.pending[len(t.pending)-1].needed++
	} else {
		t.spans[len(t.spans)-1].needed++
	}
}

// intend adds an access that a pending operation would have made.
func (t *Translator) intend(e *sut.Event, object uint64) {
	a := access(e, object)
	// An operation that cannot go on makes nothing ready.
	if p := &t.pending[len(t.pending)-1]; e.Kind == sut.Pending && !p.Enabled {
		a.Ready = 0
	}
	t.intended = append(t.intended, a)
	t.pending[len(t.pending)-1].intended++
}

// begin begins a transition, which is still what was in its place in the log before; cut sets what
// it does not return.
func (t *Translator) begin(event int) *explore.Transition {
	list := slices.Grow(t.execution.Transitions, 1)
	list = list[:len(list)+1]
	t.execution.Transitions, t.isPending = list, false
	t.spans = append(t.spans, span{lengths: t.lengths(), event: event, turn: t.turn, chosen: len(t.enabled),
		spawned: t.spawned})
	// The reader of the log does not check that goroutines end only once. A wrong number misleads a
	// directed search, and no other, and costs it time.
	x := &list[len(list)-1]
	x.Alive = 1 + max(t.spawned, 0)
	return x
}

// cut hands each transition its accesses, starts and partners, which follow its beginning in the
// log, and its alternatives, which precede it. The first ones have theirs, unless slices have
// moved.
func (t *Translator) cut(kept int, before [5]int) {
	t.cutPending()
	if t.capacities() != before {
		kept = 0
	}
	first := 0
	if kept > 0 {
		first = t.spans[kept-1].chosen
	}
	for i := kept; i < len(t.spans); i++ {
		s, end := &t.spans[i], t.lengths()
		if i+1 < len(t.spans) {
			end = t.spans[i+1].lengths
		}
		x := &t.execution.Transitions[i]
		x.Accesses = t.accesses[s.accesses:end.accesses:end.accesses]
		x.Starts = t.starts[s.starts:end.starts:end.starts]
		x.Enabled = t.enabled[first:s.chosen:s.chosen]
		x.Needs = t.needs[s.needs : s.needs+s.needed : s.needs+s.needed]
		x.Partners = t.partners[s.partners:end.partners:end.partners]
		first = s.chosen
	}
}

// cutPending hands each pending operation what it waited for and would have accessed, and tells
// partners from the others. The slices share the translator's memory, like those of transitions.
func (t *Translator) cutPending() {
	t.partners, t.execution.Pending = t.partners[:0], t.execution.Pending[:0]
	for i := range t.pending {
		p := &t.pending[i]
		p.Needs = t.needs[p.needs : p.needs+p.needed : p.needs+p.needed]
		p.Accesses = t.intended[p.accesses : p.accesses+p.intended : p.accesses+p.intended]
		switch {
		case p.late:
		case p.partner:
			t.partners = append(t.partners, p.Pending)
		default:
			t.execution.Pending = append(t.execution.Pending, p.Pending)
		}
	}
}

// access is an access to an object. Only some events have a counter, or what is added to it.
func access(e *sut.Event, object uint64) explore.Access {
	a := explore.Access{Object: explore.ObjectID(object), Kind: e.Access, Ready: e.Ready}
	if e.Kind == sut.Intended {
		a.Count = e.Counter()
	}
	if e.Kind == sut.Accessed {
		a.Delta, a.Count = e.Delta(), e.Counter()
	}
	return a
}

// Outcome maps how an execution ended; an error is an end that says nothing about the program.
func Outcome(l *sut.Log) (explore.Outcome, error) {
	switch l.Outcome {
	case sut.Completed, sut.Crashed, sut.Known:
		return explore.Completed, nil
	case sut.Deadlock:
		return explore.Deadlock, nil
	case sut.Panicked, sut.Fatal:
		return explore.Panicked, nil
	case sut.Exited:
		return explore.Exited, nil
	case sut.AssertionFailed:
		return explore.AssertionFailed, nil
	case sut.Leaked:
		return explore.Leaked, nil
	case sut.DataRace:
		return explore.DataRace, nil
	case sut.Livelock:
		return explore.Livelock, nil
	case sut.Redundant:
		return explore.Redundant, nil
	case sut.StepLimit, sut.LogLimit, sut.RoundLimit, sut.OtherLimit, sut.Unjudged:
		return explore.StepLimit, nil
	case sut.Diverged:
		return 0, fmt.Errorf("the program is not deterministic: the schedule could not be followed "+
			"at choice %d; something reaches it that is not controlled", l.Position)
	}
	return 0, fmt.Errorf("the worker reported an impossible outcome: %v", l.Outcome)
}

// Size is about how many bytes a translator holds. The size counts capacities, since that is what a
// kept translator takes.
func (t *Translator) Size() int {
	accesses, pendings := cap(t.accesses)+cap(t.intended), cap(t.pending)
	return cap(t.execution.Transitions)*int(unsafe.Sizeof(explore.Transition{})) +
		cap(t.spans)*int(unsafe.Sizeof(span{})) + accesses*int(unsafe.Sizeof(explore.Access{})) +
		cap(t.needs)*int(unsafe.Sizeof(explore.Need{})) +
		cap(t.enabled)*int(unsafe.Sizeof(explore.Alternative{})) + 8*cap(t.starts) +
		16*cap(t.prefix) + pendings*int(unsafe.Sizeof(pending{})) +
		cap(t.partners)*int(unsafe.Sizeof(explore.Pending{}))
}

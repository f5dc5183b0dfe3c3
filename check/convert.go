package check

import (
	"fmt"
	"slices"

	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/sut"
)

// translator turns schedules of the search into those of a worker and logs of a
// worker into executions of the search. It reuses its memory: what it returns
// is valid until its next use.
type translator struct {
	execution explore.Execution
	accesses  []explore.Access
	intended  []explore.Access // of pending operations
	needs     []explore.Need
	starts    []explore.GoroutineID
	enabled   []explore.Alternative
	spans     []span // of the transitions
	turn      turn
	pending   []pending
	isPending bool // what was begun last is the last of these, no transition
	partners  []explore.Pending
	prefix    []sut.Choice
	sleep     []sut.Sleeper
	asleep    []sut.Access // of sleepers
}

// span says where in the translator's slices the part of a transition begins, and
// how many needs and partners it has; they are cut only when they have stopped growing.
type span struct{ accesses, starts, enabled, needs, needed, partners int }

// pending is an operation that was pending: at the end, or until a transition
// completed it as that of a partner.
type pending struct {
	explore.Pending
	partner                           bool
	late                              bool // the partner has come in the transition itself
	accesses, intended, needs, needed int
}

// schedule leaves out the clock, which is not picked but advances by itself.
func (t *translator) schedule(s explore.Schedule) sut.Schedule {
	t.prefix = t.prefix[:0]
	sleepFrom := 0 // s.SleepFrom without the clock's actions
	for i, a := range s.Prefix {
		if i == s.SleepFrom {
			sleepFrom = len(t.prefix)
		}
		if a.Goroutine != 0 {
			t.prefix = append(t.prefix, sut.Choice{Goroutine: uint64(a.Goroutine), Alternative: a.Choice})
		}
	}
	out := sut.Schedule{
		Prefix: t.prefix, SleepFrom: sleepFrom, Tentative: s.Tentative, WantEnabled: s.WantEnabled, Seed: s.Seed,
		Preemptions: s.Limits.Preemptions, Delays: s.Limits.Delays,
	}
	if s.Priorities != nil {
		out.Priorities = &sut.Priorities{Changes: s.Priorities.Changes}
	}
	t.sleep, t.asleep = t.sleep[:0], t.asleep[:0]
	for _, sleeper := range s.Sleep {
		from := len(t.asleep)
		for _, a := range sleeper.Accesses {
			t.asleep = append(t.asleep, sut.Access{Object: uint64(a.Object), Kind: accessKinds[a.Kind], Delta: a.Delta})
		}
		t.sleep = append(t.sleep, sut.Sleeper{
			Choice: sut.Choice{Goroutine: uint64(sleeper.Goroutine), Alternative: sleeper.Choice}, Accesses: t.asleep[from:len(t.asleep):len(t.asleep)],
		})
	}
	out.Sleep = t.sleep
	return out
}

var accessKinds = [...]sut.AccessKind{
	explore.Read: sut.Read, explore.Write: sut.Write, explore.Commute: sut.Commute,
}

func searchKind(k sut.AccessKind) explore.AccessKind {
	switch k {
	case sut.Read:
		return explore.Read
	case sut.Commute:
		return explore.Commute
	}
	return explore.Write
}

// log turns the events of an execution into transitions.
func (t *translator) log(l *sut.Log) (explore.Execution, error) {
	outcome, err := searchOutcome(l)
	if err != nil {
		return explore.Execution{}, err
	}
	x := &t.execution
	x.Outcome, x.Weight = outcome, l.Weight
	x.Transitions, x.Pending = x.Transitions[:0], x.Pending[:0]
	t.accesses, t.starts, t.enabled, t.spans = t.accesses[:0], t.starts[:0], t.enabled[:0], t.spans[:0]
	t.needs, t.pending, t.partners, t.intended = t.needs[:0], t.pending[:0], t.partners[:0], t.intended[:0]
	t.turn = turn{}
	for i := range l.Events {
		t.event(&l.Events[i])
		t.turn.take(&l.Events[i])
	}
	t.cut()
	return *x, nil
}

func (t *translator) event(e *sut.Event) {
	switch e.Kind {
	case sut.Stepped:
		x := t.begin()
		x.Action, x.Choices = explore.Action{Goroutine: explore.GoroutineID(e.Subject), Choice: int(e.Number)}, int(e.Choices)
		x.Barrier, x.Forced = e.Operation == sut.Exit, false
		t.need(e, e.Object)
	case sut.Ticked:
		if e.Number == sut.TickEarly {
			return // a part of the transition that has begun
		}
		t.enabled = append(t.enabled, explore.Alternative{Choices: 1}) // nothing else could have happened
		x := t.begin()
		x.Action, x.Choices = explore.Action{}, 1
		x.Barrier, x.Forced = true, e.Number == sut.TickForced
	case sut.Accessed:
		t.accesses = append(t.accesses, access(e, e.Subject))
	case sut.Spawned, sut.Woke:
		t.starts = append(t.starts, explore.GoroutineID(e.Subject))
	case sut.Enabled:
		t.enabled = append(t.enabled, explore.Alternative{Goroutine: explore.GoroutineID(e.Subject), Choices: int(e.Choices), Rests: t.turn.rests(e)})
	case sut.Pending:
		t.pend(e, false)
		t.need(e, e.Object)
		if e.Object != 0 && !channelOperation(e.Operation) {
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

func (t *translator) pend(e *sut.Event, partner bool) {
	p := pending{partner: partner, accesses: len(t.intended), needs: len(t.needs)}
	p.Goroutine, p.Enabled = explore.GoroutineID(e.Subject), e.Number != 0
	if partner {
		s := &t.spans[len(t.spans)-1]
		if p.late = slices.Contains(t.starts[s.starts:], p.Goroutine); !p.late {
			s.partners++
		}
	}
	t.pending, t.isPending = append(t.pending, p), true
}

// need adds a wait condition to what was begun last.
func (t *translator) need(e *sut.Event, object uint64) {
	if e.Ready == 0 {
		return
	}
	n := explore.Need{Object: explore.ObjectID(object), Mask: e.Ready}
	if e.Kind == sut.Needed {
		n.Own = uint8(e.Number)
	}
	t.needs = append(t.needs, n)
	if t.isPending {
		t.pending[len(t.pending)-1].needed++
	} else {
		t.spans[len(t.spans)-1].needed++
	}
}

// intend adds an access that a pending operation would have made.
func (t *translator) intend(e *sut.Event, object uint64) {
	a := access(e, object)
	if p := &t.pending[len(t.pending)-1]; e.Kind == sut.Pending && !p.Enabled {
		a.Ready = 0
	}
	t.intended = append(t.intended, a)
	t.pending[len(t.pending)-1].intended++
}

// channelOperation reports whether what a pending operation waits for and would
// access is in events of its own.
func channelOperation(o sut.Operation) bool {
	return o == sut.ChannelSend || o == sut.ChannelReceive || o == sut.Select
}

// begin begins a transition, which is still what was in its place in the log before; cut sets what it does not return.
func (t *translator) begin() *explore.Transition {
	list := slices.Grow(t.execution.Transitions, 1)
	list = list[:len(list)+1]
	t.execution.Transitions, t.isPending = list, false
	t.spans = append(t.spans, span{accesses: len(t.accesses), starts: len(t.starts), enabled: len(t.enabled), needs: len(t.needs)})
	return &list[len(list)-1]
}

// cut hands each transition its accesses, starts and partners, which follow its
// beginning in the log, and its alternatives, which precede it.
func (t *translator) cut() {
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
	partners := t.partners
	for i, s := range t.spans {
		end := span{accesses: len(t.accesses), starts: len(t.starts)}
		if i+1 < len(t.spans) {
			end = t.spans[i+1]
		}
		first := 0
		if i > 0 {
			first = t.spans[i-1].enabled
		}
		x := &t.execution.Transitions[i]
		x.Accesses = t.accesses[s.accesses:end.accesses:end.accesses]
		x.Starts = t.starts[s.starts:end.starts:end.starts]
		x.Enabled = t.enabled[first:s.enabled:s.enabled]
		x.Needs = t.needs[s.needs : s.needs+s.needed : s.needs+s.needed]
		x.Partners, partners = partners[:s.partners:s.partners], partners[s.partners:]
	}
}

func access(e *sut.Event, object uint64) explore.Access {
	a := explore.Access{Object: explore.ObjectID(object), Kind: searchKind(e.Access), Ready: e.Ready}
	if e.Kind == sut.Intended {
		a.Count = int32(e.Object)
	}
	if e.Kind == sut.Accessed {
		a.Delta, a.Count = int32(e.Number), int32(e.Object)
	}
	return a
}

// searchOutcome maps how an execution ended; an error is an end that says
// nothing about the program.
func searchOutcome(l *sut.Log) (explore.Outcome, error) {
	switch l.Outcome {
	case sut.Completed:
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
	case sut.Redundant:
		return explore.Redundant, nil
	case sut.StepLimit, sut.LogLimit, sut.RoundLimit:
		return explore.StepLimit, nil
	case sut.Diverged:
		return 0, fmt.Errorf("the program is not deterministic: the schedule could not be followed at choice %d; something reaches it that is not controlled", l.Position)
	}
	return 0, fmt.Errorf("the worker reported an impossible outcome: %v", l.Outcome)
}

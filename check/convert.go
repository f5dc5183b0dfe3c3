package check

import (
	"fmt"

	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/sut"
)

// translator turns schedules of the search into those of a worker and logs of a
// worker into executions of the search. It reuses its memory: what it returns
// is valid until its next use.
type translator struct {
	execution explore.Execution
	accesses  []explore.Access
	starts    []explore.GoroutineID
	enabled   []explore.Alternative
	spans     []span
	prefix    []sut.Choice
}

// span says which of the translator's accesses, starts and alternatives belong
// to a transition; slices are cut only when the backing arrays have stopped growing.
type span struct{ accesses, starts, enabled int }

// schedule leaves out the clock, which is not picked but advances by itself.
func (t *translator) schedule(s explore.Schedule) sut.Schedule {
	t.prefix = t.prefix[:0]
	for _, a := range s.Prefix {
		if a.Goroutine != 0 {
			t.prefix = append(t.prefix, sut.Choice{Goroutine: uint64(a.Goroutine), Alternative: a.Choice})
		}
	}
	out := sut.Schedule{Prefix: t.prefix, WantEnabled: s.WantEnabled, Seed: s.Seed}
	for _, sleeper := range s.Sleep {
		x := sut.Sleeper{Choice: sut.Choice{Goroutine: uint64(sleeper.Goroutine), Alternative: sleeper.Choice}}
		for _, a := range sleeper.Accesses {
			x.Accesses = append(x.Accesses, sut.Access{Object: uint64(a.Object), Kind: accessKinds[a.Kind], Delta: a.Delta})
		}
		out.Sleep = append(out.Sleep, x)
	}
	return out
}

var accessKinds = map[explore.AccessKind]sut.AccessKind{
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
	x.Outcome = outcome
	x.Transitions, x.Pending = x.Transitions[:0], x.Pending[:0]
	t.accesses, t.starts, t.enabled, t.spans = t.accesses[:0], t.starts[:0], t.enabled[:0], t.spans[:0]
	for i := range l.Events {
		t.event(&l.Events[i])
	}
	t.cut()
	return *x, nil
}

func (t *translator) event(e *sut.Event) {
	x := &t.execution
	switch e.Kind {
	case sut.Stepped:
		t.begin(explore.Transition{
			Action:  explore.Action{Goroutine: explore.GoroutineID(e.Subject), Choice: int(e.Number)},
			Choices: int(e.Choices), Need: need(e), Barrier: e.Operation == sut.Exit,
		})
	case sut.Ticked:
		t.enabled = append(t.enabled, explore.Alternative{Choices: 1}) // nothing else could have happened
		t.begin(explore.Transition{Choices: 1, Barrier: true})
	case sut.Accessed:
		t.accesses = append(t.accesses, access(e, e.Subject))
	case sut.Spawned, sut.Woke:
		t.starts = append(t.starts, explore.GoroutineID(e.Subject))
	case sut.Enabled:
		t.enabled = append(t.enabled, explore.Alternative{Goroutine: explore.GoroutineID(e.Subject), Choices: int(e.Choices)})
	case sut.Pending:
		x.Pending = append(x.Pending, explore.Pending{
			Goroutine: explore.GoroutineID(e.Subject), Need: need(e),
			Access: access(e, e.Object), Enabled: e.Number != 0,
		})
	}
}

func (t *translator) begin(x explore.Transition) {
	t.execution.Transitions = append(t.execution.Transitions, x)
	t.spans = append(t.spans, span{len(t.accesses), len(t.starts), len(t.enabled)})
}

// cut hands each transition its accesses and starts, which follow its
// beginning in the log, and its alternatives, which precede it.
func (t *translator) cut() {
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
	}
}

func need(e *sut.Event) explore.Need {
	if e.Ready == 0 {
		return explore.Need{}
	}
	return explore.Need{Object: explore.ObjectID(e.Object), Mask: e.Ready}
}

func access(e *sut.Event, object uint64) explore.Access {
	a := explore.Access{Object: explore.ObjectID(object), Kind: searchKind(e.Access), Ready: e.Ready}
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
	case sut.Redundant:
		return explore.Redundant, nil
	case sut.StepLimit, sut.LogLimit, sut.RoundLimit:
		return explore.StepLimit, nil
	case sut.Diverged:
		return 0, fmt.Errorf("the program is not deterministic: the schedule could not be followed at choice %d; something reaches it that is not controlled", l.Position)
	}
	return 0, fmt.Errorf("the worker reported an impossible outcome: %v", l.Outcome)
}

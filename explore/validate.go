package explore

import (
	"fmt"
	"slices"

	"github.com/tandem-mc/tandem/internal/model"
)

// validate checks what can be checked of a transition by itself.
func (t *trace) validate(x *Transition) error {
	step := len(t.events)
	problem := ""
	switch {
	case step >= maxTransitions:
		problem = fmt.Sprintf("more than %d transitions in one execution; lower the step limit", maxTransitions)
	case len(t.clocks)+len(t.goroutines) >= maxClockEntries || len(t.pasts) >= maxClockEntries:
		problem = fmt.Sprintf("more than %d transitions x goroutines, or races x goroutines; lower the step limit", maxClockEntries)
	case x.Choices < 1 || x.Choice < 0 || x.Choice >= x.Choices:
		problem = fmt.Sprintf("%s is not one of %d choices", x.Action, x.Choices)
	case x.Settled && !x.settles():
		problem = fmt.Sprintf("%s is said to make one access at most, wherever it is executed, but made %v", x.Action, x.Accesses)
	}
	if problem != "" {
		return logError(step, "%s", problem)
	}
	for i, a := range x.Accesses {
		if a.Kind >= model.AccessKinds {
			return logError(step, "access %d is of unknown kind %d", i, a.Kind)
		}
	}
	for _, n := range x.Needs {
		if n.Mask == 0 || n.Mask >= model.ReadyMasks {
			return logError(step, "unknown wait condition %#x", n.Mask)
		}
	}
	if len(x.Needs) > 0 && !slices.ContainsFunc(x.Needs, func(n Need) bool { return metBy(n, x.Accesses) }) {
		return logError(step, "%s ran although nothing that it waited for held: %v", x.Action, x.Needs)
	}
	return nil
}

// settles reports whether a transition may be Settled.
func (x *Transition) settles() bool {
	for i, a := range x.Accesses {
		if i > 0 && (a.Kind != Commute || a.Ready&model.CountsWaiting == 0) {
			return false
		}
	}
	return true
}

// metBy reports whether the first access to the object of a need found it to hold.
func metBy(n Need, accesses []Access) bool {
	i := slices.IndexFunc(accesses, func(a Access) bool { return a.Object == n.Object })
	return i >= 0 && n.holds(accesses[i].Ready, accesses[i].Count)
}

// checkReplay compares event e with what the replay of its action was.
func (t *trace) checkReplay(e int32, x *Transition) error {
	event := &t.events[e]
	diverged := func(want, got any) error {
		return &DivergenceError{Step: int(e), Want: fmt.Sprintf("%s with %v", x.Action, want), Got: fmt.Sprint(got)}
	}
	switch accesses, needs, starts := t.accessesOf(e), t.needsOf(e), t.startsOf(e); {
	case event.choices != x.Choices:
		return diverged(fmt.Sprint(event.choices, " choices"), x.Choices)
	case !slices.Equal(needs, x.Needs):
		return diverged(needs, x.Needs)
	case event.barrier != x.Barrier || event.forced != x.Forced || event.settled != x.Settled:
		return diverged(fmt.Sprintf("barrier %v, forced %v, settled %v", event.barrier, event.forced, event.settled),
			fmt.Sprintf("%v, %v, %v", x.Barrier, x.Forced, x.Settled))
	case !slices.Equal(accesses, x.Accesses):
		return diverged(accesses, x.Accesses)
	case !slices.Equal(starts, x.Starts):
		return diverged(starts, x.Starts)
	}
	return nil
}

package trace

import (
	"fmt"
	"slices"

	"github.com/tandem-mc/tandem/explore/internal/core"
)

// validate checks what can be checked of a transition by itself.
func (t *Trace) validate(x *core.Transition) error {
	step := len(t.Events)
	problem := ""
	switch {
	case step >= core.MaxTransitions:
		problem = fmt.Sprintf("more than %d transitions in one execution; lower the step "+
			"limit", core.MaxTransitions)
	case len(t.Clocks)+len(t.Goroutines) >= maxClockEntries || len(t.pasts) >= maxClockEntries:
		problem = fmt.Sprintf("more than %d transitions x goroutines, or races x goroutines; lower the "+
			"step limit", maxClockEntries)
	case x.Choices < 1 || x.Choice < 0 || x.Choice >= x.Choices:
		problem = fmt.Sprintf("%s is not one of %d choices", x.Action, x.Choices)
	case x.SingleAccess && !x.MayBeSingleAccess():
		problem = fmt.Sprintf("%s is said to make one access at most, wherever it is executed, but made "+
			"%v", x.Action, x.Accesses)
	}
	if problem != "" {
		return core.WrongLog(step, "%s", problem)
	}
	for i, a := range x.Accesses {
		if a.Kind >= core.AccessKinds {
			return core.WrongLog(step, "access %d is of unknown kind %d", i, a.Kind)
		}
	}
	for _, n := range x.Needs {
		if n.Mask == 0 || n.Mask >= core.ReadyMasks {
			return core.WrongLog(step, "unknown wait condition %#x", n.Mask)
		}
	}
	if len(x.Needs) > 0 && !slices.ContainsFunc(x.Needs,
		func(n core.Need) bool { return metBy(n, x.Accesses) }) {
		return core.WrongLog(step, "%s ran although nothing that it waited for held: %v", x.Action, x.Needs)
	}
	return nil
}

// metBy reports whether the first access to the object of a need found it to hold.
func metBy(n core.Need, accesses []core.Access) bool {
	i := slices.IndexFunc(accesses, func(a core.Access) bool { return a.Object == n.Object })
	return i >= 0 && n.Holds(accesses[i].Ready, accesses[i].Count)
}

// CheckReplay compares event e with what the replay of its action was.
func (t *Trace) CheckReplay(e int32, x *core.Transition) error {
	event := &t.Events[e]
	diverged := func(want, got any) error {
		return &core.DivergenceError{Step: int(e), Want: fmt.Sprintf("%s with %v", x.Action, want),
			Got: fmt.Sprint(got)}
	}
	switch accesses, needs, starts := t.AccessesOf(e), t.NeedsOf(e), t.startsOf(e); {
	case event.Choices != x.Choices:
		return diverged(fmt.Sprint(event.Choices, " choices"), x.Choices)
	case !slices.Equal(needs, x.Needs):
		return diverged(needs, x.Needs)
	case event.Barrier != x.Barrier || event.forced != x.Forced || event.SingleAccess != x.SingleAccess:
		return diverged(fmt.Sprintf("barrier %v, forced %v, single access "+
			"%v", event.Barrier, event.forced, event.SingleAccess),
			fmt.Sprintf("%v, %v, %v", x.Barrier, x.Forced, x.SingleAccess))
	case !slices.Equal(accesses, x.Accesses):
		return diverged(accesses, x.Accesses)
	case !slices.Equal(starts, x.Starts):
		return diverged(starts, x.Starts)
	}
	return nil
}

// Digest is a hash of what was executed in event e.
func (t *Trace) Digest(e int32) uint64 {
	x := &t.Events[e]
	h := core.Mix(uint64(x.Goroutine))
	add := func(n uint64) { h = core.Mix(h + n) }
	add(uint64(x.Choice))
	add(uint64(x.Choices))
	for _, a := range t.AccessesOf(e) {
		add(uint64(a.Object))
		add(uint64(a.Kind)<<8 | uint64(a.Ready))
		add(uint64(uint32(a.Delta))<<32 | uint64(uint32(a.Count)))
	}
	for _, n := range t.NeedsOf(e) {
		add(uint64(n.Object))
		add(uint64(n.Mask)<<8 | uint64(n.Own))
	}
	for _, g := range t.startsOf(e) {
		add(uint64(g))
	}
	for bit, is := range [...]bool{x.Barrier, x.forced, x.SingleAccess} {
		if is {
			add(1 << bit)
		}
	}
	return h
}

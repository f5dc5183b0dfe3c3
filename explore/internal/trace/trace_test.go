package trace_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/explore/internal/core"
	"github.com/tandem-mc/tandem/explore/internal/testkit"
	"github.com/tandem-mc/tandem/explore/internal/trace"
)

// execution is a random execution of a random program.
func execution(t *rapid.T) core.Execution {
	f := rapid.SampledFrom(testkit.Profiles).Draw(t, "profile")
	s := core.Schedule{Seed: rapid.Uint64Range(1, 1<<40).Draw(t, "seed")}
	return testkit.Run(f.Generate(t), s, 0).Log
}

// seen is what a trace shows of an event when it was pushed.
type seen struct {
	Clock trace.Clock
	Races []trace.Race
}

// push pushes the events of an execution from one on.
func push(t *rapid.T, to *trace.Trace, e core.Execution, from int) []seen {
	all := []seen{}
	for i := from; i < len(e.Transitions); i++ {
		races, err := to.Push(&e.Transitions[i])
		if err != nil {
			t.Fatalf("event %d: %v", i, err)
		}
		s := seen{Clock: slices.Clone(to.ClockOf(int32(i)))}
		for _, r := range races {
			r.Past, r.Within = slices.Clone(r.Past), slices.Clone(r.Within)
			s.Races = append(s.Races, r)
		}
		all = append(all, s)
	}
	return all
}

// TestTruncate: what was undone leaves nothing behind: after another execution was pushed and
// undone, the first one has the same clocks and races as in a new trace. So it has on a copy of its
// beginning.
func TestTruncate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e, other := execution(t), execution(t)
		whole := push(t, trace.New(), e, 0)
		used := trace.New()
		push(t, used, other, 0)
		used.Truncate(0)
		if diff := cmp.Diff(whole, push(t, used, e, 0)); diff != "" {
			t.Fatalf("after another execution (-new +used):\n%s", diff)
		}
		n := rapid.IntRange(0, len(e.Transitions)).Draw(t, "length")
		spare := trace.New()
		push(t, spare, other, 0)
		prefix := trace.Prefix(used, n, spare)
		used.Truncate(n)
		if diff := cmp.Diff(whole[n:], push(t, used, e, n)); diff != "" {
			t.Fatalf("after event %d was undone (-new +used):\n%s", n, diff)
		}
		if diff := cmp.Diff(whole[n:], push(t, prefix, e, n)); diff != "" {
			t.Fatalf("on the first %d events (-new +copy):\n%s", n, diff)
		}
	})
}

// TestClocks: an event is after another one exactly if its clock includes that one and all before
// it, and conflicting events are ordered.
func TestClocks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := execution(t)
		all := trace.New()
		push(t, all, e, 0)
		for x := range int32(len(e.Transitions)) {
			for y := range x {
				before, transition := all.Includes(all.ClockOf(x), y), &e.Transitions[x]
				conflict := core.Conflict(transition.Accesses, e.Transitions[y].Accesses)
				same := transition.Goroutine == e.Transitions[y].Goroutine
				if !before && (conflict || same || transition.Barrier) {
					t.Fatalf("events %d and %d are not ordered", y, x)
				}
				for z := range y {
					if before && all.Includes(all.ClockOf(y), z) && !all.Includes(all.ClockOf(x), z) {
						t.Fatalf("%d is before %d, and that before %d, but not it", z, y, x)
					}
				}
			}
		}
	})
}

// TestAfter: the events of a goroutine after another event are those that a walk over all finds.
func TestAfter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := execution(t)
		all := trace.New()
		push(t, all, e, 0)
		for g := range int32(len(all.Goroutines)) {
			events := all.Goroutines[g].Events
			for x := int32(-1); x <= int32(len(e.Transitions)); x++ {
				want := 0
				for want < len(events) && events[want] <= x {
					want++
				}
				if got := all.After(g, x); got != want {
					t.Fatalf("%v after %d: index %d, want %d", events, x, got, want)
				}
			}
		}
	})
}

// TestRacesCanBeReversed: the events of a race are not ordered by others between them.
func TestRacesCanBeReversed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := execution(t)
		all := trace.New()
		for x, s := range push(t, all, e, 0) {
			for _, r := range s.Races {
				if int(r.Event) >= x || e.Transitions[r.Event].Goroutine == e.Transitions[x].Goroutine {
					t.Fatalf("event %d is in a race with %d", x, r.Event)
				}
				if all.Includes(r.Past, r.Event) {
					t.Fatalf("what has to run before event %d includes %d, with which it is in a race", x,
						r.Event)
				}
			}
		}
	})
}

package audit

import (
	"errors"
	"fmt"
	"testing"

	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/iocache"
)

// TestSchedules: the first execution with several connections is followed by First audits, and then
// one of the sample by one. Executions with one connection have none.
func TestSchedules(t *testing.T) {
	a := New(nil, nil)
	for i, step := range []struct {
		connections int
		sampled     bool
		want        int
	}{{1, true, 0}, {0, true, 0}, {2, false, First}, {2, false, 0}, {3, true, 1}, {1, true, 0}} {
		got := a.Schedules(Of(explore.Schedule{}, 10, step.connections, step.sampled))
		if len(got) != step.want {
			t.Errorf("step %d: %d schedules, want %d", i, len(got), step.want)
		}
	}
}

// TestOtherOrders: after the first execution of all, the schedules are random ones of three kinds
// by turns, no two the same. Where priorities change, and what is rare, is within the transitions.
func TestOtherOrders(t *testing.T) {
	const transitions = 7
	kinds, seen := map[int]int{}, map[string]bool{}
	for _, s := range New(nil, nil).Schedules(Of(explore.Schedule{}, transitions, 2, false)) {
		kind := 0
		if s.Priorities != nil {
			kind = 1 + len(s.Priorities.Changes)
			for _, at := range s.Priorities.Changes {
				if at < 1 || at > transitions {
					t.Errorf("priorities change at %d of %d transitions", at, transitions)
				}
			}
		}
		kinds[kind]++
		for _, r := range s.Rare {
			if r.At < 1 || r.At > transitions {
				t.Errorf("something rare is at %d of %d transitions", r.At, transitions)
			}
		}
		if text := fmt.Sprint(s.Seed); s.Seed == 0 || seen[text] {
			t.Errorf("seed %s is there twice, or none", text)
		} else {
			seen[text] = true
		}
	}
	if kinds[0] != First/3 || kinds[1] != First/3 || kinds[2] != First/3 {
		t.Errorf("kinds of schedules: %v", kinds)
	}
}

// TestSampleFollowsFromTheSchedule: the seed of an execution depends on the goroutines of its
// prefix and on their order, and on nothing that differs between two who run it.
func TestSampleFollowsFromTheSchedule(t *testing.T) {
	schedule := func(goroutines ...int) explore.Schedule {
		var s explore.Schedule
		for _, g := range goroutines {
			s.Prefix = append(s.Prefix, model.Action{Goroutine: model.GoroutineID(g)})
		}
		return s
	}
	of := func(goroutines ...int) uint64 { return Of(schedule(goroutines...), 5, 2, true).Seed }
	seen := map[uint64]bool{of(): true, of(1): true, of(2): true, of(1, 2): true, of(2, 1): true}
	if len(seen) != 5 {
		t.Errorf("five schedules have %d seeds", len(seen))
	}
	early := schedule(1, 2)
	early.Most = 7 // a bound of a search that another one may not have
	if got := *Of(early, 5, 2, true); got != *Of(schedule(1, 2), 5, 2, true) {
		t.Errorf("the sample is %+v", got)
	}
}

// TestContradicts: only what the cache says of connections is a contradiction.
func TestContradicts(t *testing.T) {
	for _, err := range []error{nil, errors.New("another"), &explore.DivergenceError{}} {
		if Contradicts(err) {
			t.Errorf("%v is taken for a contradiction", err)
		}
	}
	for _, err := range []error{&iocache.Inconsistency{}, &iocache.Dependence{}} {
		if !Contradicts(fmt.Errorf("auditing: %w", err)) {
			t.Errorf("%T is no contradiction", err)
		}
	}
}

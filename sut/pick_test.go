package sut_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut"
)

// TestPickingWithoutLooking: where it is plain who is picked next, a worker neither looks at
// the other goroutines nor parks the one that runs. Random schedules, and those of which all
// alternatives are to be logged, are run without that; the same choices, prescribed, with it.
func TestPickingWithoutLooking(t *testing.T) {
	for _, scenario := range []string{"primitives", "memory", "timers", "random", "counter", "deadlock",
		"select", "sealed", "files", "panic"} {
		w := start(t, sut.Snapshot, scenario)
		for seed := range uint64(30) {
			want := copyLog(run(t, w, sut.Schedule{Seed: seed + 1, WantEnabled: seed%2 == 0}, nil))
			want.Events = slices.DeleteFunc(want.Events,
				func(e sut.Event) bool { return e.Kind == sut.Enabled })
			want.Weight = 1 // nothing is picked at random
			var prefix []model.Action
			for _, e := range want.Events {
				if e.Kind == sut.Stepped {
					taken := model.Action{Goroutine: model.GoroutineID(e.Subject), Choice: int(e.Number)}
					prefix = append(prefix, taken)
				}
			}
			if diff := cmp.Diff(want, copyLog(run(t, w, sut.Schedule{Prefix: prefix}, nil))); diff != "" {
				t.Fatalf("%s, seed %d: the same choices, prescribed, give another log:\n%s", scenario,
					seed+1, diff)
			}
		}
	}
}

// TestStepLimitWhereverItIs: an execution that is cut off tells what was pending, also
// of the goroutine that would have gone on.
func TestStepLimitWhereverItIs(t *testing.T) {
	w := start(t, sut.Snapshot, "primitives")
	steps := stepsOf(run(t, w, sut.Schedule{}, nil))
	for limit := 1; limit < steps; limit++ {
		short := copyLog(run(t, w, sut.Schedule{Steps: limit}, nil))
		looked := copyLog(run(t, w, sut.Schedule{Steps: limit, WantEnabled: true}, nil))
		looked.Events = slices.DeleteFunc(looked.Events,
			func(e sut.Event) bool { return e.Kind == sut.Enabled })
		if diff := cmp.Diff(looked, short); diff != "" {
			t.Fatalf("limit %d: %v; with and without looking at the others:\n%s", limit, short.Outcome, diff)
		}
		if short.Outcome != sut.StepLimit || stepsOf(&short) != limit {
			t.Fatalf("limit %d: %v after %d transitions", limit, short.Outcome, stepsOf(&short))
		}
	}
}

func stepsOf(l *sut.Log) (n int) {
	for _, e := range l.Events {
		if e.Kind == sut.Stepped {
			n++
		}
	}
	return n
}

package sut_test

import (
	"slices"
	"testing"

	"github.com/tandem-mc/tandem/sut"
)

// mix is the finaliser of splitmix64, as the worker has it.
func mix(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}

// TestPriorities: of the goroutines that can be picked, the one of the highest priority always
// is: one that follows from the seed and its name, until it changes.
func TestPriorities(t *testing.T) {
	switches := 0
	for _, scenario := range []string{"counter", "primitives", "select", "sealed", "timers", "deadlock"} {
		w := start(t, sut.Snapshot, scenario)
		for seed := range uint64(40) {
			s := sut.Schedule{Seed: seed + 1, WantEnabled: true,
				Priorities: &sut.Priorities{Changes: []int{int(mix(seed)%40) + 1, int(mix(seed+99)%40) + 1}}}
			switches += checkPriorities(t, s, run(t, w, s, nil).Events)
			if t.Failed() {
				t.Fatalf("%s, seed %d", scenario, s.Seed)
			}
		}
	}
	if switches < 50 {
		t.Errorf("goroutines were switched %d times at changes: too little was seen", switches)
	}
}

// checkPriorities returns how often a change had another goroutine go on.
func checkPriorities(t *testing.T, s sut.Schedule, events []sut.Event) (switches int) {
	t.Helper()
	changed := map[uint64]uint64{}
	priority := func(g uint64) uint64 {
		if p, ok := changed[g]; ok {
			return p
		}
		return mix(s.Seed^mix(g)) | 1<<63
	}
	var enabled []uint64
	step, lowered := 0, uint64(0) // who had a change in the last step
	for _, e := range events {
		switch e.Kind {
		case sut.Enabled:
			enabled = append(enabled, e.Subject)
		case sut.Stepped:
			for _, g := range enabled {
				if priority(g) > priority(e.Subject) {
					t.Errorf("step %d is one of %#x with priority %#x, and %#x has %#x", step+1, e.Subject,
						priority(e.Subject), g, priority(g))
				}
			}
			if lowered != 0 && e.Subject != lowered && slices.Contains(enabled, lowered) {
				switches++
			}
			step++
			enabled, lowered = nil, 0
			for i, at := range s.Priorities.Changes {
				if at == step {
					changed[e.Subject], lowered = uint64(i), e.Subject
				}
			}
		}
	}
	return switches
}

// TestPrioritiesAreFair: a goroutine of high priority that waits in a loop lets the others go on.
func TestPrioritiesAreFair(t *testing.T) {
	w := start(t, sut.Snapshot, "spinlock")
	ends := map[sut.Outcome]int{}
	for seed := range uint64(100) {
		ends[run(t, w, sut.Schedule{Seed: seed + 1,
			Priorities: &sut.Priorities{Changes: []int{1 + int(seed%20)}}, Steps: 2000}, nil).Outcome]++
	}
	if ends[sut.Completed] != 100 {
		t.Errorf("outcomes %v, want all to complete", ends)
	}
}

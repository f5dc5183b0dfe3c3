package sut_test

import (
	"math"
	"slices"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut"
)

var guided = []string{"counter", "primitives", "select", "sealed", "timers", "deadlock", "memory", "signals",
	"short timers"}

// TestHolds: a goroutine that is held is picked only if no other can be, and then it is the first
// in the list of which that is true, whatever else the schedule says. No signal arrives before
// that. Readings of the clock, which are transitions only with early timers, are not counted.
func TestHolds(t *testing.T) {
	held, released := 0, 0
	for _, scenario := range guided {
		w := startIn(t, sut.Snapshot, sut.Environment{Signals: []syscall.Signal{syscall.SIGINT},
			SignalLimit: 2}, scenario)
		ids := goroutinesOf(run(t, w, sut.Schedule{}, nil).Events)
		for seed := range uint64(60) {
			s := sut.Schedule{WantEnabled: true, Seed: seed / 2, EarlyTimers: int(seed % 3),
				Random: sut.Random{PartialOrder: seed%8 == 4}, Steps: 5000}
			if seed%8 == 6 {
				s.Priorities = &sut.Priorities{}
			}
			for i := range 1 + seed%5 {
				r := mix(100*seed + i)
				s.Holds = append(s.Holds,
					sut.Hold{Goroutine: ids[r%uint64(len(ids))], Nth: 1 + int(r>>32%6),
						Reading: max(0, int(r>>48%6)-3)})
			}
			log := run(t, w, s, nil)
			again := copyLog(log)
			kept, freed := checkHolds(t, s, log.Events)
			held, released = held+kept, released+freed
			if diff := cmp.Diff(again, copyLog(run(t, w, s, nil))); diff != "" || t.Failed() {
				t.Fatalf("%s, %+v: run again, it differs:\n%s", scenario, s, diff)
			}
		}
	}
	if held < 100 || released < 100 {
		t.Errorf("goroutines were held %d times, and released %d times: too little was seen", held, released)
	}
}

func goroutinesOf(events []sut.Event) (ids []model.GoroutineID) {
	for _, e := range events {
		if id := model.GoroutineID(e.Subject); e.Kind == sut.Stepped && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// passage is how far a goroutine has come.
type passage struct{ transitions, readings int }

// before is what would hold a goroutine before an operation.
func (p passage) before(g uint64, op sut.Operation) sut.Hold {
	h := sut.Hold{Goroutine: model.GoroutineID(g), Nth: p.transitions + 1}
	if op == sut.ReadClock {
		h.Reading = p.readings + 1
	}
	return h
}

// checkHolds looks at each pick: how often goroutines were held, and released.
func checkHolds(t *testing.T, s sut.Schedule, events []sut.Event) (held, released int) {
	t.Helper()
	done, free := map[uint64]passage{}, map[sut.Hold]bool{}
	var enabled []sut.Hold // before what the goroutines that can be picked are about to do
	others, step := 0, 0
	for _, e := range events {
		if e.Kind != sut.Enabled && e.Kind != sut.Stepped {
			continue
		}
		h := done[e.Subject].before(e.Subject, e.Operation)
		isHeld := slices.Contains(s.Holds, h) && !free[h]
		outside := e.Operation == sut.Advance || e.Operation == sut.SignalArrive
		if e.Kind == sut.Enabled {
			enabled = append(enabled, h)
			if isHeld {
				held++
			} else if !outside {
				others++
			}
			continue
		}
		first := slices.IndexFunc(s.Holds, func(h sut.Hold) bool {
			return slices.Contains(enabled, h) && !free[h]
		})
		allHeld := others == 0 && first >= 0
		if allHeld && e.Operation == sut.SignalArrive && s.Holds[first] != h {
			t.Errorf("step %d: a signal arrives while all goroutines are held: %+v", step+1, enabled)
		}
		if allHeld && e.Operation != sut.Advance {
			free[s.Holds[first]] = true
			released++
		}
		if step++; step > 1 && slices.Contains(s.Holds, h) && !free[h] {
			t.Errorf("step %d: %+v is picked, of %+v", step, h, enabled)
		}
		enabled, others = nil, 0
		at := done[e.Subject]
		if at.readings++; e.Operation != sut.ReadClock {
			at = passage{transitions: at.transitions + 1}
		}
		done[e.Subject] = at
	}
	return held, released
}

// TestHoldsEndWhereOthersWaitInLoops: a goroutine for which others wait in a loop is released, and
// the execution is not cut off for going round in it.
func TestHoldsEndWhereOthersWaitInLoops(t *testing.T) {
	w := start(t, sut.Snapshot, "spinlock")
	ids := goroutinesOf(run(t, w, sut.Schedule{}, nil).Events)
	for nth := range 6 {
		for _, g := range ids {
			for seed := range uint64(4) {
				s := sut.Schedule{Holds: []sut.Hold{{Goroutine: g, Nth: nth + 1}}, Seed: seed,
					Steps: 2000, Rounds: 32, Random: sut.Random{PartialOrder: seed == 2}}
				if outcome := run(t, w, s, nil).Outcome; outcome != sut.Completed && seed == 0 ||
					outcome == sut.StepLimit {
					t.Errorf("%+v ends as %v", s, outcome)
				}
			}
		}
	}
}

// TestEarlyTimersOfASchedule: what a schedule allows for one execution is what the environment
// allows for all, where all timers are due within a second, and nothing is left of it in the next
// execution.
func TestEarlyTimersOfASchedule(t *testing.T) {
	for _, scenario := range []string{"short timers", "primitives", "sealed", "in a second", "stopwatch"} {
		w := start(t, sut.Snapshot, scenario)
		for early := range 3 {
			other := startIn(t, sut.Snapshot, sut.Environment{EarlyTimers: early}, scenario)
			for seed := range uint64(8) {
				s := sut.Schedule{Seed: seed, WantEnabled: seed%2 == 0, Steps: 300,
					Random: sut.Random{PartialOrder: seed%3 == 0}}
				for at := range 8 {
					s.Rare = append(s.Rare, sut.Rare{Kind: sut.RareEarlyTimer, At: 1 + at*int(seed)})
				}
				want := copyLog(run(t, other, s, &echoServer{}))
				run(t, w, sut.Schedule{Seed: seed, EarlyTimers: 2 - early, Steps: 300}, &echoServer{})
				s.EarlyTimers = early
				if diff := cmp.Diff(want, copyLog(run(t, w, s, &echoServer{}))); diff != "" {
					t.Fatalf("%s, seed %d, early timers %d:\n%s", scenario, seed, early, diff)
				}
			}
		}
	}
}

// TestPartialOrder: of the pending operations that can be executed, the one of the highest priority
// is, and it follows from the seed, from its goroutine, and from when something has happened last
// that conflicts with it.
func TestPartialOrder(t *testing.T) {
	switches := 0
	for _, scenario := range []string{"counter", "deadlock", "walk"} {
		w := start(t, sut.Snapshot, scenario)
		for seed := range uint64(100) {
			s := sut.Schedule{Seed: seed + 1, WantEnabled: true, Random: sut.Random{PartialOrder: true}}
			switches += checkPartialOrder(t, s, run(t, w, s, nil).Events)
			if t.Failed() {
				t.Fatalf("%s, seed %d", scenario, s.Seed)
			}
		}
	}
	if switches < 100 {
		t.Errorf("another goroutine went on %d times: too little was seen", switches)
	}
}

// checkPartialOrder returns how often another goroutine went on than before.
func checkPartialOrder(t *testing.T, s sut.Schedule, events []sut.Event) (switches int) {
	t.Helper()
	drawn := map[uint64]int{} // for which step
	var enabled []uint64
	step, last := 0, uint64(0)
	for i, e := range events {
		switch e.Kind {
		case sut.Enabled:
			enabled = append(enabled, e.Subject)
		case sut.Stepped:
			step++
			priority := func(g uint64) uint64 {
				if drawn[g] == 0 {
					drawn[g] = step
				}
				return mix(s.Seed^mix(g^mix(uint64(drawn[g])))) | 1
			}
			for _, g := range enabled {
				if step > 1 && priority(g) > priority(e.Subject) {
					t.Errorf("step %d is one of %#x with priority %#x, and %#x has %#x", step, e.Subject,
						priority(e.Subject), g, priority(g))
				}
			}
			if last != e.Subject {
				switches++
			}
			enabled, last = nil, e.Subject
			made := accessesFrom(events[i+1:])
			delete(drawn, e.Subject)
			for g := range drawn {
				if next := pendingAccess(events[i+1:], g); next != nil && conflicts(made, *next) {
					delete(drawn, g)
				}
			}
		}
	}
	return switches
}

// accessesFrom lists those of the transition that has just begun.
func accessesFrom(events []sut.Event) (list []sut.Event) {
	for _, e := range events {
		switch e.Kind {
		case sut.Stepped, sut.Pending:
			return list
		case sut.Accessed:
			list = append(list, e)
		}
	}
	return list
}

// pendingAccess is the one that a goroutine is going to make first, or would have made.
func pendingAccess(events []sut.Event, goroutine uint64) *sut.Event {
	for i, e := range events {
		switch {
		case e.Kind == sut.Pending && e.Subject == goroutine:
			return &sut.Event{Subject: e.Object, Access: e.Access}
		case e.Kind == sut.Stepped && e.Subject == goroutine:
			if list := accessesFrom(events[i+1:]); len(list) > 0 && e.Operation != sut.Resume &&
				e.Operation != sut.Begin {
				return &list[0]
			}
			return nil
		}
	}
	return nil
}

func conflicts(made []sut.Event, next sut.Event) bool {
	return slices.ContainsFunc(made, func(e sut.Event) bool {
		return e.Subject == next.Subject && (e.Access != next.Access || e.Access == model.Write)
	})
}

// TestWalkIsUniform: with the right numbers, any order of the interesting transitions is as likely
// as any other, though there are others, and goroutines that begin later.
func TestWalkIsUniform(t *testing.T) {
	w := start(t, sut.Snapshot, "walk")
	events := slices.Clone(run(t, w, sut.Schedule{}, nil).Events)
	walk := sut.Walk{Objects: []model.ObjectID{storedSeven(events)}}
	walk.Weights = weightsOf(events, walk.Objects[0])
	const executions = 4000
	orders := map[string]int{}
	for seed := range uint64(executions) {
		log := run(t, w, sut.Schedule{Seed: seed + 1, Random: sut.Random{Walk: &walk}}, nil)
		if log.Outcome != sut.Completed {
			t.Fatalf("%v: %s", log.Outcome, log.Stderr)
		}
		orders[string(log.Stdout)]++
	}
	// b, b among seven, and c after the second a: 21 x 3.
	if len(orders) != 63 {
		t.Fatalf("%d orders, want 63: %v", len(orders), orders)
	}
	chi, expected := 0.0, executions/63.
	for _, n := range orders {
		chi += math.Pow(float64(n)-expected, 2) / expected
	}
	// The seeds are fixed. Of 62 degrees of freedom, one of a hundred is above 90.8.
	if t.Logf("chi-square %.1f", chi); chi > 90.8 {
		t.Errorf("the orders are not as likely as each other: chi-square %.1f, %v", chi, orders)
	}
}

// storedSeven is the object that seven stores are on.
func storedSeven(events []sut.Event) model.ObjectID {
	stores := map[uint64]int{}
	for _, e := range events {
		if e.Kind == sut.Accessed && e.Operation == sut.AtomicStore {
			stores[e.Subject]++
		}
	}
	for object, n := range stores {
		if n == 7 {
			return model.ObjectID(object)
		}
	}
	return 0
}

// weightsOf counts the transitions on an object, of goroutines and their descendants.
func weightsOf(events []sut.Event, object model.ObjectID) (list []sut.Weight) {
	parent, count := map[uint64]uint64{}, map[uint64]int{}
	running := uint64(0)
	for _, e := range events {
		switch {
		case e.Kind == sut.Stepped:
			running = e.Subject
		case e.Kind == sut.Spawned:
			parent[e.Subject] = running
		case e.Kind == sut.Accessed && e.Subject == uint64(object):
			for g := running; g != 0; g = parent[g] {
				count[g]++
			}
		}
	}
	for g, n := range count {
		list = append(list, sut.Weight{Goroutine: model.GoroutineID(g), Events: n})
	}
	slices.SortFunc(list, func(a, b sut.Weight) int {
		if a.Goroutine < b.Goroutine {
			return -1
		}
		return 1
	})
	return list
}

// TestGuideLimits: a schedule that has more than there is room for is refused.
func TestGuideLimits(t *testing.T) {
	w := start(t, sut.Snapshot, "counter")
	for want, s := range map[string]sut.Schedule{
		"the schedule has 1025 holds; the limit is 1024": {Holds: make([]sut.Hold, sut.MaxHolds+1)},
		"the schedule has 1025 weights; the limit is 1024": {
			Random: sut.Random{Walk: &sut.Walk{Weights: make([]sut.Weight, 1025)}}},
		"the schedule has 65 interesting objects; the limit is 64": {
			Random: sut.Random{Walk: &sut.Walk{Objects: make([]model.ObjectID, 65)}}},
		"the schedule has 65 changes of priorities; the limit is 64": {
			Priorities: &sut.Priorities{Changes: make([]int, 65)}},
	} {
		if _, err := w.Run(s, nil); err == nil || err.Error() != want {
			t.Errorf("%v, want: %s", err, want)
		}
	}
	if log := run(t, w, sut.Schedule{}, nil); log.Outcome != sut.Completed {
		t.Errorf("after that, %v", log.Outcome)
	}
}

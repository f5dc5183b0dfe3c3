package portfolio

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/explore/internal/codec"
	"github.com/tandem-mc/tandem/explore/internal/core"
	"github.com/tandem-mc/tandem/explore/internal/dpor"
	"github.com/tandem-mc/tandem/explore/internal/testkit"
)

// learnt are the aims after the first execution of a program.
func learnt(p *testkit.Program, early int) *aims {
	a := newAims(core.Limits{}, early)
	a.learn(&testkit.Run(p, core.Schedule{}, 0).Log)
	return &a
}

// TestAims: the first aimed schedules of a program, and what they come to.
func TestAims(t *testing.T) {
	for name, test := range map[string]struct {
		program string
		early   int
		want    []string // outcomes of the first schedules, in order
	}{
		"a cycle comes first": {"main: go p; go q; recv r0 c\n" +
			"p: lock m; lock n; unlock n; unlock m; send c 1\nq: lock n; lock m; unlock m; unlock n; " +
			"load r0 x", 0, []string{"deadlock"}},
		"what comes between a load and a store": {"main: go p; load r0 x; inc x r0; load r0 x; " +
			"assert r0 2\n" +
			"p: load r0 x; inc x r0", 0, []string{"assertion failed main: r0 is 1, not 2"}},
		"nothing can be overtaken": {"main: go p; load r0 x\np: load r0 x", 0, nil},
		"another alternative": {"main: choose r0 2; assert r0 0", 0,
			[]string{"assertion failed main: r0 is 1, not 0"}},
		"a counter below zero": {"main: go p; load r0 x; add w 1; wait w\np: done w", 0,
			[]string{"panicked p: negative counter"}},
		"time passes": {"main: go p; load r0 x; assert r0 0\np: sleep 1; store x 1", 2,
			[]string{"completed", "assertion failed main: r0 is 1, not 0"}},
		"time does not pass": {"main: go p; load r0 x; assert r0 0\np: sleep 1; store x 1", 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p := testkit.ParseProgram(test.program)
			a := learnt(p, test.early)
			var got []string
			for a.left() > 0 && len(got) < len(test.want) {
				got = append(got, testkit.Run(p, a.next(), 0).Outcome())
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("outcomes (-want +got):\n%s", diff)
			}
			if test.want == nil && a.left() > 0 {
				t.Errorf("%d schedules are aimed", a.left())
			}
		})
	}
}

// TestAimsAreFew: one for each class, however often it is there, and not more than the bound.
func TestAimsAreFew(t *testing.T) {
	loop := testkit.ParseProgram("main: go p; go p; go p; go p\np: lock m; inc x r0; unlock m")
	long := testkit.ParseProgram("main: go p; go q\np: " + strings.Repeat("store x 1; ", 300) +
		"\nq: " + strings.Repeat("store x 2; ", 300))
	if few, many := learnt(loop, 0), learnt(long, 0); few.left() > 12 || many.left() != mostAims {
		t.Errorf("%d and %d schedules", few.left(), many.left())
	}
	a := learnt(loop, 0)
	before := a.left()
	a.learn(&testkit.Run(loop, core.Schedule{Seed: 7}, 0).Log)
	if a.left() != before {
		t.Errorf("%d schedules, and %d after an execution that comes to the same places", before, a.left())
	}
}

// crowd is the log of an execution of main and many goroutines, each of which does the same at the
// places 1, 2, ... to objects of which the function says which.
func crowd(goroutines int, kinds []core.AccessKind, ready uint8,
	object func(goroutine, place int) core.ObjectID) *core.Execution {
	e := &core.Execution{}
	main := core.Transition{Action: core.Action{Goroutine: 1}, Choices: 1}
	for i := range goroutines {
		main.Starts = append(main.Starts, core.GoroutineID(i+2))
	}
	e.Transitions = append(e.Transitions, main)
	for i := range goroutines {
		for place, kind := range kinds {
			x := core.Transition{Action: core.Action{Goroutine: core.GoroutineID(i + 2)}, Choices: 1,
				Place: uint64(place + 1)}
			a := core.Access{Object: object(i, place), Kind: kind}
			if ready != 0 && place < len(kinds)/2 { // it locks, and unlocks later
				x.Needs = []core.Need{{Object: a.Object, Mask: ready}}
				a.Ready = ready
			}
			x.Accesses = []core.Access{a}
			e.Transitions = append(e.Transitions, x)
		}
	}
	return e
}

// TestHoldsAreFew: no schedule holds more goroutines than a schedule can, however many there are.
func TestHoldsAreFew(t *testing.T) {
	const goroutines = 1100
	const read, write = core.Read, core.Write
	for name, e := range map[string]*core.Execution{
		"between": crowd(goroutines, []core.AccessKind{read, write}, 0,
			func(int, int) core.ObjectID { return 1 }),
		"cycle": crowd(goroutines, []core.AccessKind{write, write, write, write}, core.ReadyExclusive,
			func(i, place int) core.ObjectID {
				return core.ObjectID((i+[]int{0, 1, 1, 0}[place])%goroutines + 1)
			}),
	} {
		t.Run(name, func(t *testing.T) {
			beyond := false
			for _, h := range find(e, false) {
				beyond = beyond || len(h.holds) > core.MaxHolds
			}
			if !beyond {
				t.Error("no hint is beyond the limit")
			}
			a, most := newAims(core.Limits{}, 0), 0
			for a.learn(e); a.left() > 0; {
				most = max(most, len(a.next().Holds))
			}
			if most != core.MaxHolds {
				t.Errorf("%d goroutines are held by one schedule, the limit is %d", most, core.MaxHolds)
			}
		})
	}
}

// TestAimsWhereTheClockIsRead: what an execution hints at in which the clock is read in transitions
// of their own leads to the same place where it is not. Before a reading, goroutines are held only
// where there are such transitions.
func TestAimsWhereTheClockIsRead(t *testing.T) {
	const clock = core.ObjectID(9)
	var untimed, timed core.Execution
	for i, access := range []core.Access{{Object: clock}, {Object: 1, Kind: core.Write},
		{Object: clock, Kind: core.Write}, {Object: clock}, {Object: 2, Kind: core.Write},
		{Object: 1, Kind: core.Write}, {Object: 2}} {
		x := core.Transition{Action: core.Action{Goroutine: []core.GoroutineID{3, 3, 2, 3, 3, 5, 5}[i]},
			Choices: 1, Place: uint64(i + 1), Accesses: []core.Access{access}}
		x.ReadsClock = access.Object == clock && access.Kind == core.Read
		timed.Transitions = append(timed.Transitions, x)
		if access.Object != clock {
			untimed.Transitions = append(untimed.Transitions, x)
		}
	}
	list := func(e *core.Execution) map[string]bool {
		a, all := newAims(core.Limits{}, 2), map[string]bool{}
		for a.learn(e); a.left() > 0; {
			s := a.next()
			all[fmt.Sprintf("%v %t", s.Holds, s.EarlyTimers > 0)] = true
		}
		return all
	}
	more := list(&timed)
	for text := range list(&untimed) {
		if !more[text] {
			t.Errorf("%s is not among %v", text, more)
		}
	}
	if before := "[{3 1 1}] "; !more[before+"true"] || more[before+"false"] {
		t.Errorf("%v: before the reading, if time may pass early", more)
	}
}

// TestResumeLongAims: what holds more goroutines than a schedule can is damaged.
func TestResumeLongAims(t *testing.T) {
	for holds, want := range map[int]string{
		core.MaxHolds:     "",
		core.MaxHolds + 1: "it is damaged: an aimed schedule holds 1025 goroutines; the limit is 1024",
	} {
		saved, again := newAims(core.Limits{}, 0), newAims(core.Limits{}, 0)
		list := slices.Repeat([]core.Hold{{Goroutine: 1, Nth: 1, Reading: 2}}, holds)
		saved.queue = append(saved.queue, aim{holds: list})
		var e codec.Encoder
		saved.save(&e, false)
		d := codec.Decoder{Data: e.Data}
		if again.resume(&d); d.Problem != want {
			t.Errorf("%d holds: %q, want %q", holds, d.Problem, want)
		}
		if want == "" && !slices.Equal(again.next().Holds, list) {
			t.Errorf("%d holds do not come back", holds)
		}
	}
}

// TestAimsSaved: what is left is the same after it was saved, and again.
func TestAimsSaved(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := testkit.Profile{Blocks: testkit.Join(testkit.Variables, testkit.Mutexes, testkit.Channels,
			testkit.Choices, testkit.Times)}.Generate(t)
		a, again := learnt(p, 2), newAims(core.Limits{}, 2)
		for range rapid.IntRange(0, a.left()).Draw(t, "begun") {
			a.next()
		}
		var e codec.Encoder
		a.save(&e, false)
		d := codec.Decoder{Data: slices.Clone(e.Data)}
		if again.resume(&d); d.Problem != "" || len(d.Data) > 0 {
			t.Fatalf("%s, %d bytes are left", d.Problem, len(d.Data))
		}
		for a.left() > 0 {
			if x, y := a.next(), again.next(); !x.Equal(&y) {
				t.Fatalf("%+v, saved as %+v", x, y)
			}
		}
		if again.left() > 0 {
			t.Fatalf("%d schedules more", again.left())
		}
	})
}

// sizedTree is a tree that expects so many executions.
type sizedTree struct {
	core.Tree
	all float64
}

func (s sizedTree) Verdict() core.Verdict {
	return core.Verdict{Estimate: core.Estimate{Executions: s.all}}
}

// TestQuota: the number of executions aside never falls. It is half of a long search, and stays
// small as long as the tree can be expected to end within the bound.
func TestQuota(t *testing.T) {
	for _, test := range []struct {
		most int
		all  float64
		half bool
	}{
		{0, 5000, true}, {10_000, 20_000, true}, {10_000, math.Inf(1), true}, {10_000, 7560, false},
		{10_000, 9811, true}, {10_000, 9809, false}, {200_000, 100_000, false},
	} {
		s := New(sizedTree{dpor.New(), test.all}, 1, 0, core.Bounds{})
		s.Most = test.most
		checkQuota(t, s, test.half)
	}
}

// checkQuota has a search go through the turns of its tree.
func checkQuota(t *testing.T, s *Search, half bool) {
	t.Helper()
	s.aims.queue = make([]aim, 40)
	last := 0
	for n := 1; n <= 100_000; n++ {
		if s.phases.Systematic = n; n == s.weighing() {
			s.weigh()
		}
		quota := s.quota(n)
		s.phases.Sampled = quota
		if quota < last {
			t.Fatalf("%d aside after %d, and %d after %d", last, n-1, quota, n)
		}
		long := half && n >= 1000
		if last = quota; !long && quota > 300 || long && (quota > n || 2*quota < n) {
			t.Fatalf("%d aside after %d; at most %d, half: %t", quota, n, s.Most, half)
		}
	}
}

// TestPhases: what the parts have done, in words.
func TestPhases(t *testing.T) {
	var p core.Phases
	for _, x := range []struct {
		by       core.Phase
		violates bool
	}{{core.Systematic, false}, {core.Aimed, false}, {core.Sampled, true}, {core.Systematic, true}} {
		p.Note(x.by, x.violates)
	}
	want := core.Phases{Systematic: 2, Aimed: 1, Sampled: 1, Found: core.Sampled, At: 3}
	if p != want || p.All() != 4 || p.Aside() != 2 {
		t.Errorf("%+v, want %+v", p, want)
	}
}

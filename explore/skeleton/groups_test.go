package skeleton

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

var groupSystems = flag.Int("group-systems", 25, "how many random systems with groups are explored")

// TestRandomGroups: with components in groups, the same outcomes are found as by exploring all
// components together, and skeletons stand for exactly as many executions.
func TestRandomGroups(t *testing.T) {
	testGroups(t, *groupSystems, true, func(r *rand.Rand) (*system, Groups) {
		s := generateOf(3+r.IntN(2), r, r.IntN(2) == 0)
		return s, grouped(r, len(s.machines))
	})
}

// TestGroupsWaitTogether: the same of components that choose what they send before they wait.
func TestGroupsWaitTogether(t *testing.T) {
	testGroups(t, *groupSystems/3, true, func(r *rand.Rand) (*system, Groups) {
		s := generateWaitsOf(3, r)
		return s, grouped(r, len(s.machines))
	})
}

// TestRandomPairs: the same of pairs that have more to do with each other than with the rest.
func TestRandomPairs(t *testing.T) { testGroups(t, *groupSystems, false, generatePairs) }

// TestGroupsWithFaults: the same of systems in which the network does something to messages, at
// most once or twice in an execution. It counts wherever that is, so it is seen from outside.
func TestGroupsWithFaults(t *testing.T) {
	show := func(g Groups) Groups {
		shown := g.Shown
		g.Shown = func(e *Event) bool { return isLate(e) || shown != nil && shown(e) }
		return g
	}
	testGroups(t, *groupSystems/5, true, func(r *rand.Rand) (*system, Groups) {
		s := generateFaulty(3+r.IntN(2), r, r.IntN(2) == 0, 1+r.IntN(2))
		return s, show(grouped(r, len(s.machines)))
	})
	// Each pair may have its message be late, and not both of them.
	testGroups(t, *groupSystems/8, false, func(r *rand.Rand) (*system, Groups) {
		s, g := generatePairs(r)
		s.faults = 1 + r.IntN(2)
		for _, m := range s.machines {
			for _, thread := range m {
				for i := range thread {
					if thread[i].kind == send && r.IntN(2) == 0 {
						thread[i].kind = sendLate
					}
				}
			}
		}
		return s, show(g)
	})
}

// generatePairs makes a random system like that of pairs. What a pair tells the next one, and when,
// may depend on what it has done inside.
func generatePairs(r *rand.Rand) (s *system, g Groups) {
	s = &system{timed: r.IntN(3) == 0}
	groups := 2 + r.IntN(5)/4
	for i := range groups {
		var threads machine
		for t := range 1 + r.IntN(2) {
			stream := fmt.Sprint(anyPlace, i, "thread ", t)
			s.streams = append(s.streams, stream)
			send := op{kind: send, n: 2*i + 1, stream: stream}
			ops := []op{{kind: choose}, send}
			if r.IntN(2) == 0 {
				ops = []op{{kind: receive, stream: fmt.Sprint("back ", i)}, send}
			}
			threads = append(threads, ops[r.IntN(2):])
		}
		on, last := fmt.Sprint("on ", i), fmt.Sprint("on ", (i+groups-1)%groups)
		back := fmt.Sprint("back ", i)
		s.streams = append(s.streams, on, back)
		often := []op{{kind: receiveAny}, {kind: receiveAny}, {kind: skip},
			{kind: send, n: 2*((i+1)%groups) + 1, stream: on}, {kind: receive, stream: last},
			{kind: send, n: 2 * i, stream: back}, {kind: arm, n: 1 + r.IntN(2)}}
		if s.timed {
			often = append(often, op{kind: wait}, op{kind: receiveUntil, stream: last})
		}
		var takes []op
		for range 3 + r.IntN(4) {
			takes = append(takes, often[r.IntN(len(often))])
		}
		s.machines = append(s.machines, threads, machine{takes})
		g.Of = append(g.Of, i, i)
	}
	return s, g
}

// grouped puts components into groups at random, at least two of them into one. Some events inside
// of groups are shown.
func grouped(r *rand.Rand, components int) Groups {
	g := Groups{Of: []int{0, 0}}
	for range components - 2 {
		g.Of = append(g.Of, r.IntN(slices.Max(g.Of)+2))
	}
	r.Shuffle(len(g.Of), func(i, j int) { g.Of[i], g.Of[j] = g.Of[j], g.Of[i] })
	if r.IntN(4) == 0 {
		g.Shown = func(e *Event) bool { return strings.Contains(e.Stream, anyPlace) }
	}
	return g
}

// testGroups explores systems with groups, without groups, and without any reduction. Those that
// are too large for the last one count only if they need not be small.
func testGroups(t *testing.T, systems int, areSmall bool, generate func(*rand.Rand) (*system, Groups)) {
	t.Helper()
	const most = 1500
	var outsides, insides, flat, completed, completedFlat, whole int
	for seed, tested := uint64(0), 0; tested < systems; seed++ {
		r := rand.New(rand.NewPCG(seed, 8))
		s, groups := generate(r)
		traces := 0
		isWhole := s.explore(most, func([]*local) { traces++ })
		if isWhole && traces < 4 || areSmall && !isWhole {
			continue
		}
		alone := s.finishWithin(New(len(s.machines)), r, 500)
		if alone == nil {
			continue
		}
		tested++
		d := s.finish(NewGrouped(len(s.machines), groups), r)
		for _, skeleton := range d.Skeletons() {
			if insides++; !skeleton.Inner {
				outsides++
			}
		}
		flat += len(alone.Skeletons())
		completed, completedFlat = completed+completions(d), completedFlat+completions(alone)
		got := d.Counts().GlobalTraces
		if want := alone.Counts().GlobalTraces; got != want {
			t.Fatalf("seed %d, groups %v: skeletons stand for %v executions, and there are %v\n%v",
				seed, groups.Of, got, want, s.machines)
		}
		if a, b := outcomesOf(alone), outcomesOf(d); !slices.Equal(a, b) {
			t.Fatalf("seed %d, groups %v: outcomes are\n%v, not\n%v\n%v", seed, groups.Of, b, a, s.machines)
		}
		if isWhole {
			if whole++; int(got) != traces {
				t.Fatalf("seed %d, groups %v: skeletons stand for %v executions, and there are %d\n%v",
					seed, groups.Of, got, traces, s.machines)
			}
		}
	}
	if insides == outsides {
		t.Error("no group has had more than one inside")
	}
	t.Logf("%d systems, %d of them explored in whole: %d skeletons from outside, %d with insides, "+
		"%d without groups; %d executions of the system, %d without groups", systems, whole, outsides,
		insides, flat, completed, completedFlat)
}

// completions is how often an exploration has asked for an execution of the whole system.
func completions(d *System) (n int) {
	for key := range d.asked {
		if strings.HasPrefix(key, "complete ") {
			n++
		}
	}
	return n
}

// pairs are groups of two components each, in a ring. One of a pair takes what two threads of the
// other one send, in any order, and tells the next pair that it has begun.
func pairs(groups, messages int) (s *system, g Groups) {
	s = &system{}
	for i := range groups {
		var threads machine
		for t := range 2 {
			stream := fmt.Sprint(anyPlace, i, "thread ", t)
			s.streams = append(s.streams, stream)
			threads = append(threads, slices.Repeat([]op{{kind: send, n: 2*i + 1, stream: stream}}, messages))
		}
		on, last := fmt.Sprint("on ", i), fmt.Sprint("on ", (i+groups-1)%groups)
		s.streams = append(s.streams, on)
		takes := slices.Repeat([]op{{kind: receiveAny}}, 2*messages)
		s.machines = append(s.machines, threads, machine{takes,
			{{kind: send, n: 2*((i+1)%groups) + 1, stream: on}}, {{kind: receive, stream: last}}})
		g.Of = append(g.Of, i, i)
	}
	return s, g
}

// TestGroupsGrow: what groups do inside adds up, and is not multiplied.
func TestGroupsGrow(t *testing.T) {
	for groups := 2; groups <= 3; groups++ {
		s, g := pairs(groups, 2)
		r := rand.New(rand.NewPCG(1, 1))
		d := s.finish(NewGrouped(len(s.machines), g), r)
		alone := s.reduce(r)
		if a, b := alone.Counts().GlobalTraces, d.Counts().GlobalTraces; a != b {
			t.Errorf("%d groups: skeletons stand for %v executions, and there are %v", groups, b, a)
		}
		// Each pair has the six orders of two messages of each thread. They are found one by one.
		if n := len(d.Skeletons()); n != 1+5*groups || d.Counts().Skeletons != 1 || completions(d) > 40 {
			t.Errorf("%d groups: %d skeletons, %d from outside, in %d executions of all", groups, n,
				d.Counts().Skeletons, completions(d))
		}
		t.Logf("%d groups: %d skeletons, %d without groups, for %v executions; %d executions of all, "+
			"%d without groups", groups, d.Counts().Skeletons, len(alone.Skeletons()),
			d.Counts().GlobalTraces, completions(d), completions(alone))
	}
}

// TestCannot: what a component cannot do is tried with each inside of its own group, and not again
// with all that the other groups do inside.
func TestCannot(t *testing.T) {
	s, g := pairs(3, 1)
	d, tried := NewGrouped(len(s.machines), g), 0
	r := rand.New(rand.NewPCG(1, 1))
	never := Event{Name: Name{1, "never", 1}, Label: text("never"), To: 3}
	for work := d.Work(); len(work) > 0; work = d.Work() {
		item := work[0]
		switch {
		case item.Component != Completion:
			e := s.exploreLocal(item)
			if item.Component == never.Component {
				e.Branches = append(e.Branches, Branch{Component: never.Component, Event: &never},
					Branch{Component: never.Component, Before: item.Local.Events, Event: &never})
			}
			d.Explored(item.Key, e)
		case item.Prefix.find(never.Name) != nil:
			tried++
			d.Cannot(item.Key, never.Component)
		default:
			d.Completed(item.Key, s.complete(item.Prefix, r))
		}
	}
	// There are two orders inside of each pair.
	if c := d.Counts(); c.GlobalTraces != 8 || tried == 0 || tried > 3 {
		t.Errorf("%+v, and %d impossible executions were tried", c, tried)
	}
}

package check

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/check/internal/executor"
	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/sut"
)

// TestLimitsAgainstTwin: of random programs of real Go, a limited search runs exactly those
// schedules, of all that there are, that keep to the limit.
func TestLimitsAgainstTwin(t *testing.T) {
	p, err := buildProgram("testdata/programs", filepath.Join(tree, "programs"))
	if err != nil {
		t.Fatal(err)
	}
	compared, left := 0, 0
	for number := range uint64(cases(6, 2)) {
		for _, flavour := range flavourNames {
			text := drawProgram(flavour, number).String()
			o := sut.Options{Args: []string{text}}
			all := schedulesOf(t, p, o, dfsSearch())
			if all == nil {
				continue // too many
			}
			compared++
			left += compareLimits(t, p, o, all)
		}
	}
	t.Logf("%d programs; the limits leave out %d executions", compared, left)
	if compared < cases(12, 4) || left == 0 {
		t.Error("too little was compared")
	}
}

// TestLimitsAndChoices: what is no goroutine of the program preempts nobody, and alternatives of an
// operation are none: early timers, short reads, arms of a select.
func TestLimitsAndChoices(t *testing.T) {
	p, err := buildProgram("testdata/early", filepath.Join(tree, "early"))
	if err != nil {
		t.Fatal(err)
	}
	for scenario, least := range map[string]int{"deadline": 3, "sleep": 3, "after": 4, "poll": 3,
		"since": 3, "ticker": 2} {
		o := sut.Options{Args: []string{scenario}, Environment: sut.Environment{EarlyTimers: 2}}
		all := schedulesOf(t, p, o, dfsSearch())
		compareLimits(t, p, o, all)
		every, _ := outcomesWith(t, p, o, dfsSearch())
		if len(every) < least {
			t.Errorf("%s: only the outcomes %v", scenario, every)
		}
		for name, s := range map[string]*explore.Search{"random": randomSearch(1000, 1),
			"pct": pctSearch(3000, 4, 1)} {
			seen, _ := outcomesWith(t, p, o, s)
			if diff := cmp.Diff(every, seen); diff != "" {
				t.Errorf("%s, %s (-exist +found):\n%s", scenario, name, diff)
			}
		}
	}
	sockets, err := buildProgram("testdata/sockets", filepath.Join(tree, "sockets"))
	if err != nil {
		t.Fatal(err)
	}
	short := sut.Options{Args: []string{"short"}, Environment: sut.Environment{ShortReads: 1}}
	if all := schedulesOf(t, sockets, short, bounded(explore.DFS, 1)); all != nil {
		compareSchedules(t, sockets, short, bounded(explore.DFS, 0), all, func(preemptions, _ int) bool {
			return preemptions == 0
		})
	}
	// There is one goroutine, and the clock.
	o := sut.Options{Args: []string{"poll"}, Environment: sut.Environment{EarlyTimers: 2}}
	every, _ := outcomesWith(t, p, o, dfsSearch())
	none, _ := outcomesWith(t, p, o,
		mustSearch(explore.Config{Algorithm: explore.DFS, Preemptions: new(0), Delays: new(0)}))
	if diff := cmp.Diff(every, none); diff != "" {
		t.Errorf("without preemptions and delays (-exist +found):\n%s", diff)
	}
}

// compareLimits compares searches with several limits, that of partial-order reduction by the
// outcomes, and returns how many executions these leave out.
func compareLimits(t *testing.T, p *sut.Program, o sut.Options, all map[string][2]int) (left int) {
	t.Helper()
	for n := range 3 {
		compareSchedules(t, p, o, bounded(explore.DFS, n), all, func(preemptions, _ int) bool {
			return preemptions <= n
		})
		within := compareSchedules(t, p, o,
			mustSearch(explore.Config{Algorithm: explore.DFS, Delays: new(n)}), all,
			func(_, delays int) bool { return delays <= n })
		left += len(all) - within
		want := endsWith(t, p, o, bounded(explore.DFS, n))
		got := endsWith(t, p, o, bounded(explore.DPOR, n))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s\nwith at most %d preemptions, by partial-order reduction (-exist +found):\n%s",
				o.Args[0], n, diff)
		}
	}
	return left
}

// endsWith lists what a search finds of how a program ends by itself: with which lines of output,
// in any order.
func endsWith(t *testing.T, p *sut.Program, o sut.Options, s *explore.Search) map[string]bool {
	t.Helper()
	list := map[string]bool{}
	_, err := eachExecution(p, o, s, func(log *sut.Log, x explore.Execution) bool {
		if x.Outcome == explore.Completed || x.Outcome == explore.Deadlock {
			list[fmt.Sprint(slices.Sorted(strings.Lines(string(log.Stdout))), x.Outcome)] = true
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func compareSchedules(t *testing.T, p *sut.Program, o sut.Options, s *explore.Search, all map[string][2]int,
	within func(preemptions, delays int) bool) int {
	t.Helper()
	want, got := map[string]bool{}, map[string]bool{}
	for schedule, cost := range all {
		if within(cost[0], cost[1]) {
			want[schedule] = true
		}
	}
	for schedule := range schedulesOf(t, p, o, s) {
		got[schedule] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s\nschedules with %s (-exist +run):\n%s", o.Args[0], s.Verdict().Within, diff)
	}
	return len(want)
}

// schedulesOf lists the schedules that a search runs, and how many preemptions and delays each has;
// nil if there are too many.
func schedulesOf(t *testing.T, p *sut.Program, o sut.Options, s *explore.Search) map[string][2]int {
	t.Helper()
	list := map[string][2]int{}
	ended, err := eachExecution(p, o, s, func(log *sut.Log, _ explore.Execution) bool {
		preemptions, delays := departures(log.Events)
		list[fmt.Sprint(executor.Keep(log).Prefix)] = [2]int{preemptions, delays}
		return len(list) <= 300
	})
	if err != nil {
		t.Fatal(err)
	}
	if !ended {
		return nil
	}
	return list
}

// departures counts, from the log alone, how often a goroutine ran although the one before it could
// have gone on, and how many were passed over for it.
func departures(events []sut.Event) (preemptions, delays int) {
	var created, enabled []uint64
	running := uint64(0)
	for i, e := range events {
		switch e.Kind {
		case sut.Enabled:
			enabled = append(enabled, e.Subject)
		case sut.Spawned:
			created = append(created, e.Subject)
		case sut.Ticked:
			running = 0
		case sut.Ended:
			if e.Subject == running {
				running = 0
			}
		case sut.Stepped:
			if len(created) == 0 {
				created = []uint64{e.Subject} // main
			}
			if e.Operation == sut.Advance { // whoever goes on after the clock was not preempted by it
				running, enabled = 0, nil
				continue
			}
			if e.Subject != running && slices.Contains(enabled, running) && !resumes(events[i:], running) {
				preemptions++
			}
			for at := max(0, slices.Index(created, running)); created[at] != e.Subject; at = (at + 1) % len(
				created) {
				if slices.Contains(enabled, created[at]) {
					delays++
				}
			}
			running, enabled = e.Subject, nil
		}
	}
	return preemptions, delays
}

// resumes reports whether what a goroutine does next is to go on after having been blocked, or
// having yielded.
func resumes(events []sut.Event, goroutine uint64) bool {
	for _, e := range events {
		if (e.Kind == sut.Stepped || e.Kind == sut.Pending) && e.Subject == goroutine {
			return e.Operation == sut.Resume
		}
	}
	return false
}

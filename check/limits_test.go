package check

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

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
	for number := range uint64(6) {
		for _, flavour := range flavourNames {
			text := drawProgram(flavour, number).String()
			all := schedulesOf(t, p, text, explore.DFS())
			if all == nil {
				continue // too many
			}
			compared++
			for n := range 3 {
				compareSchedules(t, p, text, explore.MaxPreemptions(explore.DFS(), n), all, func(preemptions, _ int) bool { return preemptions <= n })
				within := compareSchedules(t, p, text, explore.MaxDelays(explore.DFS(), n), all, func(_, delays int) bool { return delays <= n })
				left += len(all) - within
			}
		}
	}
	t.Logf("%d programs; the limits leave out %d executions", compared, left)
	if compared < 12 || left == 0 {
		t.Error("too little was compared")
	}
}

func compareSchedules(t *testing.T, p *sut.Program, text string, s explore.Search, all map[string][2]int, within func(preemptions, delays int) bool) int {
	t.Helper()
	want, got := map[string]bool{}, map[string]bool{}
	for schedule, cost := range all {
		if within(cost[0], cost[1]) {
			want[schedule] = true
		}
	}
	for schedule := range schedulesOf(t, p, text, s) {
		got[schedule] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s\nschedules with %s (-exist +run):\n%s", text, s.Verdict().Within, diff)
	}
	return len(want)
}

// schedulesOf lists the schedules that a search runs, and how many preemptions and delays each
// has; nil if there are too many.
func schedulesOf(t *testing.T, p *sut.Program, text string, s explore.Search) map[string][2]int {
	t.Helper()
	w, err := sut.Start(p, sut.Options{Args: []string{text}})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	var translate translator
	list := map[string][2]int{}
	for schedule, more := s.Next(); more; schedule, more = s.Next() {
		log, err := w.Run(translate.schedule(schedule), nil)
		if err != nil {
			t.Fatal(err)
		}
		preemptions, delays := departures(log.Events)
		list[fmt.Sprint(choices(log.Events))] = [2]int{preemptions, delays}
		x, err := translate.log(log)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Report(x); err != nil {
			t.Fatal(err)
		}
		if len(list) > 300 {
			return nil
		}
	}
	return list
}

// departures counts, from the log alone, how often a goroutine ran although the one before it could have
// gone on, and how many were passed over for it.
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
			if e.Subject != running && slices.Contains(enabled, running) && !resumes(events[i:], running) {
				preemptions++
			}
			for at := max(0, slices.Index(created, running)); created[at] != e.Subject; at = (at + 1) % len(created) {
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

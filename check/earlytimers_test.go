package check

import (
	"path/filepath"
	"testing"

	"github.com/tandem-mc/tandem/check/internal/saved"
	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/sut"
)

// TestEarlyTimersOfAnExecution: a program that fails only if a timer fires early fails in an
// execution that allows one. What is found is shrunk and replayed with as many early timers as it
// needs, though the check allows none elsewhere.
func TestEarlyTimersOfAnExecution(t *testing.T) {
	p, err := buildProgram("testdata/early", filepath.Join(tree, "early"))
	if err != nil {
		t.Fatal(err)
	}
	for scenario, needed := range map[string]int{"overtaken": 2, "broken": 0} {
		o := sut.Options{Args: []string{scenario}}
		if without := failing(t, p, o, randomSearch(200, 1), 0); without != nil && needed > 0 {
			t.Errorf("%s: it fails without early timers: %v", scenario, without)
		}
		prefix := failing(t, p, o, randomSearch(200, 1), 2)
		if prefix == nil {
			t.Fatalf("%s: it never fails with early timers", scenario)
		}
		search := mustSearch(explore.Config{Algorithm: explore.Replay, Prefix: prefix, EarlyTimers: 2})
		result := check(t, Options{Program: p, Package: "early", Args: o.Args, Search: search,
			Shrink: DefaultShrink, SelfCheck: 1})
		if len(result.Violations) != 1 {
			t.Fatalf("%s: %+v", scenario, result.Verdict)
		}
		v := result.Violations[0]
		if got := v.Recording.Program.World.EarlyTimers; got != needed {
			t.Errorf("%s: recorded with %d early timers, want %d", scenario, got, needed)
		}
		if before, after := v.Counterexample.Shrunk.Before, v.Counterexample.Shrunk.After; after.Transitions >
			before.Transitions {
			t.Errorf("%s: shrunk from %+v to %+v", scenario, before, after)
		}
		again, err := Replay(p, v.Recording, 3)
		if err != nil || len(again.Shown.Steps) != len(v.Counterexample.Steps) {
			t.Errorf("%s: replayed: %v, %v", scenario, again, err)
		}
		for early := range 3 {
			if err := recalled(t, p, o.Args, v.Recording, early); (err == nil) != (early >= min(needed, 1)) {
				t.Errorf("%s: kept with %d early timers, and run again: %v", scenario, early, err)
			}
		}
	}
}

// TestEarlyTimersAreShort: a schedule has timers fire early that are due within a second, and no
// others; the environment has any.
func TestEarlyTimersAreShort(t *testing.T) {
	p, err := buildProgram("testdata/early", filepath.Join(tree, "early"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		scenario        string
		schedule, world int
		fails           bool
	}{
		{"second", 0, 0, false}, {"second", 1, 0, true}, {"hour", 2, 0, false}, {"hour", 0, 1, true},
		{"hour", 2, 1, false}, {"hour", 1, 1, true},
	} {
		o := sut.Options{Args: []string{c.scenario}, Environment: sut.Environment{EarlyTimers: c.world}}
		if prefix := failing(t, p, o, randomSearch(200, 1), c.schedule); (prefix != nil) != c.fails {
			t.Errorf("%+v: fails after %v", c, prefix)
		}
	}
}

// recalled has a check take over a violation that was saved with so many early timers.
func recalled(t *testing.T, p *sut.Program, args []string, r *report.Recording, early int) error {
	t.Helper()
	run, err := newRun(t.Context(), Options{Program: p, Args: args, Search: dporSearch()},
		interest{})
	if err != nil {
		t.Fatal(err)
	}
	defer run.executor.Close()
	kept := saved.Violation{EarlyTimers: early}
	for _, c := range r.Schedule {
		kept.Schedule = append(kept.Schedule,
			model.Action{Goroutine: model.GoroutineID(c.Goroutine), Choice: c.Choice})
	}
	v, err := run.runAgain(&kept)
	if err == nil && v.Log.EarlyTimers != early {
		t.Errorf("%d early timers are kept as %d", early, v.Log.EarlyTimers)
	}
	return err
}

// failing is the first failing execution of a search whose schedules allow early timers; nil if
// none fails.
func failing(t *testing.T, p *sut.Program, o sut.Options, s *explore.Search,
	early int) (prefix []explore.Action) {
	t.Helper()
	_, err := eachExecution(p, o, allowing{s, early}, func(_ *sut.Log, x explore.Execution) bool {
		if x.Outcome.Violation() {
			for _, transition := range x.Transitions {
				prefix = append(prefix, transition.Action)
			}
		}
		return prefix == nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return prefix
}

// allowing has the schedules of a search allow early timers.
type allowing struct {
	*explore.Search
	early int
}

func (a allowing) Next() (explore.Schedule, bool) {
	s, more := a.Search.Next()
	s.EarlyTimers = a.early
	return s, more
}

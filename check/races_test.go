package check

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/sut"
)

// TestReductionLosesNothing compares the outcomes that the reduced search finds with those of the
// enumeration of all schedules, for programs of real Go in which an access that is not recorded, or
// a wrong one, would lose some.
func TestReductionLosesNothing(t *testing.T) {
	p, err := buildProgram("testdata/races", filepath.Join(tree, "races"))
	if err != nil {
		t.Fatal(err)
	}
	for scenario, least := range map[string]int{
		"select": 2, "select over channels": 2, "atomic.Value": 2, "context error": 2,
		"init": 2, "timer": 2, "signal": 1, "sync.Map": 2, "once": 2, "cond": 2, "exit": 1,
		"writer between readers": 2, "try to lock": 3, "overtaken Add": 2, "unlocked": 2,
	} {
		t.Run(scenario, func(t *testing.T) {
			all, schedules := outcomes(t, p, scenario, dfsSearch())
			some, executions := outcomes(t, p, scenario, dporSearch())
			t.Logf("%d executions for %d schedules: %v", executions, schedules, all)
			if diff := cmp.Diff(all, some); diff != "" {
				t.Errorf("the reduced search finds other outcomes:\n%s", diff)
			}
			if len(all) < least {
				t.Errorf("%d outcomes, there are at least %d", len(all), least)
			}
		})
	}
}

// outcomes are what a program prints, and how it ends, in any execution.
func outcomes(t *testing.T, p *sut.Program, scenario string, s *explore.Search) (seen map[string]bool,
	executions int) {
	t.Helper()
	return outcomesWith(t, p, sut.Options{Args: []string{scenario}}, s)
}

func outcomesWith(t *testing.T, p *sut.Program, o sut.Options, s stepper) (seen map[string]bool,
	executions int) {
	t.Helper()
	seen = map[string]bool{}
	ended, err := eachExecution(p, o, s, func(log *sut.Log, x explore.Execution) bool {
		if x.Outcome != explore.Redundant {
			seen[string(log.Stdout)+" "+x.Outcome.String()] = true
		}
		executions++
		return executions <= 100_000
	})
	if err != nil || !ended {
		t.Fatalf("%d executions, and no end: %v", executions, err)
	}
	return seen, executions
}

// TestKnownOutcomes has the programs whose schedules are too many to enumerate.
func TestKnownOutcomes(t *testing.T) {
	p, err := buildProgram("testdata/races", filepath.Join(tree, "races"))
	if err != nil {
		t.Fatal(err)
	}
	for scenario, want := range map[string][]string{
		"rwmutex": {"", "v", "w", "vw", "wv"}, "pool": {"free", "taken"}, "context after": {"true", "false"},
		"collect": {"truefinalizercleanup<nil>", "truecleanupfinalizer<nil>"},
	} {
		all := map[string]bool{}
		for _, text := range want {
			all[text+" completed"] = true
		}
		seen, executions := outcomes(t, p, scenario, dporSearch())
		if diff := cmp.Diff(all, seen); diff != "" {
			t.Errorf("%s, %d executions:\n%s", scenario, executions, diff)
		}
	}
}

// TestFirstExecution has programs whose first execution tells enough.
func TestFirstExecution(t *testing.T) {
	p, err := buildProgram("testdata/races", filepath.Join(tree, "races"))
	if err != nil {
		t.Fatal(err)
	}
	for scenario, want := range map[string]string{
		"many": "true2000 completed", "once functions": "no valueno value completed",
		"main leaves": "last deadlock", "threads": "1 completed",
	} {
		seen, _ := outcomes(t, p, scenario, maxExecutions(dporSearch(), 1))
		if diff := cmp.Diff(map[string]bool{want: true}, seen); diff != "" {
			t.Errorf("%s:\n%s", scenario, diff)
		}
	}
}

// TestSpinningProgram waits in a loop for another goroutine, which gets its turn.
func TestSpinningProgram(t *testing.T) {
	p, err := buildProgram("testdata/races", filepath.Join(tree, "races"))
	if err != nil {
		t.Fatal(err)
	}
	seen, _ := outcomes(t, p, "spin", maxExecutions(dporSearch(), 1))
	if diff := cmp.Diff(map[string]bool{"1 completed": true}, seen); diff != "" {
		t.Error(diff)
	}
}

// TestCollectionsInProcesses collects garbage in many processes, one after the other: each has
// mappings of its own.
func TestCollectionsInProcesses(t *testing.T) {
	p, err := buildProgram("testdata/races", filepath.Join(tree, "races"))
	if err != nil {
		t.Fatal(err)
	}
	w, err := sut.Start(p, sut.Options{Args: []string{"collect"}, Isolation: sut.Fork})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for i := range 300 {
		log, err := w.Run(sut.Schedule{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if log.Outcome != sut.Completed {
			t.Fatalf("execution %d: %v\n%s", i, log.Outcome, log.Stderr)
		}
	}
}

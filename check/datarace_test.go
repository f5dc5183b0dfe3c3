package check

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/sut"
)

// racy is the program of the detector's own tests.
func racy(t *testing.T, args ...string) Options {
	t.Helper()
	p := built["racy"]
	if p == nil {
		var err error
		if p, err = buildProgram("../sut/testdata/racy", filepath.Join(tree, "racy"),
			sut.RacesMain); err != nil {
			t.Fatal(err)
		}
		built["racy"] = p
	}
	return Options{Program: p, Package: "racy", Args: args, Search: maxExecutions(dporSearch(), 300)}
}

// TestDataRaces: the reduced search finds every race that there is in any schedule, and calls
// nothing else one.
func TestDataRaces(t *testing.T) {
	w, err := sut.Start(racy(t).Program, sut.Options{Args: []string{"list"}})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	list, err := w.Run(sut.Schedule{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, scenario := range strings.Split(string(list.Stdout), "\n") {
		result := check(t, racy(t, scenario))
		isRacy := strings.HasPrefix(scenario, "racy")
		if violated := result.Verdict.Kind == explore.Violated; violated != isRacy {
			t.Errorf("%s: %+v", scenario, result.Verdict)
		}
		for _, v := range result.Violations {
			if v.Counterexample.Race == nil {
				t.Errorf("%s: %s", scenario, v.Counterexample.Failure)
			}
		}
	}
}

// TestDataRaceIsExplained: both accesses are shown with their stacks, and a replay shows the same.
func TestDataRaceIsExplained(t *testing.T) {
	o := racy(t, "racy store over store")
	result := check(t, o)
	if len(result.Violations) != 1 || result.Violations[0].Counterexample.Race == nil {
		t.Fatalf("%+v: want a data race", result.Verdict)
	}
	shown, recording := result.Violations[0].Counterexample, result.Violations[0].Recording
	race := shown.Race
	if race.Earlier.Operation != "write" || race.Later.Operation != "write" ||
		race.Earlier.Goroutine.Name == race.Later.Goroutine.Name {
		t.Errorf("a race of %+v with %+v: want two writes by two goroutines", race.Earlier, race.Later)
	}
	if race.Later.Goroutine.Created == "" || race.Later.Goroutine.Function == "" {
		t.Errorf("the goroutine %+v: want where it was started", race.Later.Goroutine)
	}
	for _, stack := range [][]string{functions(race.Earlier.Stack), functions(race.Later.Stack)} {
		if len(stack) != 1 || !strings.HasPrefix(stack[0], "main.racyStoreOverStore.func") {
			t.Errorf("stack %q: want one of the goroutines of racyStoreOverStore", stack)
		}
	}
	again, err := Replay(o.Program, recording, 20)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(shown.Race, again.Shown.Race); diff != "" {
		t.Errorf("replayed, the race is another:\n%s", diff)
	}
}

func functions(stack []report.Frame) (names []string) {
	for _, f := range stack {
		names = append(names, f.Function)
	}
	return names
}

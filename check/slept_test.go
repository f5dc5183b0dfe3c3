package check

import (
	"path/filepath"
	"testing"

	"github.com/tandem-mc/tandem/report"
)

// TestSleeperGoesOn: who has slept is shown to go on where it slept, not where its last operation
// was.
func TestSleeperGoesOn(t *testing.T) {
	p, err := buildProgram("testdata/slept", filepath.Join(tree, "slept"))
	if err != nil {
		t.Fatal(err)
	}
	for early := range 2 {
		o := Options{Program: p, Search: untilViolation(dporSearch())}
		o.World.EarlyTimers = early
		result := check(t, o)
		if len(result.Violations) != 1 {
			t.Fatalf("%+v", result.Verdict)
		}
		var got []report.Step
		for _, s := range result.Violations[0].Counterexample.Steps {
			if s.Operation == "goes on: Sleep" {
				got = append(got, s)
			}
		}
		if len(got) != 1 || got[0].Source != "testdata/slept/main.go:18" || got[0].Function != "main.pause" {
			t.Errorf("early timers: %d: goes on in %+v, want line 18", early, got)
		}
	}
}

package check

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/sut"
)

// TestEarlyTimers compares what the reduced search and the enumeration of all
// schedules find when the clock may advance early, and with what is known.
func TestEarlyTimers(t *testing.T) {
	p, err := buildProgram("testdata/early", filepath.Join(tree, "early"))
	if err != nil {
		t.Fatal(err)
	}
	for scenario, want := range map[string][]string{ // without early timers there is the first one only
		"deadline": {"falsefalse", "falsetrue", "truetrue"},
		"sleep":    {"00", "01", "11"},
		"after":    {"0true0", "0false0", "0false1", "1false1"},
		"poll":     {"--", "-t", "t-"},
		"since":    {"0s0s", "0s3s", "3s3s"},
		"ticker":   {"c", "t"},
		"net":      {"1 false", "0 true"},
	} {
		for early := range 3 {
			t.Run(fmt.Sprint(scenario, early), func(t *testing.T) {
				known := map[string]bool{}
				for i, text := range want {
					known[text+" completed"] = i == 0 || early > 0
				}
				for text, found := range known {
					if !found {
						delete(known, text)
					}
				}
				o := sut.Options{Args: []string{scenario}, World: sut.World{EarlyTimers: early}}
				some, executions := outcomesWith(t, p, o, explore.DPOR())
				all, schedules := outcomesWith(t, p, o, explore.DFS())
				t.Logf("%d executions for %d schedules", executions, schedules)
				if diff := cmp.Diff(known, all); diff != "" {
					t.Errorf("outcomes (-known +found):\n%s", diff)
				}
				if diff := cmp.Diff(all, some); diff != "" {
					t.Errorf("the reduced search finds other outcomes:\n%s", diff)
				}
			})
		}
	}
}

// TestDeadlockWithTimers has timers that nobody waits for: they end no deadlock.
func TestDeadlockWithTimers(t *testing.T) {
	p, err := buildProgram("testdata/early", filepath.Join(tree, "early"))
	if err != nil {
		t.Fatal(err)
	}
	for early := range 3 {
		seen, _ := outcomesWith(t, p, sut.Options{Args: []string{"deadlock"}, World: sut.World{EarlyTimers: early}}, explore.DPOR())
		if diff := cmp.Diff(map[string]bool{" deadlock": true}, seen); diff != "" {
			t.Errorf("%d early:\n%s", early, diff)
		}
	}
}

package explore

import (
	"slices"
	"testing"

	"github.com/tandem-mc/tandem/explore/internal/testkit"
	"pgregory.net/rapid"
)

// TestForecast: where all branches of a place are alike, as those of independent choices are, what
// is forecast comes true.
func TestForecast(t *testing.T) {
	p, s := testkit.ParseProgram("main: choose r0 3; choose r1 2; choose r2 "+
		"4"), until(maxExecutions(within(DFS, 0), 1000), AtViolation)
	type place struct {
		way      []Action // to where the schedule leaves the one before
		forecast float64
	}
	var places []place
	for schedule, more := s.Next(); more; schedule, more = s.Next() {
		for i := range places {
			if way := places[i].way; slices.Equal(way,
				schedule.Prefix[:min(len(way), len(schedule.Prefix))]) {
				places[i].forecast--
			}
		}
		if n := len(schedule.Prefix); n > 0 {
			places = append(places, place{slices.Clone(schedule.Prefix[:n-1]), s.Forecast()})
		}
		if err := s.Report(testkit.Run(p, schedule, 0).Log); err != nil {
			t.Fatal(err)
		}
	}
	if len(places) != 3*2*4-1 {
		t.Errorf("%d executions went back", len(places))
	}
	for _, at := range places {
		if at.forecast != 0 {
			t.Errorf("after %v there were %v fewer executions than it was forecast", at.way, at.forecast)
		}
	}
}

// TestForecastOfReduction: a reduced search forecasts, too, never less than nothing, and nothing
// for its first execution. What does not branch forecasts nothing.
func TestForecastOfReduction(t *testing.T) {
	everything, total := testkit.Profile{Blocks: testkit.Join(testkit.Variables, testkit.Mutexes,
		testkit.WaitGroups, testkit.Channels, testkit.Choices, testkit.Times, testkit.Branches)}, 0.0
	rapid.Check(t, func(t *rapid.T) {
		p := everything.Generate(t)
		for i, s := range []*Search{dporSearch(), randomSearch(1, 3), within(DPOR, 1)} {
			for n := 0; ; n++ {
				schedule, more := s.Next()
				if !more {
					break
				}
				forecast := s.Forecast()
				if total += forecast; forecast < 0 || forecast > 0 && (n == 0 || i == 1) {
					t.Fatalf("execution %d: %v\n%v", n, forecast, p)
				}
				if err := s.Report(testkit.Run(p, schedule, 0).Log); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
	if total == 0 {
		t.Error("nothing was ever forecast")
	}
}

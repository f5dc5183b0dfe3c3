package check

import (
	"testing"

	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/strategy"
)

// returner takes a checkpoint of the start, and where the search comes back to and expects to
// again.
type returner struct {
	forecasts int
	returns   []strategy.Step
}

func (r *returner) Checkpoint(s strategy.Step) bool {
	if s.Kind != strategy.Return {
		return s.Kind == strategy.Start
	}
	r.returns = append(r.returns, s)
	if s.Forecast == 0 {
		return false
	}
	r.forecasts++
	return true
}

// TestCheckpointsOfReturns: a checkpoint can be taken of a place that was reached by giving inputs
// again, and then saves that.
func TestCheckpointsOfReturns(t *testing.T) {
	started := alphabet.options(t)
	started.Strategy = strategy.AfterND{}
	started.Group.Peers[0].Choices = 1 // it is known of the server then that it reads nothing
	want := check(t, started)
	o, r := alphabet.options(t), &returner{}
	o.Strategy, o.SelfCheck = r, 5
	o.Group.Peers[0].Choices = 1
	got := check(t, o)
	if got.Verdict.Kind != explore.Holds || got.Verdict.Executions != want.Verdict.Executions ||
		got.Counts.Misses != want.Counts.Misses {
		t.Errorf("%v in %d executions, %d misses; without: %d and %d", got.Verdict, got.Verdict.Executions,
			got.Counts.Misses, want.Verdict.Executions, want.Counts.Misses)
	}
	if r.forecasts == 0 || r.forecasts == len(r.returns) || got.Counts.Checkpoints != r.forecasts+1 ||
		got.Counts.Replayed >= want.Counts.Replayed {
		t.Errorf("of %d returns the search was to come back to %d; %d checkpoints; %d inputs given again, "+
			"without: %d",
			len(r.returns), r.forecasts, got.Counts.Checkpoints, got.Counts.Replayed, want.Counts.Replayed)
	}
	for _, s := range r.returns {
		if s.SincePhysical < 1 || s.SincePhysical > s.Depth || s.Replay <= 0 || s.Cost <= 0 || s.Returns < 1 {
			t.Fatalf("%+v", s)
		}
	}
}

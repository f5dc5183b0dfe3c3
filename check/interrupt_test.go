package check

import (
	"context"
	"errors"
	"testing"

	"github.com/tandem-mc/tandem/explore"
)

// TestInterrupt ends the context in the middle of a search.
func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	o := httpGet.options(t)
	seen := 0
	o.observe = seeing(func(explore.Execution) {
		if seen++; seen == 5 {
			cancel()
		}
	})
	result, err := Run(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	if v := result.Verdict; v.Kind != explore.Unknown || v.Reason != "it was interrupted" ||
		v.Executions != 5 {
		t.Errorf("%+v, want unknown, interrupted after 5 executions", v)
	}
}

// TestInterruptAfterViolation: in scope auto, too, what was found is shown when a check is
// interrupted.
func TestInterruptAfterViolation(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	o := scpTo.options(t)
	auditing(&o)
	o.Violations = 100
	o.observe = seeing(func(e explore.Execution) {
		if e.Outcome.Violation() {
			cancel()
		}
	})
	result, err := Run(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	if v := result.Verdict; v.Kind != explore.Violated || v.Reason != "it was interrupted" ||
		len(result.Violations) == 0 {
		t.Errorf("%+v with %d violations, want those that were found", v, len(result.Violations))
	}
}

// TestInterruptHidesNothing: what contradicts itself does not do so because the check is
// interrupted just then.
func TestInterruptHidesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	o := httpGet.options(t)
	// Just then an execution contradicts an earlier one, to the search.
	o.observe = func(explore.Execution) error {
		cancel()
		return &explore.DivergenceError{}
	}
	var contradiction *explore.DivergenceError
	if result, err := Run(ctx, o); !errors.As(err, &contradiction) {
		t.Errorf("%+v, %v, want the contradiction", result, err)
	}
}

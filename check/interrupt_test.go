package check

import (
	"context"
	"testing"

	"github.com/tandem-mc/tandem/explore"
)

// TestInterrupt ends the context in the middle of a search.
func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	o := httpGet.options(t)
	seen := 0
	o.Search = observer{o.Search, func(explore.Execution) {
		if seen++; seen == 5 {
			cancel()
		}
	}}
	result, err := Run(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	if v := result.Verdict; v.Kind != explore.Unknown || v.Reason != "it was interrupted" || v.Executions != 5 {
		t.Errorf("%+v, want unknown, interrupted after 5 executions", v)
	}
}

// TestInterruptAfterViolation: in scope auto, too, what was found is shown when a check is interrupted.
func TestInterruptAfterViolation(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	o := scpTo.options(t)
	auditing(&o)
	o.Violations = 100
	o.Search = observer{o.Search, func(e explore.Execution) {
		if e.Outcome.Violation() {
			cancel()
		}
	}}
	result, err := Run(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	if v := result.Verdict; v.Kind != explore.Violated || v.Reason != "it was interrupted" || len(result.Violations) == 0 {
		t.Errorf("%+v with %d violations, want those that were found", v, len(result.Violations))
	}
}

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

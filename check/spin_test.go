package check

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/tandem-mc/tandem/explore"
)

// TestLoopsThatWait: the search ends, says that it has not seen every number of rounds, and where.
// A loop that gives up before the limit is searched completely.
func TestLoopsThatWait(t *testing.T) {
	for scenario, want := range map[string]struct {
		kind  explore.VerdictKind
		where string
		most  int
	}{
		"spin on an atomic":   {explore.Unknown, "in main.init.func", 140},
		"spin with Gosched":   {explore.Unknown, "in main.init.func", 140},
		"spin with TryLock":   {explore.Unknown, "in main.init.func", 140},
		"spin with a default": {explore.Unknown, "in main.spinWithDefault", 140},
		"spin on a context":   {explore.Unknown, "in main.spinOnContext", 140},
		"gives up":            {explore.Holds, "", 11},
		"poll a timer":        {explore.Holds, "", 1},
		"spin until a timer":  {explore.Unknown, "in main.spinUntilTimer", 70},
	} {
		o := endings(t, scenario)
		o.Depth = 2000
		result := check(t, o)
		v := result.Verdict
		if v.Kind != want.kind || v.Executions > want.most || v.Violations > 0 ||
			!strings.Contains(result.CutOff, want.where) {
			t.Errorf("%s: %+v, cut off at %q; want %v, at most %d executions, %q", scenario, v, result.CutOff,
				want.kind, want.most, want.where)
		}
	}
}

// TestTimePassesWhileLoopsSpin: a loop that waits for a timer comes to its end.
func TestTimePassesWhileLoopsSpin(t *testing.T) {
	for _, search := range []*explore.Search{dporSearch(), maxExecutions(dfsSearch(), 100),
		randomSearch(20, 1)} {
		o := endings(t, "spin until a timer")
		o.Depth, o.Search, o.SelfCheck = 2000, search, 1
		if v := check(t, o).Verdict; v.Executions-v.Limited == 0 {
			t.Errorf("%+v: no execution ends", v)
		}
	}
}

// TestNoVisibleOperations: a goroutine that computes for ever cannot be preempted.
func TestNoVisibleOperations(t *testing.T) {
	o := endings(t, "no visible operations")
	o.Patience = 200 * time.Millisecond
	_, err := Run(context.Background(), o)
	if err == nil || !strings.Contains(err.Error(), "without a visible operation") ||
		!strings.Contains(err.Error(), "in main.compute") {
		t.Errorf("error %v, want one that names main.compute", err)
	}
}

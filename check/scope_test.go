package check

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/ckptd"
	"github.com/tandem-mc/tandem/explore"
	"github.com/tandem-mc/tandem/iocache"
	"github.com/tandem-mc/tandem/sut"
)

// redis is a program two of whose connections depend on each other in the peer.
var redis = example{"redis", "redis/tandem.yaml", nil}

// TestScopeOfSharedState: what is stored over one connection is looked up over another. With a tree
// for each connection the verdict is wrong, as is to be expected; with one for the group it is right.
func TestScopeOfSharedState(t *testing.T) {
	o := redis.options(t)
	if result := check(t, o); result.Verdict.Kind != explore.Violated || !strings.Contains(result.Counterexample.Outcome, "$-1") {
		t.Errorf("group scope: %v, want the answer $-1 for what is not there", result.Verdict)
	}
	o = redis.options(t)
	o.Scope = iocache.Connection
	result := check(t, o)
	if result.Verdict.Kind != explore.Holds {
		t.Errorf("connection scope: %v, though only one order is explored", result.Verdict)
	}
}

// TestScopesAgree: where connections are independent, both scopes give the same verdict and the same
// outcomes, and that of the paper takes fewer executions and fewer answers of the peers.
func TestScopesAgree(t *testing.T) {
	for _, e := range []example{alphabet, httpGet, scpToFixed} {
		t.Run(e.String(), func(t *testing.T) {
			var counts [2]Counts
			var ended [2]map[string]bool
			var executions [2]int
			for i, scope := range []iocache.Scope{iocache.Group, iocache.Connection} {
				o := e.options(t)
				o.Scope, o.Client = scope, newClientBy(t, ckptd.BackendAuto)
				result, said := outputs(t, o)
				if result.Verdict.Kind != explore.Holds {
					t.Fatalf("scope %v: %v", scope, result.Verdict)
				}
				counts[i], ended[i], executions[i] = result.Counts, said, result.Verdict.Executions
			}
			if len(ended[0]) != len(ended[1]) {
				t.Errorf("%d outcomes in group scope, %d in connection scope", len(ended[0]), len(ended[1]))
			}
			for output := range ended[0] {
				if !ended[1][output] {
					t.Errorf("in connection scope it never prints\n%s", output)
				}
			}
			if counts[1].Misses > counts[0].Misses || executions[1] > executions[0] {
				t.Errorf("connection scope: %d executions and %d answers of the peers; group scope: %d and %d",
					executions[1], counts[1].Misses, executions[0], counts[0].Misses)
			}
		})
	}
}

// outputs are what a program with peers prints, and how it ends, in any execution.
func outputs(t *testing.T, o Options) (*Result, map[string]bool) {
	t.Helper()
	r, err := newRun(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	r.kind = func(log *sut.Log, outcome explore.Outcome) string {
		if outcome != explore.Redundant {
			seen[fmt.Sprintf("%s%s: %v", log.Stdout, log.Stderr, outcome)] = true
		}
		return ""
	}
	result, err := r.finish(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return result, seen
}

package nodes

import (
	"slices"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/report"
)

// comesTo lists what the last step of the client comes to: a violation is found of one that does
// not expect it. NOT stands for what is not expected. Each violation is replayed.
func comesTo(t *testing.T, config Config, client, server []string, all ...string) (can []string) {
	t.Helper()
	program := build(t, "./testdata/script")
	last := len(client) - 1
	for _, unexpected := range all {
		client := append(slices.Clone(client[:last]), strings.ReplaceAll(client[last], "NOT", unexpected))
		config.Nodes = scriptedNodes(program, client, server)
		r, err := Run(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		v := r.Violation()
		if v == nil {
			if r.Verdict != model.Holds {
				t.Errorf("not %s: %v, %s", unexpected, r.Verdict, r.Reason)
			}
			continue
		}
		message := v.Counterexample.Failure.Message
		if v.Node != "a" || !strings.Contains(message, ": "+unexpected) {
			t.Errorf("not %s: node %s, %s: %q", unexpected, v.Node, message, whats(v.Events))
			continue
		}
		can = append(can, unexpected)
		if v.Recording == nil {
			t.Errorf("not %s: %s\n%q", unexpected, v.Unrecorded, whats(v.Events))
			continue
		}
		again, err := Replay(t.Context(), programsOf(config.Nodes), throughFile(t, v.Recording), 3)
		if err != nil || again.Violation == nil {
			t.Errorf("not %s: %+v, %v", unexpected, again, err)
		}
	}
	return can
}

// whats are the steps of a report in words.
func whats(steps []report.NodeStep) (list []string) {
	for _, s := range steps {
		list = append(list, s.Node+" "+s.What)
	}
	return list
}

// TestTimerAfterTie: a timer that fires after what others have sent at the same time is one advance
// of the clock. The next one is another, and the node waits for it.
func TestTimerAfterTie(t *testing.T) {
	can := comesTo(t, Config{}, []string{"dial :7301", "sleep 4", "write x", "not-by NOT 3"},
		[]string{"listen :7301", "accept", "sleep 4", "sleep 20"}, "end", "reset", "late")
	if want := []string{"late"}; !slices.Equal(can, want) {
		t.Errorf("the client finds %q, want %q", can, want)
	}
}

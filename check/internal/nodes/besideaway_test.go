package nodes

import (
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tandem-mc/tandem/check/internal/nodes/away"
	"github.com/tandem-mc/tandem/check/internal/nodes/beside"
	"github.com/tandem-mc/tandem/explore/skeleton"
)

// counting counts how often peers begin.
type counting struct {
	beside.Answers
	begun *int
}

// Begin implements beside.Answers.
func (c counting) Begin() error {
	*c.begun++
	return c.Answers.Begin()
}

// TestHelpersBeside: an exploration with real peers comes to the same whoever explores its nodes,
// and asks the peers as often. Helpers have none. What is found is known the next time, so the last
// exploration is of all that there is.
func TestHelpersBeside(t *testing.T) {
	program, helped := build(t, "./testdata/takes"), 0
	for _, scripts := range [][]string{{"lrdnc", "odgwc"}, {"dnsnc", "dsnnc"}, {"dxee", "d"},
		{"dae", "d"}, {"ldnwc", "orsdn"}}[:min(5, *systems/2)] {
		known, did := make([][]string, len(scripts)), 0
		for more := true; more; {
			c := takers(t, program, scripts, known)
			alone, begun := besideHelpers(t, c, nil)
			w := start(t, c, 2)
			result, begunThen := besideHelpers(t, c, w)
			did += w.did()
			if d := gocmp.Diff(alone, result, cmpopts.IgnoreUnexported(Violation{})); d != "" {
				t.Errorf("%q (-alone +helped)\n%s", scripts, d)
			}
			if begun != begunThen {
				t.Errorf("%q: the peers have begun %d times alone, %d with helpers", scripts, begun,
					begunThen)
			}
			v := alone.Violation()
			if more = v != nil; more {
				who := int(v.Node[0] - 'a')
				_, what, _ := strings.Cut(v.Counterexample.Failure.Message, "got=")
				known[who] = append(known[who], strings.TrimSuffix(what, "."))
			} else if t.Logf("%q: %v, %d executions", scripts, alone.Verdict, alone.Runs); did == 0 &&
				alone.Runs > 100 {
				t.Errorf("%q: helpers have explored nothing", scripts)
			}
		}
		t.Logf("%q: %d tasks were done by helpers", scripts, did)
		helped += did
	}
	if helped == 0 {
		t.Error("helpers have explored nothing at all")
	}
}

// besideHelpers runs a check with helpers, and counts how often its peers begin.
func besideHelpers(t *testing.T, c Config, w *helpers) (r *Result, begun int) {
	if w != nil {
		c.Away = w
	}
	group := *c.Peers
	group.New = func() beside.Answers { return counting{&store{}, &begun} }
	c.Peers = &group
	r, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return r, begun
}

// TestHelperWithoutPeers: a helper refuses what takes the peers.
func TestHelperWithoutPeers(t *testing.T) {
	c := takers(t, build(t, "./testdata/takes"), []string{"dnc", "dnc"}, [][]string{nil, nil})
	w := start(t, c, 1)
	h := <-w.idle
	if first, err := h.First(); first == "" || err != nil {
		t.Errorf("the nodes by themselves do %q, error %v", first, err)
	}
	for _, component := range []int{skeleton.Completion, 2} {
		task := away.Task{Item: skeleton.Item{Component: component, Prefix: make(skeleton.Global, 3)},
			Ordered: make([]bool, 3)}
		data, err := task.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := h.Explore(data, func() bool { return false }); err == nil {
			t.Errorf("an item of component %d is done without peers", component)
		}
	}
}

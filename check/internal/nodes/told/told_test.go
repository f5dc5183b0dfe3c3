package told

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/report"
)

// TestAdvance: of advances of the clock with nothing in between, the last one is told.
func TestAdvance(t *testing.T) {
	list := advance(nil, time.Second)
	list = advance(list, 2*time.Second)
	list = append(list, report.NodeStep{Node: "a", What: "sends"})
	list = advance(list, 2500*time.Millisecond)
	var got []string
	for _, s := range list {
		got = append(got, s.What)
	}
	if want := []string{"the time is 2 s", "sends", "the time is 2.5 s"}; !slices.Equal(got, want) {
		t.Errorf("told %q, want %q", got, want)
	}
}

// TestShown: data that are long are cut, by the columns that they take.
func TestShown(t *testing.T) {
	for data, want := range map[string]string{
		"":                              `""`,
		"GET /page":                     `"GET /page"`,
		strings.Repeat("x", 40):         `"` + strings.Repeat("x", 40) + `"`,
		strings.Repeat("x", 41):         `"` + strings.Repeat("x", 40) + `"... (41 bytes)`,
		strings.Repeat("\x00", 2000):    `"` + strings.Repeat(`\x00`, 10) + `"... (2,000 bytes)`,
		strings.Repeat("\x00", 9) + "é": `"` + strings.Repeat(`\x00`, 9) + `é"`,
	} {
		if got := shown([]byte(data)); got != want {
			t.Errorf("%q is shown as %s, want %s", data, got, want)
		}
	}
}

// TestPausesInOrder: a node that is paused twice, and does nothing in between, goes on before it is
// paused again, and before the clock advances.
func TestPausesInOrder(t *testing.T) {
	net := &network.Nodes{Names: []string{"a", "b"}}
	g := make(skeleton.Global, 2)
	how := [2][]network.Paused{{0, 0, 0, 0, 0}, {network.Begins, network.GoesOn, network.Fires, 0, 0}}
	for c, list := range how {
		for i, paused := range list {
			g[c].Events = append(g[c].Events, skeleton.Event{Name: skeleton.Name{Component: c, N: i + 1},
				To: skeleton.Nobody, Tick: i + 1, Label: network.Event{Kind: model.Pass,
					Time: time.Duration(i+1) * time.Second, Paused: paused}})
		}
	}
	var got []string
	for _, s := range Steps(net, g) {
		got = append(got, s.Node+" "+s.What)
	}
	want := []string{"b is paused", " the time is 2 s", "b goes on", "b is paused", " the time is 3 s",
		"b goes on", " the time is 5 s"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

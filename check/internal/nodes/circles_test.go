package nodes

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/check/internal/nodes/datagram"
	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/internal/model"
)

// TestCircles: of two nodes that each close what they have open and then reach out for the other
// one, one comes too late: each of them would have to be there after its own close.
func TestCircles(t *testing.T) {
	script, air := build(t, "./testdata/script"), build(t, "./testdata/air")
	scripts := []string{"b c ob Wx", "b c oa Wx"}
	for _, c := range []struct {
		name  string
		nodes []Node
	}{
		{"connects", scriptedNodes(script, []string{"listen :7300", "unlisten", "redial :7301"},
			[]string{"listen :7301", "unlisten", "redial :7300"})},
		{"connects, with a message before", scriptedNodes(script,
			[]string{"listen :7300", "unlisten", "redial :7301"},
			[]string{"listen :7301", "unlisten", "redial :7300"},
			[]string{"listen :7302", "accept", "read 1"})},
		{"datagrams", airNodes(air, scripts, 0, "not:-")},
	} {
		t.Run(c.name, func(t *testing.T) {
			x, err := newExplorer(t.Context(), Config{Nodes: c.nodes})
			if err != nil {
				t.Fatal(err)
			}
			defer x.close()
			if err := (stages{x}).explore(); err != nil {
				t.Fatal(err)
			}
			came := map[string]bool{}
			for _, s := range x.system.Skeletons() {
				var both strings.Builder
				for c := range 2 {
					for _, e := range s.Global[c].Events {
						switch d := network.Did(&e); {
						case !s.Possible():
						case d.Fate == datagram.Refused, d.Failed:
							both.WriteByte('f')
						case d.Kind == model.Connect && d.Address != "127.0.0.1:7302", network.IsDatagram(&e):
							both.WriteByte('m')
						}
					}
				}
				if s.Possible() {
					came[both.String()] = true
				}
			}
			if got := slices.Sorted(maps.Keys(came)); !slices.Equal(got, []string{"ff", "fm", "mf"}) {
				t.Errorf("they come to %q", got)
			}
		})
	}
}

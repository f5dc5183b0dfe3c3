package agreed

import (
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/check/internal/nodes/published"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
)

// TestSaid: what is said of a node that disagrees with another one, or with itself. The event comes
// after the one of the other node.
func TestSaid(t *testing.T) {
	net := &network.Nodes{Names: []string{"a", "b"}, Data: map[network.Event][]byte{}}
	s, count := New(published.Names{"x"}), map[int]int{}
	says := func(node int, name, value string) skeleton.Event {
		e := published.Event(net, model.Input{Kind: model.Publish, Addr: name, Data: []byte(value)})
		count[node]++
		e.Name = skeleton.Name{Component: node, N: count[node]}
		s.Judge(net, &e)
		if got := string(net.Data[network.Did(&e)]); got != value {
			t.Errorf("of %s are kept %q, want %q", name, got, value)
		}
		return e
	}
	for _, c := range []struct {
		node        int
		name, value string
		want        string
	}{
		{0, "x", "1", ""}, {1, "x", "1", ""}, {1, "y", "2", ""}, {0, "y", "3", ""},
		{1, "x", "2", `nodes disagree on x: a says "1", b says "2"`},
		{0, "x", "2", `node a disagrees with itself on x: it says "1", and then "2"`},
		{1, "x", strings.Repeat("\x00", 99), `nodes disagree on x: a says "1", b says "` +
			strings.Repeat(`\x00`, 60) + `"... (99 bytes)`},
	} {
		e := says(c.node, c.name, c.value)
		if got := network.Did(&e).Violates; got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
		if takes := e.From == (skeleton.Name{N: 1}); takes != (c.node == 1 && c.want != "") {
			t.Errorf("it comes after %+v", e.From)
		}
	}
}

package agreed

import (
	"slices"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
)

// TestNames: names and patterns of them, and what is said of those that nobody publishes.
func TestNames(t *testing.T) {
	names := Names{"decided", "log/*", "a[", "term ?"}
	for name, want := range map[string]string{"decided": "decided", "log/3": "log/*", "log/3/x": "",
		"a[": "a[", "term 3": "term ?", "term 10": "", "": ""} {
		if got := names.of(name); got != want {
			t.Errorf("%q has the pattern %q, want %q", name, got, want)
		}
	}
	known := names.Add(nil, []string{"log/1", "log/2", "other", "decided"})
	if !slices.Equal(known, []string{"log/1", "decided"}) {
		t.Errorf("of those are kept %q", known)
	}
	for _, c := range []struct {
		unknown string
		known   []string
		want    string
	}{
		{"", known, "no node has published a[ or term ?, on which all are to agree"},
		{"it ended", known, "; no node has published a[ or term ?, on which all are to agree"},
		{"it ended", append(known, "a[", "term 1"), ""},
	} {
		if got := names.Why(c.unknown, c.known); got != c.want {
			t.Errorf("of %q: %q, want %q", c.known, got, c.want)
		}
	}
}

// TestSaid: what is said of a node that disagrees with another one, or with itself. The event comes
// after the one of the other node.
func TestSaid(t *testing.T) {
	net := &network.Nodes{Names: []string{"a", "b"}, Data: map[network.Event][]byte{}}
	s, count := New(Names{"x"}), map[int]int{}
	says := func(node int, name, value string) skeleton.Event {
		e := Event(net, model.Input{Kind: model.Publish, Addr: name, Data: []byte(value)})
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
		// A script that has it has another event be the same, but none with another value.
		again := Event(net, model.Input{Kind: model.Publish, Addr: c.name, Data: []byte(c.value)})
		again.Name = e.Name
		if Follow(net, &e, &again); !again.Equal(&e) {
			t.Errorf("%+v, want %+v", again, e)
		}
		other := Event(net, model.Input{Kind: model.Publish, Addr: c.name, Data: []byte("other")})
		if Follow(net, &e, &other); network.Did(&other).Violates != "" {
			t.Errorf("%+v", other)
		}
	}
}

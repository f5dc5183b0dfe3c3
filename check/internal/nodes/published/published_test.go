package published

import (
	"slices"
	"testing"

	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
)

// TestNames: names and patterns of them.
func TestNames(t *testing.T) {
	names := Names{"decided", "log/*", "a[", "term ?"}
	for name, want := range map[string]string{"decided": "decided", "log/3": "log/*", "log/3/x": "",
		"a[": "a[", "term 3": "term ?", "term 10": "", "": ""} {
		if names.Has(name) != (want != "") || want != "" && !matches(want, name) {
			t.Errorf("%q has no pattern, or another one than %q", name, want)
		}
	}
	if got := names.Missing([]string{"log/1", "log/2", "other", "decided"}); !slices.Equal(got,
		[]string{"a[", "term ?"}) {
		t.Errorf("%q are missing", got)
	}
	// A name that two of them have is one of both.
	both := Names{"l*", "lock"}
	if got := both.Missing([]string{"lock"}); len(got) > 0 {
		t.Errorf("%q are missing", got)
	}
}

// TestFollow: a script in which an event is wrong has the same event be wrong, and no other one.
func TestFollow(t *testing.T) {
	net := &network.Nodes{Data: map[network.Event][]byte{}}
	of := func(name, value string) skeleton.Event {
		return Event(net, model.Input{Kind: model.Publish, Addr: name, Data: []byte(value)})
	}
	first, wrong := of("x", "1"), of("x", "2")
	first.Name, wrong.Name = skeleton.Name{N: 1}, skeleton.Name{Component: 1, N: 1}
	Object(net, &wrong, &first, "they differ")
	if d := network.Did(&wrong); d.Violates != "they differ" || string(net.Data[d]) != "2" ||
		wrong.From != first.Name || wrong.Got != first.Label {
		t.Errorf("%+v", wrong)
	}
	again, other := of("x", "2"), of("x", "3")
	again.Name = wrong.Name
	if Follow(net, &wrong, &again); !again.Equal(&wrong) {
		t.Errorf("%+v, want %+v", again, wrong)
	}
	if Follow(net, &wrong, &other); network.Did(&other).Violates != "" {
		t.Errorf("%+v", other)
	}
	// What is wrong because of the same node takes nothing.
	self := of("x", "2")
	if Object(net, &self, &first, "it differs"); self.From.N != 0 || network.Did(&self).Violates == "" {
		t.Errorf("%+v", self)
	}
	if end := AtEnd(net, "x"); network.Did(&end) == network.Did(&first) || !network.Did(&end).End {
		t.Errorf("%+v", end)
	}
	if got := In(net.Data); !slices.Equal(got, []string{"x"}) {
		t.Errorf("published are %q", got)
	}
}

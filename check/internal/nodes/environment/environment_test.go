package environment

import (
	"slices"
	"testing"

	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/check/internal/nodes/pace"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
)

// TestResetWaitsForItsMoment: in the replay of a walk no reset comes that is not recorded, also
// where the node can do nothing but wait.
func TestResetWaitsForItsMoment(t *testing.T) {
	net := &network.Nodes{Names: []string{"a", "b"}, Ordered: []bool{true, true},
		Data: map[network.Event][]byte{}}
	closed := skeleton.Event{Label: network.Event{Kind: model.Close, Conn: "b#1"}, To: 0}
	closed.Component, closed.N = 1, 1
	for name, c := range map[string]struct {
		pace pace.Pace
		want bool
	}{
		"explored": {nil, true}, "replayed": {pace.Replayed{}, false},
	} {
		n := New(net, 0, nil, []skeleton.Arrival{{Send: closed}})
		n.GoesOn, n.Later, n.Pace = true, true, c.pace
		n.open(&conn{id: "b#1", other: 1, accepted: true})
		var list []model.Delivery
		for _, in := range []model.Input{{Kind: model.Send, Data: []byte("x")}, {Kind: model.Pass}} {
			a, err := n.Exchange(in)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, a.Deliveries...)
		}
		got := slices.ContainsFunc(list, func(d model.Delivery) bool { return d.End == model.Reset })
		if got != c.want {
			t.Errorf("%s: a reset comes: %t, in %+v", name, got, list)
		}
	}
}

// TestConnectThatWaits: a connect that waits for the network to heal is none that has come to the
// first listener of the node.
func TestConnectThatWaits(t *testing.T) {
	net := &network.Nodes{Names: []string{"a", "b"}, Ordered: []bool{true, true}}
	n := New(net, 0, nil, nil)
	n.open(&conn{address: "127.0.0.1:7000"})
	n.open(&conn{id: waiting, other: 1, waits: true})
	if list := waitingAt(n, 0); len(list) > 0 {
		t.Errorf("%d have come", len(list))
	}
}

package network

import (
	"testing"

	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
)

// TestIsHeld: what crosses the links of a partition may be held in the epoch in which it begins,
// and must be in those after it, up to the heal. Nothing else is held.
func TestIsHeld(t *testing.T) {
	n := &Nodes{Parted: &Partition{Links: [][2]int{{0, 2}}, From: 1, Until: 3}}
	for epoch, want := range []struct {
		may, must        bool
		earliest, latest int
	}{
		{false, false, 0, 0}, {true, false, 1, 3}, {true, true, 3, 3}, {false, false, 3, 3},
		{false, false, 4, 4},
	} {
		for _, link := range [][2]int{{0, 2}, {2, 0}} {
			may, must := n.IsHeld(link[0], link[1], epoch)
			earliest, latest := n.earliest(link[0], link[1], epoch), n.latest(link[0], link[1], epoch)
			if may != want.may || must != want.must || earliest != want.earliest || latest != want.latest {
				t.Errorf("from %d to %d in epoch %d: may %t, must %t, from %d to %d; want %+v", link[0],
					link[1], epoch, may, must, earliest, latest, want)
			}
		}
		for _, link := range [][2]int{{0, 1}, {1, 2}} {
			if may, must := n.IsHeld(link[0], link[1], epoch); may || must {
				t.Errorf("from %d to %d in epoch %d something is held", link[0], link[1], epoch)
			}
		}
	}
	if may, must := (&Nodes{}).IsHeld(0, 2, 1); may || must {
		t.Error("without a partition something is held")
	}
}

// TestHoldOf: what a script takes before the network heals has come before that was parted. So has
// what it reads later, if it would be lost otherwise: the connection was reset meanwhile.
func TestHoldOf(t *testing.T) {
	net := &Nodes{Parted: &Partition{Links: [][2]int{{0, 1}}, From: 1, Until: 3},
		Data: map[Event][]byte{}}
	list := func(node int, events ...skeleton.Event) (made []skeleton.Event) {
		for _, e := range events {
			made = append(made, InOrder(e, node, len(made)+1))
		}
		return made
	}
	sends := func(node int, kind model.Kind, aborts bool) skeleton.Event {
		d := Event{Kind: kind, Conn: "c", Aborts: aborts}
		d.Sent.Add([]byte{byte(node)})
		net.Data[d] = []byte("x")
		return skeleton.Event{Label: d, To: 1 - node}
	}
	tick := func(n int) skeleton.Event {
		return skeleton.Event{Label: Event{Kind: model.Pass}, To: skeleton.Nobody, Tick: n}
	}
	takes := func(kind model.Kind, n int) skeleton.Event {
		return skeleton.Event{Label: Event{Kind: kind, Conn: "c", Taken: 1}, To: skeleton.Nobody,
			From: skeleton.Name{Component: 1, N: n}}
	}
	other := list(1, tick(1), sends(1, model.Send, false), tick(2), sends(1, model.Close, true), tick(3))
	for _, c := range []struct {
		name   string
		script []skeleton.Event
		early  bool // the letter
		reset  bool
	}{
		{"nothing is taken", []skeleton.Event{tick(1), tick(2), tick(3)}, false, false},
		{"the epoch is not over", []skeleton.Event{tick(1)}, true, true},
		{"read while it is parted", []skeleton.Event{tick(1), tick(2), takes(model.Receive, 2), tick(3)},
			true, false},
		{"read after the heal", []skeleton.Event{tick(1), tick(2), tick(3), takes(model.Receive, 2)},
			false, false},
		{"read after the heal, and reset", []skeleton.Event{sends(0, model.Send, false), tick(1), tick(2),
			tick(3), takes(model.Receive, 2), takes(model.Broken, 4)}, true, false},
		{"reset before it is parted", []skeleton.Event{sends(0, model.Send, false), tick(1),
			takes(model.Broken, 4), tick(2), tick(3)}, true, true},
	} {
		script := list(0, c.script...)
		g := skeleton.Global{{Events: script}, {Events: other}}
		h := HoldOf(net, 0, script, g.Arrivals(0))
		if len(h.Early) != 2 || h.Early[0] != c.early || h.Resets[1] != c.reset {
			t.Errorf("%s: %+v, want early %t and a reset %t", c.name, h, c.early, c.reset)
		}
	}
}

// TestMostHolds: in how many ways something can be held is bounded, also by resets alone, and by
// these together with connects.
func TestMostHolds(t *testing.T) {
	for _, c := range []struct {
		closes, tried int
		all           bool
	}{{10, 0, true}, {11, 0, false}, {9, 1, true}, {10, 1, false}} {
		net := &Nodes{Parted: &Partition{Links: [][2]int{{0, 1}}, From: 1, Until: 3},
			Data: map[Event][]byte{}}
		tick := skeleton.Event{Label: Event{Kind: model.Pass}, To: skeleton.Nobody, Tick: 1}
		script, other := []skeleton.Event{InOrder(tick, 0, 1)}, []skeleton.Event(nil)
		for i := range c.closes {
			// The other node has closed it. It gets a letter when the network is parted.
			d := Event{Kind: model.Send, Conn: string(rune('a' + i))}
			net.Data[d] = []byte("x")
			script = append(script, InOrder(skeleton.Event{Label: d, To: 1}, 0, len(script)+1))
			closed := Event{Kind: model.Close, Conn: d.Conn}
			other = append(other, InOrder(skeleton.Event{Label: closed, To: 0}, 1, len(other)+1))
		}
		g := skeleton.Global{{Events: script}, {Events: other}}
		item := &skeleton.Item{Local: g[0], Arrivals: g.Arrivals(0)}
		list, all := Holds(net, item, map[int]int{1: c.tried})
		ways := 1<<c.closes - 1
		if c.tried > 0 {
			ways = 2<<c.closes - 1
		}
		if !c.all {
			ways = 0
		}
		if all != c.all || len(list) != ways {
			t.Errorf("%+v: %d ways, all %t, want %d", c, len(list), all, ways)
		}
	}
}

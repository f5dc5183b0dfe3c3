package cuts

import (
	"slices"
	"testing"
	"time"

	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
)

// system has three nodes. The first one sends something to the second one before the clock
// advances, and something else after that. The third one has ended before.
func system() skeleton.Global {
	tick := network.Event{Kind: model.Pass, Time: time.Second}
	g := skeleton.Global{
		{Events: chain(0, network.Event{Kind: model.Send}, tick, network.Event{Kind: model.Send})},
		{Events: chain(1, network.Event{Kind: model.Accept}, network.Event{Kind: model.Receive}, tick,
			network.Event{Kind: model.Receive})},
		{Events: chain(2, network.Event{Kind: model.Listen})},
	}
	g[1].Events[1].From, g[1].Events[3].From = g[0].Events[0].Name, g[0].Events[2].Name
	return g
}

// chain are events of a node that are in one order.
func chain(node int, labels ...network.Event) (list []skeleton.Event) {
	for i, label := range labels {
		e := network.InOrder(skeleton.Event{Label: label, To: skeleton.Nobody}, node, i+1)
		if label.Kind == model.Pass {
			e.Tick = 1
		}
		list = append(list, e)
	}
	return list
}

// TestCuts: what is before an event, and what the clock shows then. An advance of the clock comes
// after all that nodes had done by then, or did before they ended.
func TestCuts(t *testing.T) {
	g := system()
	s := Of(g)
	for _, c := range []struct {
		node, at int
		want     []int // how many events of each node
		time     time.Duration
	}{
		{0, 0, []int{1, 0, 0}, 0},
		{1, 0, []int{0, 1, 0}, 0},
		{1, 1, []int{1, 2, 0}, 0},
		{0, 1, []int{2, 3, 1}, time.Second},
		{1, 2, []int{2, 3, 1}, time.Second},
		{0, 2, []int{3, 3, 1}, time.Second},
		{1, 3, []int{3, 4, 1}, time.Second},
		{2, 0, []int{0, 0, 1}, 0},
		{1, 1, []int{1, 2, 0}, 0}, // asked again, it is the same
	} {
		e := &g[c.node].Events[c.at]
		got := make([]int, len(g))
		for name := range s.To(e.Name) {
			got[name.Component]++
		}
		if now := s.Time(e); !slices.Equal(got, c.want) || now != c.time {
			t.Errorf("before event %d of node %d are %v at %v, want %v at %v", c.at, c.node, got, now, c.want,
				c.time)
		}
	}
	if first, second := s.InOrder(&g[1].Events[1], &g[0].Events[0]); first.Component != 0 ||
		second.Component != 1 {
		t.Error("what is received is before what is sent")
	}
	if first, _ := s.InOrder(&g[1].Events[0], &g[0].Events[0]); first.Component != 1 {
		t.Error("what is independent is not as it was given")
	}
	changed := network.Event{Kind: model.Publish}
	part := s.Part(&g[2].Events[0], &g[1].Events[1], func(e *skeleton.Event) { e.Label = changed })
	if len(part[0].Events) != 1 || len(part[1].Events) != 2 || len(part[2].Events) != 1 ||
		network.Did(&part[1].Events[1]) != changed || network.Did(&g[1].Events[1]) == changed {
		t.Errorf("the part is %+v", part)
	}
}

package network

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
)

// TestUnvisited: a node counts as reached that accepts a connection in some execution. Who does not
// listen waits for nobody.
func TestUnvisited(t *testing.T) {
	does := func(list ...Event) (l skeleton.Local) {
		for i := range list {
			l.Events = append(l.Events, skeleton.Event{Label: list[i]})
		}
		return l
	}
	listen := Event{Kind: model.Listen, Address: "127.0.0.1:1"}
	accept := Event{Kind: model.Accept, Conn: "c#1"}
	net := &Nodes{Names: []string{"reached", "alone", "client"}}
	got := net.Unvisited([]skeleton.Global{
		{does(listen), does(listen), does()},
		{does(listen, accept), does(listen), does(Event{Kind: model.Connect, Conn: "c#1"})},
	})
	want := []string{"node alone listens at 127.0.0.1:1, and accepts no connection in any execution: what " +
		"it does with one is not covered"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

package peers

import (
	"fmt"
	"testing"
)

// TestFaultPlaces: a selection of peers is all addresses at which these listen, and connections
// that clients open are a part of it if a client is named.
func TestFaultPlaces(t *testing.T) {
	g := Group{Peers: []Peer{
		{
			Name:   "a",
			Listen: "127.0.0.1:80 unix:{scratch}/a",
		}, {Name: "b", Listen: "[::]:81 unix:@b"}, {Name: "c", After: "listen 90"},
	}}
	for _, test := range []struct {
		names []string
		want  string
	}{
		{[]string{"a"}, "[127.0.0.1:80 unix " + ScratchDirectory + "/a] false"},
		{[]string{"b", "c"}, "[[::]:81 unix @b] true"},
		{[]string{"c"}, "[] true"},
	} {
		if err := g.CheckFaults(test.names); err != nil {
			t.Errorf("%v: %v", test.names, err)
		}
		at, clients := g.FaultPlaces(test.names)
		if got := fmt.Sprint(at, " ", clients); got != test.want {
			t.Errorf("%v: %s, want %s", test.names, got, test.want)
		}
	}
}

package driver

import (
	"slices"
	"testing"

	"github.com/tandem-mc/tandem/peers"
)

// TestGroupsOfBehavioursAreBounded: the one needed last is the first, and the one that was not
// needed for the longest time goes.
func TestGroupsOfBehavioursAreBounded(t *testing.T) {
	d := New(t.Context(), Config{Spec: peers.Group{Peers: []peers.Peer{{Choices: 100}}}})
	first := map[int]*groupState{}
	var recent []int
	for i := range 1000 {
		behaviour := i * i * 7 % 41
		g, err := d.selectVariant(behaviour)
		if err != nil {
			t.Fatal(err)
		}
		kept := slices.Contains(recent, behaviour)
		recent = slices.DeleteFunc(recent, func(b int) bool { return b == behaviour })
		recent = slices.Insert(recent, 0, behaviour)
		recent = recent[:min(len(recent), maxGroups)]
		if g != d.groups[0] || len(d.groups) != len(recent) {
			t.Fatalf("step %d: %d groups, want %d, that of behaviour %d first",
				i, len(d.groups), len(recent), behaviour)
		}
		for j, s := range d.groups {
			if s.behaviour != recent[j] {
				t.Fatalf("step %d: group %d has behaviour %d, want %d", i, j, s.behaviour, recent[j])
			}
		}
		if kept && first[behaviour] != g {
			t.Fatalf("step %d: the group of behaviour %d was not kept", i, behaviour)
		}
		first[behaviour] = g
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

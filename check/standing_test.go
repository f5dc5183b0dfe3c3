package check

import (
	"context"
	"slices"
	"testing"

	"github.com/tandem-mc/tandem/peers"
)

// TestGroupsOfBehavioursAreBounded: the one needed last is the first, and the one that was
// not needed for the longest time goes.
func TestGroupsOfBehavioursAreBounded(t *testing.T) {
	p := newPeerSide(context.Background(), nil, peers.Group{Peers: []peers.Peer{{Choices: 100}}}, nil)
	first := map[int]*standing{}
	var recent []int
	for i := range 1000 {
		behaviour := i * i * 7 % 41
		if err := p.behave(behaviour); err != nil {
			t.Fatal(err)
		}
		kept := slices.Contains(recent, behaviour)
		recent = slices.DeleteFunc(recent, func(b int) bool { return b == behaviour })
		recent = slices.Insert(recent, 0, behaviour)
		recent = recent[:min(len(recent), maxStandings)]
		if p.standing != p.standings[0].standing || len(p.standings) != len(recent) {
			t.Fatalf("step %d: %d groups, want %d, that of behaviour %d first", i, len(p.standings), len(recent), behaviour)
		}
		for j, s := range p.standings {
			if s.behaviour != recent[j] {
				t.Fatalf("step %d: group %d has behaviour %d, want %d", i, j, s.behaviour, recent[j])
			}
		}
		if kept && first[behaviour] != p.standing {
			t.Fatalf("step %d: the group of behaviour %d was not kept", i, behaviour)
		}
		first[behaviour] = p.standing
	}
	if err := p.close(); err != nil {
		t.Error(err)
	}
}

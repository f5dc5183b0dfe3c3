package nodes

import (
	"fmt"
	"testing"
)

// TestDatagramsExploredAgainstTwin: random nodes that send datagrams, and are explored, come to the
// same as a system whose states are all gone through, and to nothing else. What they come to is
// replayed.
func TestDatagramsExploredAgainstTwin(t *testing.T) {
	all := []string{"lost", "duplicated", "reordered"}
	link := [][][2]int{{{0, 1}}}
	t.Run("reliable", func(t *testing.T) { compareExploredAir(t, 2, airState{parted: 2}, Config{}) })
	t.Run("faults", func(t *testing.T) {
		compareExploredAir(t, 6, airState{parted: 2, faults: 1, kinds: fmt.Sprint(all)},
			Config{Datagrams: all, DatagramLimit: 1})
	})
	t.Run("parted", func(t *testing.T) {
		compareExploredAir(t, 4, airState{}, Config{Partitions: link})
	})
}

// compareExploredAir compares explorations with what random nodes come to from a state on, of each
// so many systems one.
func compareExploredAir(t *testing.T, every int, from airState, config Config) {
	t.Helper()
	kinds, runs := map[rune]int{}, 0
	for w := range airTwins(t, every, from, config) {
		w.count(kinds)
		runs += w.explored(t, 2)
	}
	t.Logf("%d executions; %v", runs, kinds)
	if *systems >= 25 && (kinds['f'] == 0 || kinds['t'] == 0 || kinds['x']+kinds['y']+kinds['z'] == 0) {
		t.Errorf("nodes come to no more than %v", kinds)
	}
}

package nodes

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tandem-mc/tandem/check/internal/nodes/given"
	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/check/internal/nodes/pick"
	"github.com/tandem-mc/tandem/check/internal/nodes/properties"
)

// TestPausesAgainstTwin: random nodes of which each may be paused come only to what they come to in
// a system whose states are all gone through, also if the network is parted. What they come to is
// replayed.
func TestPausesAgainstTwin(t *testing.T) {
	may := [2]partedNode{{pauses: 1}, {pauses: 1}}
	pauses := given.Crash{Pauses: []int{0, 1}, PauseLimit: 1}
	t.Run("paused", func(t *testing.T) {
		compareWalks(t, 1, partedState{parted: 2, nodes: may}, Config{Crash: pauses})
	})
	t.Run("parted and paused", func(t *testing.T) {
		compareWalks(t, 3, partedState{givesUp: true, nodes: may}, Config{Crash: pauses, Partitions: both()})
	})
}

// TestNoPartitionAfterPause: no partition begins at the time at which a node that was paused has
// gone on, but at the next one.
func TestNoPartitionAfterPause(t *testing.T) {
	net := &network.Nodes{}
	w := newWalk(net, &properties.Wanted{}, rand.New(rand.NewPCG(1, 1)))
	w.cuts = []*pick.Cut{{Length: 1}}
	w.ticks, w.resumed = 3, 3
	if w.next(nil); w.cut != nil {
		t.Errorf("the network is parted at %d", w.cut.From)
	}
	w.ticks++
	if w.next(nil); w.cut == nil || w.cut.From != 4 {
		t.Errorf("the partition is %+v, want one from 4 on", w.cut)
	}
}

// TestPauseIsLate: a client writes after 1 ms, and the server waits for 2 ms. So it only waits in
// vain if one of them is paused: the letter comes late, or the timer fires first. The report says
// when that is, and so does the file.
func TestPauseIsLate(t *testing.T) {
	program := build(t, "./testdata/parted")
	for _, pauses := range [][]int{nil, {0}, {1}} {
		c := Config{Nodes: partedNodes(program, []string{"a3 r2", "d1 s1 wx s3"}, 0, "not:t"),
			Executions: 600, Crash: given.Crash{Pauses: pauses, PauseLimit: 1},
			Walks: &pick.Walks{Seed: 1, Picks: allPicks}}
		r, err := Run(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		v := r.Violation()
		if (v != nil) != (pauses != nil) {
			t.Errorf("nodes %v are paused: %+v", pauses, r)
		}
		if v == nil {
			continue
		}
		text := strings.Join(whats(v.Events), "\n")
		paused, resumed := strings.Index(text, "a is paused"), strings.Index(text, "a goes on")
		if pauses[0] == 0 && !(0 <= paused && paused < resumed) ||
			pauses[0] == 1 && !strings.Contains(text, "b is paused") {
			t.Errorf("no pause is told:\n%s", text)
		}
		again, err := Replay(t.Context(), programsOf(c.Nodes), throughFile(t, v.Recording), 5)
		if err != nil || again.Violation == nil {
			t.Errorf("not from the file: %+v, %v", again, err)
		}
	}
}

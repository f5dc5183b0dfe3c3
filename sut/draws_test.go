package sut_test

import (
	"testing"

	"github.com/tandem-mc/tandem/sut"
)

// TestDraws: a schedule says which random numbers the program gets, wherever its execution begins.
// Without a word, they are those of a check of one program.
func TestDraws(t *testing.T) {
	for _, isolation := range []sut.Isolation{sut.Snapshot, sut.Fork} {
		w := start(t, isolation, "random")
		got := map[uint64]string{}
		for _, draws := range []uint64{0, 1, 2, 1, 0, 2} {
			out := string(run(t, w, sut.Schedule{Beginning: sut.Beginning{Draws: draws}}, nil).Stdout)
			if was, known := got[draws]; known && was != out {
				t.Errorf("isolation %v, %d: %q, and before %q", isolation, draws, out, was)
			}
			got[draws] = out
		}
		if got[0] == got[1] || got[1] == got[2] || got[0] == got[2] {
			t.Errorf("isolation %v: others draw the same: %v", isolation, got)
		}
	}
}

package storage

import (
	"testing"

	"github.com/tandem-mc/tandem/protocol"
)

// TestRegular: no read returns what is older than a write that has ended before. The numbers are
// those of the search without a reduction.
func TestRegular(t *testing.T) {
	for _, c := range []struct {
		Config
		states, depth int
		transitions   int64
	}{
		{Config{Objects: 3, Readers: 1, Writes: 1, Reads: 1, Quorums: true}, 799, 11, 2229},
		{Config{Objects: 3, Readers: 1, Writes: 1, Reads: 1}, 2818, 15, 10_689},
		{Config{Objects: 3, Readers: 1, Writes: 2, Reads: 1, Quorums: true}, 22_543, 17, 87_081},
		{Config{Objects: 3, Readers: 1, Writes: 2, Reads: 1}, 109_069, 23, 563_470},
	} {
		r := protocol.Test(t, Model(c.Config), protocol.Options{})
		if r.States != c.states || r.Transitions != c.transitions || r.Depth != c.depth {
			t.Errorf("%+v: %v; want %d states, %d transitions, depth %d", c.Config, r, c.states,
				c.transitions, c.depth)
		}
	}
}

// TestInversion: of a regular register it is wrong that a read returns nothing older than a read
// that has ended before. A value is stored at one base object only; the first read has it, and the
// second one asks the others. With two readers, one has to hear of the other first.
func TestInversion(t *testing.T) {
	for _, c := range []struct {
		readers, reads int
		quorums        bool
		steps          int
	}{
		{1, 2, true, 10}, {1, 2, false, 12}, {2, 1, true, 11}, {2, 1, false, 13},
	} {
		m := Model(Config{Objects: 3, Readers: c.readers, Writes: 1, Reads: c.reads, NoInversions: true,
			Quorums: c.quorums})
		r, err := protocol.Check(m, protocol.Options{})
		if err != nil || r.Violation == nil || r.Violation.Steps != c.steps {
			t.Errorf("%+v: %v, error %v; want a violation after %d steps", c, r, err, c.steps)
		}
	}
}

// TestAtomic: if readers store what they return, it holds. The runs are those of one reader that
// reads twice.
func TestAtomic(t *testing.T) {
	m := Model(Config{Objects: 3, Readers: 1, Writes: 1, Reads: 2, Atomic: true, NoInversions: true,
		Quorums: true})
	r := protocol.Test(t, m, protocol.Options{})
	if r.States != 313_042 || r.Transitions != 1_273_728 || r.Depth != 24 {
		t.Errorf("%v; want 313042 states, 1273728 transitions, depth 24", r)
	}
}

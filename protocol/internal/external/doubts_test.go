package external

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestDoubts: of states that lead to some candidates, those are found that lead to none whose key
// is new, at whatever place that candidate is. All places of a key are told if all are kept.
func TestDoubts(t *testing.T) {
	parent := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		d := openDir(t, parent, "", drawSizes(t))
		defer closeDir(t, d)
		c, doubts, isOld := NewCandidates(d), NewDoubts(d), map[string]bool{}
		c.Sorter.KeepAll = true
		keys := drawCandidates(t, c, isOld)
		var want []uint64
		place := uint64(0)
		for range rapid.IntRange(0, 50).Draw(t, "states") {
			place += uint64(rapid.IntRange(1, 5000).Draw(t, "further"))
			var candidates []uint64
			leads := false
			for range rapid.IntRange(0, 4).Draw(t, "steps") {
				if len(keys) == 0 {
					break
				}
				n := rapid.IntRange(0, len(keys)-1).Draw(t, "candidate")
				candidates, leads = append(candidates, uint64(n)), leads || !isOld[string(keys[n])]
			}
			if err := doubts.Add(place, candidates); err != nil {
				t.Fatal(err)
			}
			if !leads {
				want = append(want, place)
			}
		}
		bits := make([]uint64, len(keys)/64+1)
		m, err := c.Sorter.Merge()
		for ok := err == nil; ok; {
			if ok, err = m.Next(); err != nil || !ok {
				break
			}
			for _, place := range append([]uint64{m.Value}, m.Others...) {
				if string(m.Key) != string(keys[place]) || place < m.Value {
					t.Fatalf("the key %q is not at place %d, or not first at %d", m.Key, place, m.Value)
				}
				if !isOld[string(m.Key)] {
					bits[place/64] |= 1 << (place % 64)
				}
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		var got []uint64
		for range 2 { // the second time there are none
			err := doubts.Unresolved(bits, func(place uint64) error {
				got = append(got, place)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := doubts.Empty(); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%d lead to nothing new; want %d", got, want)
		}
	})
}

// drawCandidates draws the keys of candidates, of which some come again, and which of them are old.
func drawCandidates(t *rapid.T, c *Candidates, isOld map[string]bool) [][]byte {
	var keys [][]byte
	for range rapid.IntRange(0, 100).Draw(t, "candidates") {
		key := drawKey(t)
		if n := len(keys); n > 0 && rapid.Bool().Draw(t, "comes again") {
			key = keys[rapid.IntRange(0, n-1).Draw(t, "which")]
		} else {
			isOld[string(key)] = isOld[string(key)] || rapid.Bool().Draw(t, "old")
		}
		keys = append(keys, key)
		if err := c.Add(key, 0); err != nil {
			t.Fatal(err)
		}
	}
	return keys
}

// TestSeeker: records are read by their places, in whatever order.
func TestSeeker(t *testing.T) {
	parent := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		d := openDir(t, parent, "", drawSizes(t))
		defer closeDir(t, d)
		w := NewWriter(d.Create(), true)
		n := rapid.IntRange(1, 2*manyRecords).Draw(t, "records")
		for i := range n {
			if err := w.Append([]byte{byte(i)}, uint64(i)); err != nil {
				t.Fatal(err)
			}
		}
		section, err := w.End()
		if err != nil {
			t.Fatal(err)
		}
		s := NewSeeker(section, true)
		for range 20 {
			place := rapid.IntRange(0, n-1).Draw(t, "place")
			if err := s.Seek(uint64(place)); err != nil || s.Value != uint64(place) ||
				s.Key[0] != byte(place) {
				t.Fatalf("record %d: %d, error %v", place, s.Value, err)
			}
		}
		if err := s.Seek(uint64(n)); err == nil {
			t.Fatal("there is a record behind the last one")
		}
	})
}

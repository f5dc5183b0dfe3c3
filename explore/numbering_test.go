package explore

import (
	"testing"

	"pgregory.net/rapid"
)

// TestNumbering compares a numbering with a list, for IDs of which many have the same place in the table, and some are alike.
func TestNumbering(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var n numbering[ObjectID]
		var list []ObjectID
		ids := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) ObjectID {
			return ObjectID(rapid.Uint64Range(0, 40).Draw(t, "low") << rapid.SampledFrom([]int{0, 20, 58}).Draw(t, "shift"))
		}), 1, 60, rapid.ID[ObjectID]).Draw(t, "ids")
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			switch pick := rapid.IntRange(0, 99).Draw(t, "step"); {
			case pick == 0:
				n.clear()
				list = list[:0]
			case pick < 40 && len(list) > 0:
				n.drop()
				list = list[:len(list)-1]
			case len(list) < len(ids):
				if got := n.add(ids[len(list)]); int(got) != len(list) {
					t.Fatalf("ID %d has number %d", len(list), got)
				}
				list = ids[:len(list)+1]
			}
			for i, id := range ids {
				want := int32(i)
				if i >= len(list) {
					want = -1
				}
				if got, known := n.of(id); got != want || known != (want >= 0) {
					t.Fatalf("ID %d of %d has number %d, %v", i, len(list), got, known)
				}
				likely := rapid.Int32Range(0, int32(len(ids))).Draw(t, "likely")
				if got, known := n.near(likely, id); got != want || known != (want >= 0) {
					t.Fatalf("ID %d of %d has number %d near %d, %v", i, len(list), got, likely, known)
				}
			}
		}
	})
}

package trace

import (
	"testing"

	"github.com/tandem-mc/tandem/explore/internal/core"
	"pgregory.net/rapid"
)

// TestNumbering compares a numbering with a list, for IDs of which many have the same place in the
// table, and some are alike.
func TestNumbering(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var n Numbering[core.ObjectID]
		var list []core.ObjectID
		ids := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) core.ObjectID {
			return core.ObjectID(rapid.Uint64Range(0, 40).Draw(t,
				"low") << rapid.SampledFrom([]int{0, 20, 58}).Draw(t, "shift"))
		}), 1, 60, rapid.ID[core.ObjectID]).Draw(t, "ids")
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			switch pick := rapid.IntRange(0, 99).Draw(t, "step"); {
			case pick == 0:
				n.Clear()
				list = list[:0]
			case pick < 40 && len(list) > 0:
				n.drop()
				list = list[:len(list)-1]
			case len(list) < len(ids):
				if got := n.Add(ids[len(list)]); int(got) != len(list) {
					t.Fatalf("ID %d has number %d", len(list), got)
				}
				list = ids[:len(list)+1]
			}
			for i, id := range ids {
				want := int32(i)
				if i >= len(list) {
					want = -1
				}
				if got, known := n.Of(id); got != want || known != (want >= 0) {
					t.Fatalf("ID %d of %d has number %d, %v", i, len(list), got, known)
				}
				likely := rapid.Int32Range(0, int32(len(ids))).Draw(t, "likely")
				if got, known := n.Near(likely, id); got != want || known != (want >= 0) {
					t.Fatalf("ID %d of %d has number %d near %d, %v", i, len(list), got, likely, known)
				}
			}
		}
	})
}

package network

import "testing"

// TestIsHeld: what crosses the links of a partition may be held in the epoch in which it begins,
// and must be in those after it, up to the heal. Nothing else is held.
func TestIsHeld(t *testing.T) {
	n := &Nodes{Parted: &Partition{Links: [][2]int{{0, 2}}, From: 1, Until: 3}}
	for epoch, want := range []struct {
		may, must        bool
		earliest, latest int
	}{
		{false, false, 0, 0}, {true, false, 1, 3}, {true, true, 3, 3}, {false, false, 3, 3},
		{false, false, 4, 4},
	} {
		for _, link := range [][2]int{{0, 2}, {2, 0}} {
			may, must := n.IsHeld(link[0], link[1], epoch)
			earliest, latest := n.earliest(link[0], link[1], epoch), n.latest(link[0], link[1], epoch)
			if may != want.may || must != want.must || earliest != want.earliest || latest != want.latest {
				t.Errorf("from %d to %d in epoch %d: may %t, must %t, from %d to %d; want %+v", link[0],
					link[1], epoch, may, must, earliest, latest, want)
			}
		}
		for _, link := range [][2]int{{0, 1}, {1, 2}} {
			if may, must := n.IsHeld(link[0], link[1], epoch); may || must {
				t.Errorf("from %d to %d in epoch %d something is held", link[0], link[1], epoch)
			}
		}
	}
	if may, must := (&Nodes{}).IsHeld(0, 2, 1); may || must {
		t.Error("without a partition something is held")
	}
}

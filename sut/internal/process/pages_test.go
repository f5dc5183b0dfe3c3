package process

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/sut/internal/abi"
)

// TestJoinPages compares the regions with a dumb twin: page by page, each is put
// back from its own copy, and nothing else is but pages that have one.
func TestJoinPages(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		saved := map[uint64]uint64{} // all pages of the snapshot
		at := uint64(1 << 30)
		for page := uint64(1); page < 40; page++ {
			if random.IntN(3) > 0 {
				saved[page*pageSize] = at
				at += pageSize
			}
		}
		written := map[uint64]uint64{}
		var sorted []uint64
		for page := uint64(1); page < 40; page++ {
			if random.IntN(2) == 0 {
				sorted = append(sorted, page*pageSize)
				written[page*pageSize] = saved[page*pageSize]
			}
		}
		tight, wide := joinPages(sorted, written, 0), joinPages(sorted, written, backupBytes)
		if diff := cmp.Diff(written, putBack(tight)); diff != "" {
			t.Fatalf("the regions put back other pages than those written:\n%s", diff)
		}
		got := putBack(wide)
		for page, from := range written {
			if got[page] != from {
				t.Fatalf("page %#x is put back from %#x, want %#x", page, got[page], from)
			}
		}
		for page, from := range got {
			if _, isWritten := written[page]; !isWritten && (from == 0 || saved[page] != from) {
				t.Fatalf("page %#x is put back from %#x, its copy is at %#x", page, from, saved[page])
			}
		}
		if len(wide) > len(tight) || !slices.IsSortedFunc(wide,
			func(a, b abi.Region) int { return int(a.Address) - int(b.Address) }) {
			t.Fatalf("%d regions with gaps, %d without", len(wide), len(tight))
		}
	}
}

// putBack says where each page of regions is put back from; 0: it becomes zero.
func putBack(regions []abi.Region) map[uint64]uint64 {
	pages := map[uint64]uint64{}
	for _, r := range regions {
		for at := uint64(0); at < r.Length; at += pageSize {
			pages[r.Address+at] = 0
			if r.Saved != 0 {
				pages[r.Address+at] = r.Saved + at
			}
		}
	}
	return pages
}

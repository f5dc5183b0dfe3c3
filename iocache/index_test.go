package iocache

import (
	"testing"

	"pgregory.net/rapid"
)

// TestIndex compares the table with a list, with hashes of which many are equal, and at the end of
// the table.
func TestIndex(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var x index
		hashes := map[int32]uint32{} // of the numbers in the table
		for range rapid.IntRange(0, 200).Draw(t, "changes") {
			number := rapid.Int32Range(1, 40).Draw(t, "number")
			if hash, there := hashes[number]; there {
				x.remove(hash, number)
				delete(hashes, number)
			} else {
				hashes[number] = rapid.SampledFrom([]uint32{0, 1, 2, 6, 7, 15, 1 << 31,
					1<<32 - 1}).Draw(t, "hash")
				x.insert(hashes[number], number)
			}
			for n := int32(1); n <= 40; n++ {
				want := int32(0)
				if _, there := hashes[n]; there {
					want = n
				}
				if got := x.find(hashes[n], func(number int32) bool { return number == n }); got != want {
					t.Fatalf("number %d is found as %d, want %d", n, got, want)
				}
			}
			if x.taken != len(hashes) || 4*x.taken > 3*len(x.slots) {
				t.Fatalf("%d of %d slots are taken, there are %d numbers", x.taken, len(x.slots), len(hashes))
			}
		}
	})
}

func TestIndexRefuses(t *testing.T) {
	for name, misuse := range map[string]func(x *index){
		"number 0":                        func(x *index) { x.insert(1, 0) },
		"removal of what was not there":   func(x *index) { x.remove(1, 2) },
		"removal under another hash":      func(x *index) { x.remove(9, 1) },
		"removal of what is not any more": func(x *index) { x.remove(1, 1); x.remove(1, 1) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			var x index
			x.insert(1, 1)
			misuse(&x)
		}()
	}
}

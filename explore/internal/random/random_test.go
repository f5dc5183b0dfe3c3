package random

import (
	"math/bits"
	"testing"

	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/explore/internal/core"
)

// TestSplit: a stretch that was split goes on as one that was not.
func TestSplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed, n := rapid.Uint64().Draw(t, "seed"), rapid.IntRange(0, 50).Draw(t, "n")
		whole, rest := Seeds{seed}, stretch{Seeds: Seeds{seed}, left: 60}
		first := rest.split(n)
		if first.left != n || rest.left != 60-n {
			t.Fatalf("%d and %d are left", first.left, rest.left)
		}
		for range n {
			if want, got := whole.Seed(), first.Seed(); got != want || got == 0 {
				t.Fatalf("seed %d, want %d", got, want)
			}
		}
		if want, got := whole.Seed(), rest.Seed(); got != want {
			t.Fatalf("after the split seed %d, want %d", got, want)
		}
	})
}

// TestHistogramAgainstTwin: a length is picked as often as executions had about that length.
func TestHistogramAgainstTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lengths := rapid.SliceOfN(rapid.IntRange(0, 1<<12), 1, 40).Draw(t, "lengths")
		var h histogram
		count, longest := map[int]int{}, map[int]int{} // by the number of digits
		total := 0
		for _, n := range lengths {
			h.add(n)
			if n > 0 {
				total++
				digits := bits.Len(uint(n))
				count[digits]++
				longest[digits] = max(longest[digits], n)
			}
		}
		if h.executions() != total {
			t.Fatalf("%d executions, want %d", h.executions(), total)
		}
		picked := map[int]int{}
		for i := range total {
			picked[h.pick(uint64(i))]++
		}
		for digits, n := range count {
			if picked[longest[digits]] != n {
				t.Fatalf("%d is picked %d times of %d, want %d", longest[digits], picked[longest[digits]],
					total, n)
			}
		}
	})
}

// TestPriorities: changes are at transitions that executions have, and as many as a depth needs.
func TestPriorities(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &priorities{
			depth:  rapid.IntRange(1, MaxDepth).Draw(t, "depth"),
			length: rapid.IntRange(0, 100).Draw(t, "length"),
		}
		var drawn core.Priorities
		changes := p.draw(rapid.Uint64().Draw(t, "seed"), &drawn).Changes
		want := p.depth - 1
		if p.length == 0 {
			want = 0
		}
		if len(changes) != want {
			t.Fatalf("%d changes, want %d", len(changes), want)
		}
		for _, at := range changes {
			if at < 1 || at > p.length {
				t.Fatalf("a change at transition %d of %d", at, p.length)
			}
		}
	})
}

// TestProbes: the estimate from all paths of a tree, each as often as it is drawn, is its number of
// leaves.
func TestProbes(t *testing.T) {
	var p Probes
	for range 2 { // one leaf in each branch of the root but in the second, which has three
		p.Add(2)
		p.Add(2)
		p.Add(2)
	}
	for range 2 {
		for range 3 {
			p.Add(6)
		}
	}
	if e := p.Estimate(); e.Executions != 4 {
		t.Errorf("%v, want 4: %d probes", e, int(p.n))
	}
}

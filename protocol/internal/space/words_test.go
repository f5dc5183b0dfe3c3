package space

import (
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// TestWordsAgainstMap: a set of words is like a map from states to those that they were first
// reached from, also if a state comes twice at once. Range has all states of a shard in their
// order.
func TestWordsAgainstMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(1, Width).Draw(t, "width")
		set := NewWords(rapid.SampledFrom([]int{1, 2, 64}).Draw(t, "shards"), width)
		parents, places := map[Vector]Ref{}, map[Vector]Ref{}
		most := rapid.SampledFrom([]uint64{2, 30, 1 << 40}).Draw(t, "numbers")
		last := None
		for range rapid.IntRange(1, 300).Draw(t, "rounds") {
			lists := map[int][]Candidate{}
			for range rapid.IntRange(1, 20).Draw(t, "together") {
				var v Vector
				for i := range width {
					v[i] = rapid.Uint64Range(0, most).Draw(t, "word")
				}
				var c Candidate
				shard := set.Set(&c, &v, last)
				lists[shard] = append(lists[shard], c)
			}
			next := last
			for shard, list := range lists {
				if err := set.Insert(shard, list); err != nil {
					t.Fatal(err)
				}
				for _, c := range list {
					if _, known := parents[c.State]; c.IsNew == known {
						t.Fatalf("%x is new: %v, known: %v", c.State, c.IsNew, known)
					}
					if c.IsNew {
						parents[c.State], places[c.State] = last, c.At
					}
					if places[c.State] != c.At {
						t.Fatalf("%x is at %d and at %d", c.State, places[c.State], c.At)
					}
					next = c.At
				}
			}
			last = next
		}
		for v, parent := range parents {
			if at := places[v]; set.State(at) != v || set.Parent(at) != parent {
				t.Fatalf("%x at %d: parent %d, want %d", v, at, set.Parent(at), parent)
			}
		}
		checkRanges(t, set, places)
	})
}

// checkRanges wants all states in the ranges of the shards.
func checkRanges(t *rapid.T, set *Words, places map[Vector]Ref) {
	seen := 0
	for shard := range set.Shards() {
		for all := set.Range(shard, 0, set.End(shard)); ; seen++ {
			at, v, ok := all.Next()
			if !ok {
				break
			}
			if places[v] != at {
				t.Fatalf("a state at %d is said to be at %d", places[v], at)
			}
		}
	}
	if n, _ := set.Size(); seen != len(places) || n != len(places) {
		t.Fatalf("%d states, Range has %d, Size says %d", len(places), seen, n)
	}
}

// TestWordsTogether: of equal states that goroutines insert, one is new.
func TestWordsTogether(t *testing.T) {
	const states, workers = 50_000, 4
	set := NewWords(16, 2)
	var fresh [workers]int
	var done sync.WaitGroup
	for w := range workers {
		done.Go(func() {
			for i := range states {
				v := Vector{uint64(i * 7919 % states), 1}
				var list [1]Candidate
				shard := set.Set(&list[0], &v, None)
				if err := set.Insert(shard, list[:]); err == nil && list[0].IsNew {
					fresh[w]++
				}
			}
		})
	}
	done.Wait()
	if sum := fresh[0] + fresh[1] + fresh[2] + fresh[3]; sum != states {
		t.Errorf("%d states are new, want %d", sum, states)
	}
}

package space

import (
	"runtime"
	"sync"
	"testing"

	"github.com/tandem-mc/tandem/protocol/internal/pages"
	"pgregory.net/rapid"
)

// TestWordsAgainstMap: a set of words is like a map from states to those that they were first
// reached from, also if a state comes twice at once. Range has all states of an arena in their
// order.
func TestWordsAgainstMap(t *testing.T) {
	rapid.Check(t, checkWords[[1]uint64])
	rapid.Check(t, checkWords[[2]uint64])
	rapid.Check(t, checkWords[[3]uint64])
	rapid.Check(t, checkWords[[4]uint64])
}

func checkWords[V Vector](t *rapid.T) {
	arenas := rapid.SampledFrom([]int{1, 2, 5}).Draw(t, "arenas")
	set := NewWords[V](arenas)
	// After a reset it is like a new one.
	for range 2 {
		fillWords(t, set, arenas)
		set.Reset()
	}
}

func fillWords[V Vector](t *rapid.T, set *Words[V], arenas int) {
	parents, places := map[V]Ref{}, map[V]Ref{}
	most := rapid.SampledFrom([]uint64{2, 30, 1 << 40}).Draw(t, "numbers")
	last := None
	for range rapid.IntRange(1, 300).Draw(t, "rounds") {
		lists := map[int][]Candidate[V]{}
		for range rapid.IntRange(1, 20).Draw(t, "together") {
			var v V
			for i := range len(v) {
				v[i] = rapid.Uint64Range(0, most).Draw(t, "word")
			}
			var c Candidate[V]
			arena := rapid.IntRange(0, arenas-1).Draw(t, "arena")
			c.Set(&v, Hash(&v), last, 0)
			lists[arena] = append(lists[arena], c)
		}
		next := last
		for arena, list := range lists {
			if err := set.Insert(arena, list); err != nil {
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
}

// checkRanges wants all states in the ranges of the arenas.
func checkRanges[V Vector](t *rapid.T, set *Words[V], places map[V]Ref) {
	seen := 0
	for arena := range set.Shards() {
		for all := set.Range(arena, 0, set.End(arena)); ; seen++ {
			at, v, _, _ := all.Next()
			if v == nil {
				break
			}
			if places[*v] != at {
				t.Fatalf("a state at %d is said to be at %d", places[*v], at)
			}
		}
	}
	if n, _ := set.Size(); seen != len(places) || n != len(places) {
		t.Fatalf("%d states, Range has %d, Size says %d", len(places), seen, n)
	}
}

// TestWordsTogether: of equal states that goroutines insert, one is new. The table grows meanwhile,
// and what a goroutine has put in can be looked at.
func TestWordsTogether(t *testing.T) {
	const states, workers = 50_000, 4
	set := NewWords[[2]uint64](workers)
	var fresh [workers]int
	var done sync.WaitGroup
	for w := range workers {
		done.Go(func() {
			for i := range states {
				v := [2]uint64{uint64(i * 7919 % states), 1}
				var list [1]Candidate[[2]uint64]
				list[0].Set(&v, Hash(&v), None, 0)
				if err := set.Insert(w, list[:]); err == nil && list[0].IsNew {
					fresh[w]++
				}
				if set.State(list[0].At) != v || set.Parent(list[0].At) != None {
					t.Errorf("%d is not where it is said to be", v)
				}
			}
		})
	}
	done.Wait()
	if sum := fresh[0] + fresh[1] + fresh[2] + fresh[3]; sum != states {
		t.Errorf("%d states are new, want %d", sum, states)
	}
}

// TestChange: states that are changed stay where they are, and are found.
func TestChange(t *testing.T) {
	const states, arenas = 5000, 3
	set := NewWords[[2]uint64](arenas)
	defer set.Release()
	one := func(i int) [2]uint64 { return [2]uint64{uint64(i), 7} }
	insert := func(v [2]uint64, arena int) Candidate[[2]uint64] {
		var list [1]Candidate[[2]uint64]
		list[0].Set(&v, Hash(&v), None, 5)
		if err := set.Insert(arena, list[:]); err != nil {
			t.Fatal(err)
		}
		return list[0]
	}
	var places [states]Ref
	for i := range states {
		places[i] = insert(one(i), i%arenas).At
	}
	change := func(v *[2]uint64) { v[0], v[1] = v[1], v[0]<<32 }
	set.Change(change)
	for i := range states {
		v := one(i)
		if c := insert(v, 0); !c.IsNew {
			t.Fatalf("%x is still there", v)
		}
		change(&v)
		if c := insert(v, 0); c.IsNew || c.At != places[i] || set.State(c.At) != v {
			t.Fatalf("%x is new: %v, and at %d; want %d", v, c.IsNew, c.At, places[i])
		}
	}
}

// TestReleased: a set gives its memory back when it is told to, or when nobody has it any more. It
// is a large one, since sets of other tests may be given back meanwhile.
func TestReleased(t *testing.T) {
	const large = 64 << 20
	fill := func() *Words[[1]uint64] {
		set := NewWords[[1]uint64](1)
		set.Reserve(large / 8)
		return set
	}
	set := fill()
	if pages.InUse() < large {
		t.Skip("all memory is the collector's here")
	}
	for range 2 {
		set.Release()
		if n := pages.InUse(); n >= large {
			t.Errorf("%d bytes after a release", n)
		}
	}
	fill()
	for pages.InUse() >= large {
		runtime.GC() // the test ends in time, or fails
	}
}

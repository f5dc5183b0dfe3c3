package space

import (
	"fmt"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// TestAgainstMap: a set is like a map from states to those that they were first reached from. Next
// has all states of a shard, in their order.
func TestAgainstMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set := New(rapid.SampledFrom([]int{1, 2, 5, 64}).Draw(t, "shards"))
		// After a reset it is like a new one.
		for range 2 {
			checkSet(t, set)
			set.Reset()
		}
	})
}

func checkSet(t *rapid.T, set *Set) {
	parents, places := map[string]Ref{}, map[string]Ref{}
	last := None
	for range rapid.IntRange(1, 5).Draw(t, "rounds") {
		size := rapid.SampledFrom([]int{3, 300, 30_000}).Draw(t, "bytes")
		for i := range rapid.IntRange(1, 200).Draw(t, "states") {
			state := fmt.Sprintf("%0*d", rapid.IntRange(1, size).Draw(t, "length"), i)
			at, isNew, err := set.Insert([]byte(state), last)
			if _, known := parents[state]; err != nil || isNew == known {
				t.Fatalf("inserted: new %v, known %v, error %v", isNew, known, err)
			}
			if isNew {
				parents[state], places[state] = last, at
			}
			last = at
		}
	}
	for state, parent := range parents {
		if at := places[state]; string(set.State(at)) != state || set.Parent(at) != parent {
			t.Fatalf("state at %d: parent %d, want %d", at, set.Parent(at), parent)
		}
	}
	seen := 0
	for shard := range set.Shards() {
		for all := set.Range(shard, 0, set.End(shard)); ; seen++ {
			at, state, ok := all.Next()
			if !ok {
				break
			}
			if places[string(state)] != at {
				t.Fatalf("a state at %d is said to be at %d", places[string(state)], at)
			}
		}
	}
	if n, _ := set.Size(); seen != len(parents) || n != len(parents) {
		t.Fatalf("%d states, Range has %d, Size says %d", len(parents), seen, n)
	}
}

// TestTogether: of equal states that goroutines insert, one is new.
func TestTogether(t *testing.T) {
	const states, workers = 50_000, 4
	set := New(16)
	var fresh [workers]int
	var done sync.WaitGroup
	for w := range workers {
		done.Go(func() {
			for i := range states {
				if _, isNew, err := set.Insert(fmt.Append(nil, i*7919%states), None); err == nil && isNew {
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

func TestLargeState(t *testing.T) {
	if _, _, err := New(1).Insert(make([]byte, blockSize), None); err != ErrLarge {
		t.Errorf("error %v", err)
	}
}

func BenchmarkInsert(b *testing.B) {
	set := New(1)
	state := make([]byte, 20)
	for i := 0; b.Loop(); i++ {
		copy(state, fmt.Append(state[:0], i%(1<<20)))
		if _, _, err := set.Insert(state, None); err != nil {
			b.Fatal(err)
		}
	}
	n, bytes := set.Size()
	b.ReportMetric(float64(bytes)/float64(n), "bytes/state")
}

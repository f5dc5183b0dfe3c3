package placing

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestPositions: places are on the way, in order, and no closer to where the execution begins, to
// the branch and to the end than the gap; they get twice as far from each other each time, so there
// are few of them.
func TestPositions(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		from := random.IntN(100)
		branch := from + random.IntN(2000)
		end := branch + random.IntN(2000)
		gap := 1 + random.IntN(50)
		list := Positions(from, branch, end, gap)
		if !slices.IsSorted(list) || len(slices.Compact(slices.Clone(list))) != len(list) {
			t.Fatalf("%v is not in order", list)
		}
		if len(list) > 2+2*12 {
			t.Errorf("%d places between %d and %d", len(list), from, end)
		}
		for _, at := range list {
			if at < from+gap || at > end-gap && at != branch || at > branch && at < branch+gap {
				t.Fatalf("from %d to %d and %d, gap %d: %v", from, branch, end, gap, list)
			}
		}
		if got := slices.Contains(list, branch); got != (branch-from >= gap) {
			t.Fatalf("from %d to %d and %d, gap %d: %v", from, branch, end, gap, list)
		}
	}
	if got := Positions(0, 100, 160, 20); !slices.Equal(got, []int{20, 60, 80, 100, 120, 140}) {
		t.Errorf("%v", got)
	}
}

// TestLeast: what is given up is where places are too many, and never the last.
func TestLeast(t *testing.T) {
	for _, test := range []struct {
		at     []int
		branch int
		want   int
	}{
		{[]int{500}, 1000, -1}, {[]int{10, 900}, 1000, 0}, {[]int{100, 110, 120, 900, 950}, 1000, 1},
		{[]int{500, 750, 875, 937, 968}, 1000, 3}, {nil, 7, -1},
	} {
		got := Least(len(test.at)-1, test.branch, func(i int) int { return test.at[i] })
		if got != test.want {
			t.Errorf("%v: %d, want %d", test.at, got, test.want)
		}
	}
}

// TestBefore counts the places up to a position.
func TestBefore(t *testing.T) {
	at := []int{3, 5, 9}
	for position, want := range map[int]int{0: 0, 3: 1, 4: 1, 5: 2, 8: 2, 9: 3, 99: 3} {
		if got := Before(len(at), position, func(i int) int { return at[i] }); got != want {
			t.Errorf("%d: %d, want %d", position, got, want)
		}
	}
}

// TestGap: places are the closer to each other the longer transitions take, and the smaller the
// program is; without experience there is none.
func TestGap(t *testing.T) {
	var fast, slow Cost
	if fast.Gap(1) != neverGap {
		t.Error("nothing is known, and a place is worth it")
	}
	for range 100 {
		fast.Note(100*time.Microsecond, 100, 0)
		slow.Note(10*time.Millisecond, 100, 0)
		slow.Note(time.Second, 1, 3) // which has kept places
		slow.Note(time.Second, 0, 0)
	}
	if a, b := fast.Gap(1<<20), slow.Gap(1<<20); a <= b || a == neverGap || b != leastGap {
		t.Errorf("gaps %d and %d", a, b)
	}
	if a, b := fast.Gap(1<<22), fast.Gap(1<<18); a <= b {
		t.Errorf("gaps %d and %d", a, b)
	}
}

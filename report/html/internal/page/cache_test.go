package page

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/report"
)

// TestCache: what goes straight down comes last below a place, and what was sent and got is text.
func TestCache(t *testing.T) {
	c := &report.Counterexample{Steps: make([]report.Step, 9), Inputs: []int{2, 5},
		Cache: &report.CacheTree{LeftOut: 7, Places: []report.CachePlace{
			{Parent: -1, Sent: []string{"start"}, Starts: 2},
			{Parent: 0, Sent: []string{"a"}, Got: []string{"\x1bb", "c"}, Input: 1, Hits: 4},
			{Parent: 1, Sent: []string{"d"}, Input: 2, Hits: 1},
			{Parent: 1, Sent: []string{"e"}, Hits: 3, Checkpoint: "criu", Restores: 5},
			{Parent: 3, Sent: []string{"a"}},
			{Parent: 0, Sent: []string{"d"}, Hits: 9},
		}}}
	p := Of(c, 9, nil)
	got := ""
	text := func(list []int) (lines []string) {
		for _, n := range list {
			lines = append(lines, p.Strings[n])
		}
		return lines
	}
	for i, place := range p.Cache.Places {
		got += fmt.Sprintf("%d below %d: %q %q, %d hits, %q %d %d, path %v, step %d\n", i, place.Parent,
			text(place.Sent), text(place.Got), place.Hits, place.Checkpoint, place.Restores, place.Starts,
			place.Path, place.Step)
	}
	want := `0 below -1: ["start"] [], 0 hits, "" 0 2, path true, step 0
1 below 0: ["d"] [], 9 hits, "" 0 0, path false, step 0
2 below 0: ["a"] ["\\x1bb" "c"], 4 hits, "" 0 0, path true, step 3
3 below 2: ["e"] [], 3 hits, "criu" 5 0, path false, step 0
4 below 3: ["a"] [], 0 hits, "" 0 0, path false, step 0
5 below 2: ["d"] [], 1 hits, "" 0 0, path true, step 6
`
	if diff := cmp.Diff(want, got); diff != "" || p.Cache.LeftOut != 7 {
		t.Errorf("%d left out (-want +got):\n%s", p.Cache.LeftOut, diff)
	}
}

// TestDrawn: all places are drawn once, after the one above, with all that is below it. The last
// one below another is the one that goes straight down.
func TestDrawn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &report.CacheTree{}
		for i := range rapid.IntRange(0, 30).Draw(t, "places") {
			p := report.CachePlace{Parent: rapid.IntRange(min(i, 1)-1, i-1).Draw(t, "parent"),
				Input: max(0, rapid.IntRange(-3, 1).Draw(t, "input")),
				Hits:  rapid.IntRange(0, 3).Draw(t, "hits")}
			c.Places = append(c.Places, p)
		}
		path := onPath(c)
		for i := range path {
			want := false
			for n := range c.Places {
				for up := n; c.Places[n].Input > 0 && up >= 0; up = c.Places[up].Parent {
					want = want || up == i
				}
			}
			if path[i] != want {
				t.Fatalf("place %d is on the path: %v", i, path[i])
			}
		}
		// The order that a recursion would have.
		var want []int
		var draw func(i int)
		draw = func(i int) {
			want = append(want, i)
			var below []int
			for n, p := range c.Places {
				if p.Parent == i {
					below = append(below, n)
				}
			}
			best := -1
			for _, n := range below {
				if best < 0 || path[n] && !path[best] ||
					path[n] == path[best] && c.Places[n].Hits > c.Places[best].Hits {
					best = n
				}
			}
			for _, n := range below {
				if n != best {
					draw(n)
				}
			}
			if best >= 0 {
				draw(best)
			}
		}
		if len(c.Places) > 0 {
			draw(0)
		}
		if got := drawn(c, path); !slices.Equal(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
	})
}

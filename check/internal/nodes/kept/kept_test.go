package kept

import (
	"fmt"
	"hash/fnv"
	"slices"
	"testing"

	"github.com/tandem-mc/tandem/check/internal/nodes/network"
)

// TestNext: stages are all that there are of one partition, and then all of two that follow each
// other, as far as the clock advances. How far that is depends on the partitions before.
func TestNext(t *testing.T) {
	links := [][][2]int{{{0, 1}}, {{0, 2}}}
	for _, c := range []struct{ advances, most, links int }{{0, 2, 2}, {1, 1, 1}, {3, 1, 2}, {5, 2, 1},
		{4, 2, 2}, {7, 3, 1}, {6, 3, 2}} {
		for seed := range uint64(8) {
			// In the first round it is always the same. After that, a heal later or earlier may
			// make a difference.
			advances := func(p *network.Partition) int {
				if seed == 0 || p == nil {
					return c.advances
				}
				digest := fnv.New64a()
				fmt.Fprint(digest, seed, textOf(p))
				return max(0, c.advances+int(digest.Sum64()%4)-2)
			}
			want, tried := []string{}, 0
			var add func(before *network.Partition, first, left int)
			add = func(before *network.Partition, first, left int) {
				for k := range c.links {
					for from := first; from <= advances(before); from++ {
						for until := from + 1; ; until++ {
							p := before.With(network.Partition{Links: links[k], From: from, Until: until})
							tried++
							if until > advances(p) { // no later heal is tried
								break
							}
							want = append(want, textOf(p))
							if left > 1 && advances(p) > until {
								add(p, until+1, left-1)
							}
						}
					}
				}
			}
			add(nil, 0, c.most)
			got, depth := []string{}, 0
			var s Stage
			for p := s.Next(advances(nil), links[:c.links], c.most); p != nil; p = s.Next(advances(p),
				links[:c.links], c.most) {
				all := p.All()
				if len(all) < depth {
					t.Errorf("%+v: %s comes after %d partitions", c, textOf(p), depth)
				}
				depth = len(all)
				if tried--; all[len(all)-1].Until <= advances(p) { // else no execution comes so far
					got = append(got, textOf(p))
				}
			}
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) || tried != 0 {
				t.Errorf("%+v, seed %d, %d left to try:\n%q, want\n%q", c, seed, tried, got, want)
			}
		}
	}
}

func textOf(p *network.Partition) (text string) {
	for _, q := range p.All() {
		text += fmt.Sprint(q.Links, q.From, " until ", q.Until, ", ")
	}
	return text
}

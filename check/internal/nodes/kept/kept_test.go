package kept

import (
	"fmt"
	"slices"
	"testing"

	"github.com/tandem-mc/tandem/check/internal/nodes/network"
)

// TestNext: stages are all that there are of one partition, and then all of two that follow each
// other, as far as the clock advances.
func TestNext(t *testing.T) {
	links := [][][2]int{{{0, 1}}, {{0, 2}}}
	for _, c := range []struct{ advances, most, links int }{{0, 2, 2}, {1, 1, 1}, {3, 1, 2}, {5, 2, 1},
		{4, 2, 2}, {7, 3, 1}} {
		var want []string
		var add func(before *network.Partition, first, left int)
		add = func(before *network.Partition, first, left int) {
			for k := range c.links {
				for from := first; from <= c.advances && left > 0; from++ {
					for until := from + 1; until <= c.advances; until++ {
						p := before.With(network.Partition{Links: links[k], From: from, Until: until})
						want = append(want, textOf(p))
						add(p, until+1, left-1)
					}
				}
			}
		}
		add(nil, 0, c.most)
		var got []string
		var s Stage
		depth := 0
		for p := s.Next(c.advances, links[:c.links], c.most); p != nil; p = s.Next(c.advances,
			links[:c.links], c.most) {
			all := p.All()
			if len(all) < depth {
				t.Errorf("%+v: %s comes after %d partitions", c, textOf(p), depth)
			}
			depth = len(all)
			if all[len(all)-1].Until <= c.advances { // else no execution comes so far
				got = append(got, textOf(p))
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%+v:\n%q, want\n%q", c, got, want)
		}
	}
}

func textOf(p *network.Partition) (text string) {
	for _, q := range p.All() {
		text += fmt.Sprint(q.Links, q.From, " until ", q.Until, ", ")
	}
	return text
}

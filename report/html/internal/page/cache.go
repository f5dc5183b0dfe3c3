package page

import (
	"slices"

	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/report/internal/words"
)

// Cache is the I/O cache as a page has it. Without places it is not known: the counterexample was
// kept without it.
type Cache struct {
	Places  []Place `json:"places"`
	LeftOut int     `json:"left"`
}

// Place is a place of the cache, in the order in which they are drawn. The last one below another
// goes straight down from there: that of the counterexample, or else that of most executions. The
// lines of what was sent and what was got are indices of strings.
type Place struct {
	Parent     int    `json:"up"` // index of the place above; -1: none
	Sent       []int  `json:"sent"`
	Got        []int  `json:"got"`
	Hits       int    `json:"hits"`
	Checkpoint string `json:"image"`
	Restores   int    `json:"restores"`
	Starts     int    `json:"starts"`
	Path       bool   `json:"path"` // it is on the way of the counterexample
	Step       int    `json:"step"` // that gave the input, as people count them; 0: none
}

// addCache adds the I/O cache. A program with peers gives them inputs.
func addCache(b *builder, c *report.Counterexample) {
	if c.Cache == nil {
		if len(c.Inputs) > 0 {
			b.page.Cache = &Cache{Places: []Place{}}
		}
		return
	}
	// Places get other numbers than in the counterexample.
	path := onPath(c.Cache)
	cache := &Cache{Places: []Place{}, LeftOut: c.Cache.LeftOut}
	numbers := make([]int, len(c.Cache.Places)) // that places have on the page
	for _, i := range drawn(c.Cache, path) {
		p := c.Cache.Places[i]
		shown := Place{Parent: -1, Sent: stringsOf(b, p.Sent), Got: stringsOf(b, p.Got), Hits: p.Hits,
			Path: path[i], Checkpoint: words.Printable(p.Checkpoint), Restores: p.Restores, Starts: p.Starts}
		if p.Parent >= 0 {
			shown.Parent = numbers[p.Parent]
		}
		// A program that has changed may have given fewer inputs.
		if p.Input > 0 && p.Input <= len(c.Inputs) {
			shown.Step = c.Inputs[p.Input-1] + 1
		}
		numbers[i] = len(cache.Places)
		cache.Places = append(cache.Places, shown)
	}
	b.page.Cache = cache
}

// onPath says which places are on the way of the counterexample: all that lead to one of its own.
func onPath(c *report.CacheTree) []bool {
	// What was marked already has all above it marked, so that each place is looked at once.
	path := make([]bool, len(c.Places))
	for i, p := range c.Places {
		for n := i; p.Input > 0 && n >= 0 && !path[n]; n = c.Places[n].Parent {
			path[n] = true
		}
	}
	return path
}

// drawn lists the places in the order in which they are drawn.
func drawn(c *report.CacheTree, path []bool) (order []int) {
	below := make([][]int, len(c.Places))
	for i, p := range c.Places {
		if p.Parent >= 0 {
			below[p.Parent] = append(below[p.Parent], i)
		}
	}
	// The one that goes straight down comes last. The others stay in their order.
	for _, list := range below {
		straight := 0
		for k, i := range list {
			best := list[straight]
			if path[i] && !path[best] || path[i] == path[best] && c.Places[i].Hits > c.Places[best].Hits {
				straight = k
			}
		}
		if len(list) > 1 {
			i := list[straight]
			copy(list[straight:], list[straight+1:])
			list[len(list)-1] = i
		}
	}
	// A way may be too long for a recursion.
	var stack []int
	if len(c.Places) > 0 {
		stack = append(stack, 0)
	}
	for len(stack) > 0 {
		i := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		order = append(order, i)
		for _, child := range slices.Backward(below[i]) {
			stack = append(stack, child)
		}
	}
	return order
}

// stringsOf is the numbers of lines, each cut to a bound.
func stringsOf(b *builder, lines []string) []int {
	numbers := []int{}
	for _, line := range lines {
		numbers = append(numbers, b.string(words.Fit(line, maxText)))
	}
	return numbers
}

package random

import (
	"math"

	"github.com/tandem-mc/tandem/explore/internal/codec"
	"github.com/tandem-mc/tandem/explore/internal/core"
)

// Probes estimates the size of a tree from paths that were drawn at random: one over
// the probability of a path has the number of leaves as its expected value (Knuth:
// Estimating the Efficiency of Backtrack Programs, Mathematics of Computation, 1975). That
// is unbiased, but in a tree of very different branches a few rare paths make
// up most of the sum, and before they come the estimate is too small and its
// spread too.
type Probes struct {
	n, mean, squares float64 // squares: the sum of squared differences from the mean (Welford)
}

// Add takes one over the probability of a path.
func (p *Probes) Add(weight float64) {
	p.n++
	difference := weight - p.mean
	p.mean += difference / p.n
	p.squares += difference * (weight - p.mean)
}

func (p *Probes) save(e *codec.Encoder) {
	for _, x := range []float64{p.n, p.mean, p.squares} {
		e.Fixed(math.Float64bits(x))
	}
}

func (p *Probes) resume(d *codec.Decoder) {
	for _, x := range []*float64{&p.n, &p.mean, &p.squares} {
		*x = math.Float64frombits(d.Fixed())
	}
}

// Estimate is the estimate from the paths so far.
func (p *Probes) Estimate() core.Estimate {
	if p.n < 2 || p.mean <= 0 {
		return core.Estimate{}
	}
	return core.Spread(p.mean, math.Sqrt(p.squares/(p.n-1)/p.n), 1)
}

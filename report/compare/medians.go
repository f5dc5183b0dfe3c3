package compare

import (
	"slices"
	"time"

	"github.com/tandem-mc/tandem/report"
)

// Medians is a comparison of which each combination was run several times, with one row for each:
// of its runs the one of the median time, the lower one of two. If runs have failed, it is the
// first of these. Those that were interrupted count only where there is no other. Combinations keep
// the order of their first runs. The comparison itself is left as it is.
func (c *Comparison) Medians() *Comparison {
	medians := &Comparison{Package: c.Package, Args: c.Args, repeated: true}
	for i := range c.Rows {
		if !slices.ContainsFunc(medians.Rows, func(r Row) bool { return r.Name() == c.Rows[i].Name() }) {
			medians.Rows = append(medians.Rows, c.median(c.Rows[i].Name()))
		}
	}
	// Only when all rows are there is the fastest other one known.
	for i := range medians.Rows {
		medians.Rows[i].toBest = medians.toBest(i)
	}
	return medians
}

// median is the row for the runs of one combination. The median of an even number would be between
// two runs, of which nobody has the counts. So it is the lower one.
func (c *Comparison) median(name string) Row {
	var runs, interrupted []Row
	for _, r := range c.Rows {
		switch {
		case r.Name() != name:
		case r.Interrupted:
			interrupted = append(interrupted, r)
		// A failure is told, however many of the runs went well.
		case r.Failed:
			return r
		default:
			runs = append(runs, r)
		}
	}
	if len(runs) == 0 {
		return interrupted[0]
	}
	slices.SortStableFunc(runs, func(a, b Row) int { return int(a.Elapsed - b.Elapsed) })
	median := runs[(len(runs)-1)/2]
	median.fastest, median.slowest = runs[0].Elapsed, runs[len(runs)-1].Elapsed
	return median
}

// toBest is how long a combination takes as a multiple of the fastest other one with its backend
// and scope; 0 if there is no other, or one of the two has not decided. Below 1 it is the best.
// Those with another backend or scope do other work, so they do not count.
func (c *Comparison) toBest(i int) float64 {
	decided := func(r *Row) bool { return r.Verdict == report.Holds || r.Verdict == report.Violated }
	r, best := &c.Rows[i], time.Duration(0)
	for j := range c.Rows {
		other := &c.Rows[j]
		if j != i && other.Backend == r.Backend && other.Scope == r.Scope && decided(other) &&
			!other.Failed && (best == 0 || other.Elapsed < best) {
			best = other.Elapsed
		}
	}
	if best == 0 || !decided(r) || r.Failed {
		return 0
	}
	return float64(r.Elapsed) / float64(best)
}

package explore

import (
	"fmt"
	"math"
)

// Estimate says about how many executions a search needs in all. It is a figure for
// people to decide whether to wait, never part of a verdict.
type Estimate struct {
	Executions float64 // 0: there is no estimate; +Inf: more than can be counted
	Low, High  float64 // it is probably between these: two standard deviations on each side
}

// Seen is the fraction of the search that so many executions are; 0 without an estimate.
func (e Estimate) Seen(executions int) float64 {
	if e.Executions <= 0 {
		return 0
	}
	return min(1, float64(executions)/e.Executions)
}

// String says it in words, in round numbers.
func (e Estimate) String() string {
	switch {
	case e.Executions == 1 && e.High == 1:
		return "1 execution in all"
	case e.Executions == e.High:
		return roundly(e.Executions) + " executions in all"
	}
	return fmt.Sprintf("about %s executions in all, probably %s to %s", roundly(e.Executions), roundly(e.Low), roundly(e.High))
}

// roundly writes a number with two significant digits.
func roundly(x float64) string {
	switch {
	case math.IsInf(x, 1):
		return "more than 10^308"
	case x >= 1e15:
		exponent := math.Floor(math.Log10(x))
		return fmt.Sprintf("%.1f x 10^%.0f", x/math.Pow(10, exponent), exponent)
	}
	unit := math.Pow(10, max(0, math.Floor(math.Log10(max(x, 1)))-1))
	digits := fmt.Sprintf("%.0f", math.Round(x/unit)*unit)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// spread is an estimate with its standard deviation. There are certain to be at least so
// many executions.
func spread(mean, deviation, certain float64) Estimate {
	mean = max(mean, certain)
	if high := mean + 2*deviation; math.IsInf(high, 0) || math.IsNaN(high) {
		return Estimate{Executions: math.Inf(1), Low: certain, High: math.Inf(1)}
	}
	return Estimate{Executions: mean, Low: max(mean-2*deviation, certain), High: mean + 2*deviation}
}

// subtrees estimates the size of the tree that a depth-first search walks through, the
// executions being its leaves. The unexplored branches of a node are taken to be like
// those that have been explored, on average and in how much they differ; from the end of
// the path up to its beginning (the recursive method of Kilby, Slaney, Thiebaux, Walsh:
// Estimating Search Tree Size, AAAI 2006).
//
// It is exact when the search has ended, and where all branches of a node are alike. Otherwise it
// follows what has been seen: where branches become smaller from left to right, as
// sleep sets make them, it is too large; branches that a reduction has not planned
// yet are not counted.
type subtrees struct {
	nodes []subtree // of the path; what it is too short for is new since the last turn
}

// subtree sums up the branches of a node that have been explored.
type subtree struct {
	begun   int     // executions before the branch that is under way
	done    int     // branches
	leaves  int     // of those that are done
	squares float64 // the sum of the squares of their numbers of leaves
}

// turn notes that, after so many executions, a node goes on to its next branch. It is to
// be called between any two executions; calls without one in between are as one.
func (s *subtrees) turn(node, executions int) {
	for len(s.nodes) <= node {
		s.nodes = append(s.nodes, subtree{begun: max(executions-1, 0)})
	}
	s.nodes = s.nodes[:node+1]
	n := &s.nodes[node]
	size := executions - n.begun
	if size == 0 {
		return
	}
	n.done++
	n.leaves += size
	n.squares += float64(size) * float64(size)
	n.begun = executions
}

// estimate is the present one. The path has so many nodes; pending tells how many branches
// of a node have not been begun, the one of the last turn not being among them.
func (s *subtrees) estimate(nodes, executions int, pending func(node int) int) Estimate {
	if executions == 0 {
		return Estimate{}
	}
	branch, certain := guess{mean: 1}, executions
	for i := nodes - 1; i >= 0; i-- {
		n, left := subtree{begun: executions - 1}, pending(i)
		if i < len(s.nodes) {
			n = s.nodes[i]
		}
		certain += left
		switch {
		case i < nodes-1:
		case n.begun == executions: // nothing has come of the last turn yet
			certain++
			left++
			n.done--
			branch = guess{}
		case executions-n.begun > 1: // a part has been taken to some extent
			branch = guess{mean: max(float64(executions-n.begun), float64(n.leaves)/float64(max(n.done, 1)))}
			branch.variance = branch.mean * branch.mean
		}
		if n.done++; left > 0 || n.done > 1 {
			branch = n.guess(branch, float64(left))
		}
	}
	return spread(branch.mean, math.Sqrt(branch.variance), float64(certain))
}

// guess is the expected number of leaves of a part of the tree.
type guess struct{ mean, variance float64 }

// guess is that for a node with left branches of which nothing is known. Those that are done
// include the one under way, of which last is the guess.
func (n *subtree) guess(last guess, left float64) guess {
	done := float64(max(n.done, 1)) // a damaged state may have none
	leaves := float64(n.leaves) + last.mean
	average := leaves / done
	deviation := average * average // of one branch nothing is known: as much as it has
	if n.done > 1 {
		deviation = max(0, n.squares+last.mean*last.mean-done*average*average) / (done - 1)
	}
	share := 1 + left/done
	return guess{mean: leaves + left*average, variance: last.variance*share*share + deviation*(left+left*left/done)}
}

func (s *subtrees) save(e *encoder) {
	e.number(uint64(len(s.nodes)))
	for _, n := range s.nodes {
		e.number(uint64(n.begun))
		e.number(uint64(n.done))
		e.number(uint64(n.leaves))
		e.fixed(math.Float64bits(n.squares))
	}
}

func (s *subtrees) resume(d *decoder) {
	for range d.length() {
		n := subtree{begun: d.count(maxCount), done: d.count(maxCount), leaves: d.count(maxCount)}
		n.squares = math.Float64frombits(d.fixed())
		s.nodes = append(s.nodes, n)
	}
}

// probes estimates the size of a tree from paths that were drawn at random: one over
// the probability of a path has the number of leaves as its expected value (Knuth:
// Estimating the Efficiency of Backtrack Programs, Mathematics of Computation, 1975). That
// is unbiased, but in a tree of very different branches a few rare paths make
// up most of the sum, and before they come the estimate is too small and its
// spread too.
type probes struct {
	n, mean, squares float64 // squares: the sum of squared differences from the mean (Welford)
}

// add takes one over the probability of a path.
func (p *probes) add(weight float64) {
	p.n++
	difference := weight - p.mean
	p.mean += difference / p.n
	p.squares += difference * (weight - p.mean)
}

func (p *probes) save(e *encoder) {
	for _, x := range []float64{p.n, p.mean, p.squares} {
		e.fixed(math.Float64bits(x))
	}
}

func (p *probes) resume(d *decoder) {
	for _, x := range []*float64{&p.n, &p.mean, &p.squares} {
		*x = math.Float64frombits(d.fixed())
	}
}

func (p *probes) estimate() Estimate {
	if p.n < 2 || p.mean <= 0 {
		return Estimate{}
	}
	return spread(p.mean, math.Sqrt(p.squares/(p.n-1)/p.n), 1)
}

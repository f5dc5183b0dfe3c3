package core

import (
	"math"

	"github.com/tandem-mc/tandem/explore/internal/codec"
)

// BranchSizes estimates the size of the tree that a depth-first search walks through, the
// executions being its leaves. The unexplored branches of a node are taken to be like
// those that have been explored, on average and in how much they differ; from the end of
// the path up to its beginning (the recursive method of Kilby, Slaney, Thiebaux, Walsh:
// Estimating Search Tree Size, AAAI 2006).
//
// It is exact when the search has ended, and where all branches of a node are alike. Otherwise it
// follows what has been seen: where branches become smaller from left to right, as
// sleep sets make them, it is too large; branches that a reduction has not planned
// yet are not counted.
type BranchSizes struct {
	nodes []branchSize // of the path; what it is too short for is new since the last turn
}

// branchSize sums up the branches of a node that have been explored.
type branchSize struct {
	begun   int     // executions before the branch that is under way
	done    int     // branches
	leaves  int     // of those that are done
	squares float64 // the sum of the squares of their numbers of leaves
}

// Turn notes that, after so many executions, a node goes on to its next branch. It is to
// be called between any two executions; calls without one in between are as one.
func (s *BranchSizes) Turn(node, executions int) {
	for len(s.nodes) <= node {
		s.nodes = append(s.nodes, branchSize{begun: max(executions-1, 0)})
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

// Estimate is the present one. The path has so many nodes; pending tells how many branches
// of a node have not been begun, the one of the last turn not being among them.
func (s *BranchSizes) Estimate(nodes, executions int, pending func(node int) int) Estimate {
	if executions == 0 {
		return Estimate{}
	}
	branch, certain := guess{mean: 1}, executions
	for i := nodes - 1; i >= 0; i-- {
		n, left := branchSize{begun: executions - 1}, pending(i)
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
		case executions-n.begun > 1: // a branch has been explored to some extent
			branch = guess{mean: max(float64(executions-n.begun), float64(n.leaves)/float64(max(n.done, 1)))}
			branch.variance = branch.mean * branch.mean
		}
		if n.done++; left > 0 || n.done > 1 {
			branch = n.guess(branch, float64(left))
		}
	}
	e := Spread(branch.mean, math.Sqrt(branch.variance), float64(certain))
	e.Planned = float64(certain)
	return e
}

// guess is the expected number of leaves of a subtree.
type guess struct{ mean, variance float64 }

// guess is that for a node with left branches of which nothing is known. Those that are done
// include the one under way, of which last is the guess.
func (n *branchSize) guess(last guess, left float64) guess {
	done := float64(max(n.done, 1)) // a damaged state may have none
	leaves := float64(n.leaves) + last.mean
	average := leaves / done
	deviation := average * average // of one branch nothing is known: as much as it has
	if n.done > 1 {
		deviation = max(0, n.squares+last.mean*last.mean-done*average*average) / (done - 1)
	}
	share := 1 + left/done
	return guess{mean: leaves + left*average, variance: last.variance*share*share +
		deviation*(left+left*left/done)}
}

// Save writes the sizes.
func (s *BranchSizes) Save(e *codec.Encoder) {
	e.Number(uint64(len(s.nodes)))
	for _, n := range s.nodes {
		e.Number(uint64(n.begun))
		e.Number(uint64(n.done))
		e.Number(uint64(n.leaves))
		e.Fixed(math.Float64bits(n.squares))
	}
}

// Resume reads what Save wrote.
func (s *BranchSizes) Resume(d *codec.Decoder) {
	for range d.Length() {
		n := branchSize{begun: d.Count(MaxCount), done: d.Count(MaxCount), leaves: d.Count(MaxCount)}
		n.squares = math.Float64frombits(d.Fixed())
		s.nodes = append(s.nodes, n)
	}
}

// OfBranch is the mean number of executions of the branches of a node that are done, at least 1.
func (s *BranchSizes) OfBranch(node int) float64 {
	if node >= len(s.nodes) || s.nodes[node].done == 0 {
		return 1
	}
	return max(1, float64(s.nodes[node].leaves)/float64(s.nodes[node].done))
}

// SplitAt returns the node where a search with so many nodes is best split (explore.Search.Split),
// of those where there is something to take; -1 if there is none. A branch is taken to be as large
// as those that were explored there, on average, or as the one under way. If that is the first,
// half of it is taken to be done.
func (s *BranchSizes) SplitAt(nodes, executions int, size Size, some func(node int) bool) int {
	branch, ahead, best := 1.0, 0.0, -1
	for i := nodes - 1; i >= 0; i-- {
		if i < len(s.nodes) {
			mean, begun := s.OfBranch(i), float64(executions-s.nodes[i].begun)
			branch = max(branch, mean, begun)
			if s.nodes[i].done == 0 {
				mean = 2 * begun // it may be half done
			}
			ahead = max(ahead, mean-begun)
		}
		if branch >= size.Least && ahead >= size.Ahead && some(i) {
			if best = i; branch >= size.Enough {
				break
			}
		}
	}
	return best
}

// Merge takes over what comes after a node from a subtree that begins there, before which there
// were so many executions.
func (s *BranchSizes) Merge(part *BranchSizes, node, executions int) {
	for i := node + 1; i < len(part.nodes); i++ {
		n := part.nodes[i]
		n.begun += executions
		s.nodes = append(s.nodes[:min(i, len(s.nodes))], n)
	}
}

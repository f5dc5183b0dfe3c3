package portfolio

import "github.com/tandem-mc/tandem/explore/internal/core"

// Prefetch implements core.Drawn: it lists what is due aside from the tree.
func (s *Search) Prefetch(n int) []core.Schedule {
	if s.Ended || s.phases.Systematic == 0 {
		return nil
	}
	list := s.aims.prefetch(n)
	if s.aims.listed < len(s.aims.queue) || s.explored {
		return list
	}
	return append(list, s.samples.prefetch(min(n-len(list), s.due()))...)
}

// due is how many samples more will be asked for before the tree is explored for long, beyond those
// that were listed.
func (s *Search) due() int {
	quota := s.quota(max(s.phases.Systematic, s.Opening))
	return quota - s.phases.Aside() - s.aims.left() - (s.samples.listed - s.samples.begun)
}

// Split implements core.Tree.
func (s *Search) Split(size core.Size) *core.Subtree {
	if s.explored {
		return nil
	}
	return s.tree.Split(size)
}

// Arrived implements core.Tree.
func (s *Search) Arrived() *core.Subtree {
	if s.turn != core.Systematic {
		return nil
	}
	return s.tree.Arrived()
}

// Merge implements core.Tree. A subtree within which an execution aside is due, or the tree is to
// be weighed, is not taken over: the order of the executions would be another one. What was run in
// it is lost. That is rare, and little: the tree is weighed again when it has doubled, and a
// subtree has no more than a 16th of the executions so far, or 64.
func (s *Search) Merge(p *core.Subtree) bool {
	v := p.Search.Counted()
	after := s.phases.Systematic + v.Executions
	if s.turn != core.Systematic || s.owes(after-1) || after > s.weighing() || !s.tree.Merge(p) {
		return false
	}
	s.Counts.Add(v)
	s.Waiting, s.asked = false, false
	s.cutOff += v.Limited
	s.phases.Systematic += v.Executions
	if v.Violations > 0 && s.phases.At == 0 { // which a subtree ends with
		s.phases.At, s.phases.Found = s.phases.All(), core.Systematic
	}
	return true
}

// Cancelled implements core.Tree.
func (s *Search) Cancelled() []*core.Subtree { return s.tree.Cancelled() }

// Recycle implements core.Tree.
func (s *Search) Recycle(p *core.Subtree) { s.tree.Recycle(p) }

// Full implements core.Tree.
func (s *Search) Full() bool { return false }

// Forecast implements core.Tree.
func (s *Search) Forecast() float64 {
	if s.turn != core.Systematic {
		return 0
	}
	return s.tree.Forecast()
}

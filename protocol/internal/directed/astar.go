package directed

import (
	"github.com/tandem-mc/tandem/protocol/internal/system"
	"github.com/tandem-mc/tandem/protocol/internal/table"
)

// bestFirst expands states in the order of the open list: best-first search and A* (Hart, Nilsson,
// Raphael: "A Formal Basis for the Heuristic Determination of Minimum Cost Paths", 1968). A
// violation ends a best-first search.
//
// A* may meet a violation before it knows that there is no shorter run to one. So it takes note of
// it, and goes on until no state that is open can lead to a shorter run.
//
// A state may be in the open list several times: each time that it was reached by fewer steps than
// before. The entry with the lowest key is taken first; when the others come, the state is expanded
// already. That costs less than to look for the old entry.
func (s *search) bestFirst() error {
	open := newQueue()
	starts, err := s.walk.First()
	if err != nil {
		return err
	}
	for _, start := range starts {
		if err := s.reach(open, start, edge{from: none, depth: 0}); err != nil {
			return err
		}
	}
	for {
		key, at, ok := open.pop()
		s.queued = 4 * int64(open.length)
		if !ok {
			break
		}
		if s.found != nil && s.Algorithm == AStar && int(key>>32) >= s.found.length {
			return nil
		}
		// It has left the open list, so nothing refers to its old place there.
		m := s.store.at(at)
		if m.isExpanded || s.Global.Depth > 0 && int(m.depth) == s.Global.Depth {
			continue // it was queued twice, or is as deep as it may be
		}
		if err := s.expand(open, at); err != nil {
			return err
		}
	}
	if s.found == nil && s.isCut() {
		s.reason = reasonDepth
	}
	return nil
}

// edge is how a state was reached.
type edge struct {
	from  uint32
	depth int
	was   []table.Local // before the step
	node  int           // that has taken it
}

// expand visits what the steps from a state lead to.
func (s *search) expand(open *queue, at uint32) error {
	if err := s.pause(); err != nil {
		return err
	}
	m := s.store.at(at)
	m.isExpanded = true
	s.progress.Expanded++
	s.progress.Depth = max(s.progress.Depth, int(m.depth))
	packed := s.store.state(at)
	locals, _ := s.walk.Look(packed)
	steps, states, err := s.walk.Steps(packed)
	if err != nil {
		return err
	}
	s.progress.Transitions += int64(len(steps))
	if v := s.endOf(steps, locals); v != nil {
		return s.find(&finding{verdict: *v, length: int(m.depth), at: at})
	}
	for i, step := range steps {
		if fails(step) {
			f := &finding{verdict{-1, step.Outcome.Failure}, int(m.depth) + 1, at, nil, &steps[i]}
			if err := s.find(f); err != nil {
				return err
			}
			continue
		}
		if err := s.reach(open, states[i], edge{at, int(m.depth) + 1, locals, step.Node}); err != nil {
			return err
		}
	}
	return nil
}

// endOf judges a state from which no step leads on.
func (s *search) endOf(steps []system.Step, locals []table.Local) *verdict {
	if len(steps) > 0 {
		return nil
	}
	return s.judgeEnd(locals)
}

// reach adds a state to the open list, if it is new or nearer to the start than it was.
func (s *search) reach(open *queue, packed []byte, e edge) error {
	at := s.store.find(packed)
	if at == none {
		return s.meet(open, packed, e)
	}
	m := s.store.at(at)
	if int(m.depth) <= e.depth {
		return nil
	}
	m.depth, m.parent = int32(e.depth), e.from
	if v, isBad := s.bad[at]; isBad {
		return s.find(&finding{verdict: v, length: e.depth, at: at})
	}
	// A best-first search wants any run, so states behind this one may keep their depth.
	if s.Algorithm == BestFirst && s.Global.Depth == 0 {
		return nil
	}
	// A* opens it again: what lies behind it is nearer, too.
	if m.isExpanded {
		m.isExpanded = false
		s.progress.Expanded--
	}
	open.push(s.key(e.depth, int(m.estimate)), at)
	return nil
}

// meet adds a state that is new.
func (s *search) meet(open *queue, packed []byte, e edge) error {
	locals, messages := s.walk.Look(packed)
	// What violates something is where a run ends, so it needs no estimate.
	v := s.judge(locals, e.was, e.node)
	estimate, err := 0, error(nil)
	if v == nil {
		if estimate, err = s.estimate(locals, messages); err != nil {
			return err
		}
	}
	at, err := s.store.add(packed, mini{parent: e.from, depth: int32(e.depth), estimate: int32(estimate)})
	if err != nil {
		return err
	}
	if v != nil {
		s.bad[at] = *v
		return s.find(&finding{verdict: *v, length: e.depth, at: at})
	}
	open.push(s.key(e.depth, estimate), at)
	return nil
}

// key is the place of a state in the open list. Of equal sums, A* takes the state that is nearer to
// a violation.
func (s *search) key(depth, estimate int) uint64 {
	if s.Algorithm == BestFirst {
		return uint64(estimate)
	}
	return uint64(depth+estimate)<<32 | uint64(estimate)
}

// find takes note of a violation.
func (s *search) find(f *finding) error {
	if s.found == nil || f.length < s.found.length {
		s.found = f
	}
	if s.Algorithm == BestFirst {
		return errEnded
	}
	return nil
}

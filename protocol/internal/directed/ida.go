package directed

import (
	"math"
	"slices"

	"github.com/tandem-mc/tandem/protocol/internal/system"
	"github.com/tandem-mc/tandem/protocol/internal/table"
)

// deepen goes depth first through the states whose sum of depth and estimate is within a bound, and
// then with the next bound: IDA* (Korf: "Depth-First Iterative-Deepening: An Optimal Admissible
// Tree Search", 1985). States that were visited with the same bound after as few steps are not
// visited again (Reinefeld, Marsland: "Enhanced Iterative-Deepening Search", 1994). So the search
// has an end, and each state is counted once. If there is no room to remember a state, it is
// visited as often as it is met.
func (s *search) deepen() error {
	starts, err := s.walk.First()
	if err != nil {
		return err
	}
	for s.next = 0; s.next < math.MaxInt; {
		s.bound, s.next, s.round = s.next, math.MaxInt, s.round+1
		for _, start := range starts {
			x, err := s.look(start, nil, 0)
			if err == nil {
				err = s.within(x, 0)
			}
			if err != nil {
				return err
			}
		}
	}
	if s.isCut() {
		s.reason = reasonDepth
	}
	return nil
}

// candidate is a state that IDA* may visit next. One that is remembered keeps its estimate, and
// what is wrong with it. So with the next bound neither the estimate nor a property is asked again.
type candidate struct {
	packed   []byte
	at       uint32 // none: it is not remembered
	estimate int
	verdict  *verdict
}

// look judges a state and estimates it. If it is known, that was done.
func (s *search) look(packed []byte, was []table.Local, node int) (c candidate, err error) {
	c = candidate{packed: packed, at: s.store.find(packed)}
	if c.at != none {
		c.estimate = int(s.store.at(c.at).estimate)
		if v, isBad := s.bad[c.at]; isBad {
			c.verdict = &v
		}
		return c, nil
	}
	// A state that is new, or that is not remembered.
	locals, messages := s.walk.Look(packed)
	if c.verdict = s.judge(locals, was, node); c.verdict == nil {
		if c.estimate, err = s.estimate(locals, messages); err != nil {
			return c, err
		}
	}
	if s.store.size() >= s.Room {
		s.hasLost = true
		return c, nil
	}
	c.at, err = s.store.add(packed, mini{parent: none, depth: math.MaxInt32, estimate: int32(c.estimate)})
	if err == nil && c.verdict != nil {
		s.bad[c.at] = *c.verdict
	}
	return c, err
}

// within visits a state, and what lies behind it, within the bound.
func (s *search) within(c candidate, depth int) error {
	if depth+c.estimate > s.bound {
		s.next = min(s.next, depth+c.estimate)
		return nil
	}
	if c.verdict != nil {
		s.path = append(s.path, c.packed)
		return s.findPath(finding{verdict: *c.verdict, length: depth})
	}
	if !s.isWanted(c, depth) || s.Global.Depth > 0 && depth == s.Global.Depth {
		return nil
	}
	if err := s.pause(); err != nil {
		return err
	}
	s.progress.Depth = max(s.progress.Depth, depth)
	if c.at != none && !s.store.at(c.at).isExpanded {
		s.store.at(c.at).isExpanded = true
		s.progress.Expanded++
	}
	s.path = append(s.path, c.packed)
	defer func() { s.path = s.path[:len(s.path)-1] }()
	return s.behind(c, depth)
}

// isWanted says whether a state has to be visited after so many steps.
func (s *search) isWanted(c candidate, depth int) bool {
	if c.at == none {
		// Nobody remembers it, but a run need not come back to where it was.
		return !slices.ContainsFunc(s.path, func(p []byte) bool { return string(p) == string(c.packed) })
	}
	m := s.store.at(c.at)
	if m.round == s.round && int(m.depth) <= depth {
		return false
	}
	m.round, m.depth = s.round, int32(depth)
	return true
}

// behind visits what the steps from a state lead to, what is nearer to a violation first.
func (s *search) behind(c candidate, depth int) error {
	locals, _ := s.walk.Look(c.packed)
	steps, states, err := s.walk.Steps(c.packed)
	if err != nil {
		return err
	}
	s.progress.Transitions += int64(len(steps))
	if v := s.endOf(steps, locals); v != nil {
		return s.findPath(finding{verdict: *v, length: depth})
	}
	var next []candidate
	for i, step := range steps {
		if fails(step) {
			if err := s.failing(steps[i], depth+1); err != nil {
				return err
			}
			continue
		}
		x, err := s.look(states[i], locals, step.Node)
		if err != nil {
			return err
		}
		next = append(next, x)
	}
	// The last bound often has one way that is right, and then this is the first one.
	slices.SortStableFunc(next, func(a, b candidate) int { return a.estimate - b.estimate })
	for _, x := range next {
		if err := s.within(x, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// failing is a step that fails, which takes a run to its end.
func (s *search) failing(step system.Step, length int) error {
	if length > s.bound {
		s.next = min(s.next, length)
		return nil
	}
	return s.findPath(finding{verdict: verdict{-1, step.Outcome.Failure}, length: length, step: &step})
}

// findPath ends the search with the present path.
func (s *search) findPath(f finding) error {
	f.path = slices.Clone(s.path)
	s.found = &f
	return errEnded
}

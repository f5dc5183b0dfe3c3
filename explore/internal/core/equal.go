package core

import (
	"fmt"
	"slices"
)

// Equal reports whether two schedules ask a worker for the same execution.
func (s *Schedule) Equal(t *Schedule) bool {
	return s.Seed == t.Seed && s.SleepFrom == t.SleepFrom && s.Tentative == t.Tentative &&
		s.WantEnabled == t.WantEnabled && s.Order == t.Order && s.EarlyTimers == t.EarlyTimers &&
		slices.Equal(s.Holds, t.Holds) && slices.Equal(s.Weights, t.Weights) &&
		slices.Equal(s.Objects, t.Objects) &&
		slices.Equal(s.Prefix, t.Prefix) && slices.Equal(s.Rare, t.Rare) &&
		slices.EqualFunc(s.Sleep, t.Sleep, (*Sleeper).alike) &&
		s.Priorities.equal(t.Priorities) && s.Limits.equal(t.Limits)
}

// alike reports whether a worker sees no difference: whether the same wakes them.
func (s *Sleeper) alike(t *Sleeper) bool {
	return s.Action == t.Action && slices.EqualFunc(s.Accesses, t.Accesses, func(a, b Access) bool {
		return a.Object == b.Object && a.Kind == b.Kind && a.Delta == b.Delta
	})
}

func (p *Priorities) equal(q *Priorities) bool {
	if p == nil || q == nil {
		return p == q
	}
	return slices.Equal(p.Changes, q.Changes)
}

func (l Limits) equal(m Limits) bool {
	same := func(a, b *int) bool { return a == b || a != nil && b != nil && *a == *b }
	return same(l.Preemptions, m.Preemptions) && same(l.Delays, m.Delays)
}

// Hash is the same for schedules that are equal, and seldom for others.
func (s *Schedule) Hash() uint64 {
	h := Mix(s.Seed ^ uint64(len(s.Prefix))<<32)
	for _, a := range s.Prefix {
		h = Mix(h ^ uint64(a.Goroutine) + uint64(a.Choice))
	}
	for _, hold := range s.Holds {
		h = Mix(h ^ uint64(hold.Goroutine) + uint64(hold.Nth) + uint64(hold.Reading)<<32)
	}
	return h
}

// String is for errors.
func (s *Sleeper) String() string { return fmt.Sprintf("%v with %v", s.Action, s.Accesses) }

// Equal reports whether two sleepers have the same action and the same accesses.
func (s *Sleeper) Equal(other *Sleeper) bool {
	return s.Action == other.Action && slices.Equal(s.Accesses, other.Accesses)
}

// Same reports whether a search sees no difference.
func (s *Sleeper) Same(t *Sleeper) bool {
	return s.alike(t) && s.Choices == t.Choices && s.Incomplete == t.Incomplete &&
		slices.EqualFunc(s.Accesses, t.Accesses,
			func(a, b Access) bool { return a.Ready&CountsWaiting == b.Ready&CountsWaiting })
}

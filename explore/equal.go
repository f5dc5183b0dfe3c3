package explore

import "slices"

// Equal reports whether two schedules ask a worker for the same execution.
func (s *Schedule) Equal(t *Schedule) bool {
	return s.Seed == t.Seed && s.SleepFrom == t.SleepFrom && s.Tentative == t.Tentative && s.WantEnabled == t.WantEnabled &&
		slices.Equal(s.Prefix, t.Prefix) && slices.Equal(s.Rare, t.Rare) && slices.EqualFunc(s.Sleep, t.Sleep, (*Sleeper).alike) &&
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
	h := mix(s.Seed ^ uint64(len(s.Prefix))<<32)
	for _, a := range s.Prefix {
		h = mix(h ^ uint64(a.Goroutine) + uint64(a.Choice))
	}
	return h
}

package explore

import "slices"

// Ahead lists at most n schedules that a search of which nothing depends on what is reported (Random, PCT for some
// time) has not asked for yet and will, the next one first: other workers may run them meanwhile. It may be called after Next, before the
// execution that Next asks for is reported; it lists none twice, and keeps no reference to them. Of other searches it lists none: they are
// divided (Divide).
//
// The search does not depend on it: when it gets there, it asks for the
// schedule as if nobody had, and is told what came of it. Should it end before,
// the work was in vain, and nothing else.
func Ahead(s Search, n int) []Schedule {
	if f, ok := s.(foresighted); ok {
		return f.ahead(n)
	}
	return nil
}

// foresighted is a search that knows what comes later, or a decorator of one.
type foresighted interface{ ahead(n int) []Schedule }

// ahead of a decorator may list more than the bound leaves.
func (b *bounded) ahead(n int) []Schedule { return Ahead(b.Search, n) }

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

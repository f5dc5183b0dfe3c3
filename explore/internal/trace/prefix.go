package trace

import "slices"

// Prefix is a trace of the first n events of another one, with room for as many as there are. It
// shares no memory with the trace, and is made of another one that is not needed any more.
func Prefix(t *Trace, n int, of *Trace) *Trace {
	p, end, all := of, t.Begin(int32(n)), t.end()
	p.Events = Refill(p.Events, t.Events[:n], len(t.Events))
	p.Clocks, p.pasts = Refill(p.Clocks, t.Clocks[:end.Clocks], int(all.Clocks)),
		Refill(p.pasts, t.pasts[:end.pasts], int(all.pasts))
	p.accesses, p.needs = Refill(p.accesses, t.accesses[:end.accesses], int(all.accesses)),
		Refill(p.needs, t.needs[:end.needs], int(all.needs))
	p.Uses, p.starts = Refill(p.Uses, t.Uses[:end.uses], int(all.uses)),
		Refill(p.starts, t.starts[:end.starts], int(all.starts))
	p.barriers = before(p.barriers, t.barriers, n)
	p.Counting, p.Meeting = before(p.Counting, t.Counting, n), before(p.Meeting, t.Meeting, n)
	p.GoroutineOf.Clear()
	p.ObjectOf.Clear()
	p.Goroutines, p.Objects = p.Goroutines[:0], p.Objects[:0]
	for i := range t.Goroutines {
		g := &t.Goroutines[i]
		p.Goroutines = Extend(p.Goroutines)
		log := &p.Goroutines[i]
		log.Events, log.wakes = before(log.Events, g.Events, n), before(log.wakes, g.wakes, n)
		p.GoroutineOf.Add(t.GoroutineOf.Ids[i])
	}
	for i := range t.Objects {
		o := &t.Objects[i]
		p.Objects = Extend(p.Objects)
		log := &p.Objects[i]
		log.Seen, log.Uses = 0, Refill(log.Uses, o.Uses[:o.FirstFrom(int32(n))], len(o.Uses))
		for kind := range o.byKind {
			log.byKind[kind] = before(log.byKind[kind], o.byKind[kind], n)
		}
		p.ObjectOf.Add(t.ObjectOf.Ids[i])
	}
	p.dropUnused()
	return p
}

// Refill makes s a copy of another slice, with room for n elements.
func Refill[T any](s, from []T, n int) []T { return append(slices.Grow(s[:0], n), from...) }

// before makes s a copy of those events that are among the first n.
func before(s, events []int32, n int) []int32 {
	i, _ := slices.BinarySearch(events, int32(n))
	return Refill(s, events[:i], len(events))
}

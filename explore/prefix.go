package explore

import "slices"

// prefix is a trace of the first n events, with room for as many as there are. It shares no memory with the trace, and is made of another one that is
// not needed any more.
func (t *trace) prefix(n int, of *trace) *trace {
	p, end, all := of, t.begin(int32(n)), t.end()
	p.events = refill(p.events, t.events[:n], len(t.events))
	p.clocks, p.pasts = refill(p.clocks, t.clocks[:end.clocks], int(all.clocks)), refill(p.pasts, t.pasts[:end.pasts], int(all.pasts))
	p.accesses, p.needs = refill(p.accesses, t.accesses[:end.accesses], int(all.accesses)), refill(p.needs, t.needs[:end.needs], int(all.needs))
	p.uses, p.starts = refill(p.uses, t.uses[:end.uses], int(all.uses)), refill(p.starts, t.starts[:end.starts], int(all.starts))
	p.barriers = before(p.barriers, t.barriers, n)
	p.counting, p.meeting = before(p.counting, t.counting, n), before(p.meeting, t.meeting, n)
	p.goroutineOf.clear()
	p.objectOf.clear()
	p.goroutines, p.objects = p.goroutines[:0], p.objects[:0]
	for i := range t.goroutines {
		g := &t.goroutines[i]
		p.goroutines = extend(p.goroutines)
		log := &p.goroutines[i]
		log.events, log.wakes = before(log.events, g.events, n), before(log.wakes, g.wakes, n)
		p.goroutineOf.add(t.goroutineOf.ids[i])
	}
	for i := range t.objects {
		o := &t.objects[i]
		p.objects = extend(p.objects)
		log := &p.objects[i]
		log.seen, log.uses = 0, refill(log.uses, o.uses[:o.firstFrom(int32(n))], len(o.uses))
		for kind := range o.byKind {
			log.byKind[kind] = before(log.byKind[kind], o.byKind[kind], n)
		}
		p.objectOf.add(t.objectOf.ids[i])
	}
	p.dropUnused()
	return p
}

// refill makes s a copy of another slice, with room for n elements.
func refill[T any](s, from []T, n int) []T { return append(slices.Grow(s[:0], n), from...) }

// before makes s a copy of those events that are among the first n.
func before(s, events []int32, n int) []int32 {
	i, _ := slices.BinarySearch(events, int32(n))
	return refill(s, events[:i], len(events))
}

package explore

import "slices"

// awakened is a sleeper and the event that woke it.
//
// The theory of DPOR wants dependence to persist: if transitions p and r depend on
// each other, and q is independent of p, then p and r also do after q (one of the
// properties of a happens-before assignment, POPL 2014, section 3). A transition that is sealed may break that. Let r
// lock m and then, in the same transition, write c; after q locked m, it only waits
// for m, and p, which reads c, is independent of it. With r asleep before q, the
// order p, r, q would be lost: of q, r, p only the race of q with r is seen, and
// what begins with r was explored. But then p came after r, and now it has to be
// before it.
//
// So what conflicts with the sleeper as it was counts as a race with the event that
// woke it, until it runs and is found to be the same. Transitions with a single
// access need none of this: they access the same object wherever they run.
type awakened struct {
	Sleeper
	event int32
}

// appendAwakened appends those awakened after the last event: those before it that
// still count, and the sleepers that it woke.
func (d *dpor) appendAwakened(list []awakened) []awakened {
	last := int32(len(d.trace.events)) - 1
	if last < 0 {
		return list
	}
	n, g, accesses := &d.nodes[last], d.path[last].Goroutine, d.trace.accessesOf(last)
	for _, a := range d.awakenedAt(n) {
		if a.Goroutine != g || !covers(accesses, a.Accesses) {
			list = append(list, a)
		}
	}
	for _, s := range d.sleepOf(n) {
		if len(s.Accesses) > 1 && s.Goroutine != g && s.Wakes(accesses) {
			list = append(list, awakened{s, last})
		}
	}
	return list
}

func (d *dpor) awakenedAt(n *node) []awakened {
	return d.awakened[n.awakenedBegin:n.awakenedEnd]
}

// covers reports whether everything that conflicts with one of some accesses also
// conflicts with one of all.
func covers(all, some []Access) bool {
	for _, s := range some {
		if !slices.ContainsFunc(all, func(a Access) bool { return a.Object == s.Object && (a.Kind == s.Kind || a.Kind == Write) }) {
			return false
		}
	}
	return true
}

// reverseAwakened sees to it that event e is explored before a sleeper that it
// conflicts with, where it does not depend on what woke that.
func (d *dpor) reverseAwakened(e int32) {
	t := d.trace
	for _, a := range d.awakenedAt(&d.nodes[e]) {
		if a.Goroutine == d.path[e].Goroutine || t.includes(t.clockOf(e), a.event) || !Conflict(a.Accesses, t.accessesOf(e)) {
			continue
		}
		without, ran := t.firstAfter(t.goroutine(a.Goroutine), a.event)
		if !ran || t.includes(t.clockOf(e), without) {
			without = -1
		}
		r, _ := d.collect(a.event, without, t.clockOf(e))
		d.insert(r)
	}
}

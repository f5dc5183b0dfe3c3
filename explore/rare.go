package explore

import (
	"math/bits"
	"slices"
)

// RareKind is a kind of event that can happen at many points of an execution, and only a few times in it.
type RareKind int

// The rare events. A point of the first three is an operation with an alternative for it; of the others, a
// transition for which the clock, or a signal, could have been picked beside goroutines.
const (
	NetworkFault RareKind = iota
	ShortRead
	ShortWrite
	EarlyTimer
	SignalArrival
	RareKinds
)

// Rare has an event happen at a point of an execution, if it can happen there: points are counted from 1,
// each kind by itself. What happens at a point (which fault, which signal) is random.
type Rare struct {
	Kind RareKind
	At   int
}

// MaxRare is the greatest number of rare events in a schedule.
const MaxRare = int(RareKinds) * mostRare

// rare draws rare events: in most executions one or a few, at places that are as likely to be late as early. If
// each point had the same probability instead, an execution of many points would never get to its end undisturbed.
// The number of points is that of the undisturbed executions so far. Its methods do nothing without it.
type rare struct {
	known lengths // before the leg
	seen  lengths // in the leg
}

// lengths is how many points undisturbed executions had.
type lengths [RareKinds]histogram

// histogram counts lengths by their numbers of binary digits.
type histogram [maxDigits]struct {
	executions int
	longest    int
}

const (
	maxDigits = 20 // of numbers of points; longer executions count as ones of so many digits
	mostRare  = 32 // events of a kind in an execution
	calmShare = 8  // one of so many executions is undisturbed, as long as it is known how long they are
)

func (h *histogram) add(length int) {
	if length > 0 {
		b := &h[min(bits.Len(uint(length)), maxDigits)-1]
		b.executions++
		b.longest = max(b.longest, length)
	}
}

func (h *histogram) executions() (n int) {
	for i := range h {
		n += h[i].executions
	}
	return n
}

// pick is a length that some executions had at most, by a number that is random.
func (h *histogram) pick(random uint64) int {
	n := random % uint64(h.executions())
	for i := range h {
		if n < uint64(h[i].executions) {
			return h[i].longest
		}
		n -= uint64(h[i].executions)
	}
	panic("explore: lengths were counted that are not there")
}

func (l *lengths) join(other *lengths) {
	for kind := range l {
		for i := range l[kind] {
			l[kind][i].executions += other[kind][i].executions
			l[kind][i].longest = max(l[kind][i].longest, other[kind][i].longest)
		}
	}
}

// goOn begins the next leg.
func (r *rare) goOn() {
	r.known.join(&r.seen)
	r.seen = lengths{}
}

// measure looks at an execution: whether it was to be left alone is in its schedule.
func (r *rare) measure(s *Schedule, e Execution) {
	if len(s.Rare) > 0 {
		return
	}
	for kind := range r.seen {
		r.seen[kind].add(e.RarePoints[kind])
	}
}

// draw appends the rare events of the schedule with a seed.
func (r *rare) draw(seed uint64, list []Rare) []Rare {
	random := seeds{mix(seed ^ 0x72617265)}
	var kinds []RareKind
	for kind := range r.known {
		if r.known[kind].executions() > 0 {
			kinds = append(kinds, RareKind(kind))
		}
	}
	if len(kinds) == 0 || random.seed()%calmShare == 0 {
		return list
	}
	first := kinds[random.seed()%uint64(len(kinds))]
	for _, kind := range kinds {
		if kind == first || random.seed()%2 == 0 {
			list = r.known[kind].draw(kind, &random, list)
		}
	}
	return list
}

// draw appends some events of a kind: twice as many half as often. The first is anywhere in an execution of usual
// length. Half of those after it are near the one before, since that has changed what comes next.
func (h *histogram) draw(kind RareKind, random *seeds, list []Rare) []Rare {
	n := 1
	for n < mostRare && random.seed()%2 == 0 {
		n *= 2
	}
	at := 0
	for i := range n {
		length := uint64(h.pick(random.seed()))
		switch {
		case i == 0 || random.seed()%2 == 0:
			at = 1 + int(random.seed()%length)
		default:
			distance := uint64(1) << (random.seed() % uint64(bits.Len64(length)))
			at += int(distance + random.seed()%distance)
		}
		list = append(list, Rare{kind, at})
	}
	return list
}

func (r *rare) save(e *encoder) {
	for _, l := range []*lengths{&r.known, &r.seen} {
		for kind := range l {
			for i := range l[kind] {
				e.count(l[kind][i].executions)
				e.count(l[kind][i].longest)
			}
		}
	}
}

func (r *rare) resume(d *decoder) {
	for _, l := range []*lengths{&r.known, &r.seen} {
		for kind := range l {
			for i := range l[kind] {
				b := &l[kind][i]
				b.executions, b.longest = d.count(maxCount), d.count(maxTransitions)
				if b.executions > 0 && b.longest == 0 {
					d.fail("executions without points are counted among those with some")
				}
			}
		}
	}
}

// any reports whether an execution had points of rare events.
func (e *Execution) hasRarePoints() bool {
	return slices.ContainsFunc(e.RarePoints[:], func(n int) bool { return n > 0 })
}

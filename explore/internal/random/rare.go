package random

import (
	"math/bits"

	"github.com/tandem-mc/tandem/explore/internal/codec"
	"github.com/tandem-mc/tandem/explore/internal/core"
	"github.com/tandem-mc/tandem/internal/invariant"
)

// rare draws rare events: in most executions one or a few, at places that are as likely to be late
// as early. If each point had the same probability instead, an execution of many points would never
// get to its end undisturbed. The number of points is that of the undisturbed executions so far.
// Its methods do nothing without it.
type rare struct {
	known lengths // before the leg
	seen  lengths // in the leg
}

// lengths is how many points undisturbed executions had.
type lengths [core.RareKinds]histogram

// histogram counts lengths by their numbers of binary digits.
type histogram [maxDigits]struct {
	executions int
	longest    int
}

const (
	maxDigits = 20 // of numbers of points; longer executions count as ones of so many digits
	// one of so many executions is undisturbed, as long as it is known how long they are
	calmShare = 8
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
	invariant.Failf("explore: lengths were counted that are not there")
	return 0
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
func (r *rare) measure(s *core.Schedule, e core.Execution) {
	if len(s.Rare) > 0 {
		return
	}
	for kind := range r.seen {
		r.seen[kind].add(e.RarePoints[kind])
	}
}

// draw appends the rare events of the schedule with a seed.
func (r *rare) draw(seed uint64, list []core.Rare) []core.Rare {
	random := Seeds{core.Mix(seed ^ 0x72617265)}
	var kinds []core.RareKind
	for kind := range r.known {
		if r.known[kind].executions() > 0 {
			kinds = append(kinds, core.RareKind(kind))
		}
	}
	if len(kinds) == 0 || random.Seed()%calmShare == 0 {
		return list
	}
	first := kinds[random.Seed()%uint64(len(kinds))]
	for _, kind := range kinds {
		if kind == first || random.Seed()%2 == 0 {
			list = r.known[kind].draw(kind, &random, list)
		}
	}
	return list
}

// draw appends some events of a kind: twice as many half as often. The first is anywhere in an
// execution of usual length. Half of those after it are near the one before, since that has changed
// what comes next.
func (h *histogram) draw(kind core.RareKind, random *Seeds, list []core.Rare) []core.Rare {
	n := 1
	for n < core.MostRare && random.Seed()%2 == 0 {
		n *= 2
	}
	at := 0
	for i := range n {
		length := uint64(h.pick(random.Seed()))
		switch {
		case i == 0 || random.Seed()%2 == 0:
			at = 1 + int(random.Seed()%length)
		default:
			distance := uint64(1) << (random.Seed() % uint64(bits.Len64(length)))
			at += int(distance + random.Seed()%distance)
		}
		list = append(list, core.Rare{Kind: kind, At: at})
	}
	return list
}

func (r *rare) save(e *codec.Encoder) {
	for _, l := range []*lengths{&r.known, &r.seen} {
		for kind := range l {
			for i := range l[kind] {
				e.Count(l[kind][i].executions)
				e.Count(l[kind][i].longest)
			}
		}
	}
}

func (r *rare) resume(d *codec.Decoder) {
	for _, l := range []*lengths{&r.known, &r.seen} {
		for kind := range l {
			for i := range l[kind] {
				b := &l[kind][i]
				b.executions, b.longest = d.Count(core.MaxCount), d.Count(core.MaxTransitions)
				if b.executions > 0 && b.longest == 0 {
					d.Fail("executions without points are counted among those with some")
				}
			}
		}
	}
}

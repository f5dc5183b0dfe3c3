package explore

import (
	"fmt"
	"math"
)

// newRandom returns a search that runs n executions with pseudo-random schedules,
// the same ones for the same seed. It can find violations but not exclude them.
//
// Rare events (Rare) come about once in an execution, in this search and in PCT, wherever they can.
func newRandom(n int, seed uint64, b bounds) *sampling {
	return newSampling("random", n, seed, nil, b)
}

// sampling is a search by schedules that are drawn at random. It goes from leg to leg. What has been
// measured in the executions before a leg, and in no others, decides about the schedules in it, so that all of
// these are known before it begins.
type sampling struct {
	tally
	name   string
	all    int     // schedules, of the whole search
	rest   stretch // after the present leg
	leg    *leg
	length int   // schedules that the leg has if there are as many
	sizes  sizes // before the leg
	drawn  int   // executions of earlier legs with the same number of transitions
	rare   rare
	probes probes
	biased bool // probes are not known: alternatives were not picked uniformly
}

// The first leg is one execution, to find out how long they are. The numbers of schedules of the
// others grow between these two.
const (
	firstLeg = 16
	lastLeg  = 4096
)

func newSampling(name string, n int, seed uint64, by *priorities, b bounds) *sampling {
	s := &sampling{tally: tally{bounds: b}, name: name, all: n, rest: stretch{left: n, seeds: seeds{seed}}, length: 1}
	s.begin(by)
	return s
}

func (s *sampling) Next() (Schedule, bool) {
	s.ask()
	schedule, more := s.leg.next()
	if !more && s.rest.left > 0 {
		s.goOn()
		schedule, more = s.leg.next()
	}
	if !more {
		return s.end()
	}
	return schedule, true
}

// goOn begins the next leg.
func (s *sampling) goOn() {
	by := s.leg.by
	if by != nil {
		s.sizes.join(by.sizes)
		if s.drawn += s.leg.done(); s.sizes.transitions != by.length {
			s.drawn = 0
		}
		by = by.anew()
		by.length = s.sizes.transitions
	}
	if s.length < firstLeg {
		s.length = firstLeg
	} else {
		s.length = min(4*s.length, lastLeg)
	}
	s.rare.goOn()
	s.begin(by)
}

func (s *sampling) begin(by *priorities) {
	n := min(s.length, s.rest.left)
	s.leg = &leg{all: n, stretch: s.rest.split(n), by: by, rare: &s.rare, limits: s.bounds.limits}
}

func (s *sampling) Report(e Execution) error {
	if err := s.take(e); err != nil {
		return err
	}
	if s.biased = s.biased || e.hasRarePoints(); !s.biased {
		s.probes.add(e.Weight)
	}
	s.leg.by.measure(e)
	s.rare.measure(&s.leg.last, e)
	return nil
}

// prefetch sees to the end of the leg.
func (s *sampling) prefetch(n int) []Schedule { return s.leg.prefetch(n) }

func (s *sampling) Verdict() Verdict {
	by := s.leg.by
	if by == nil {
		v := s.verdict(fmt.Sprintf("%d random schedules show nothing about the others", s.counts.Executions))
		if !s.biased {
			v.Estimate = s.probes.estimate()
		}
		return v
	}
	v := s.verdict(fmt.Sprintf("%d schedules of PCT make nothing certain about the others", s.counts.Executions))
	reported := s.leg.done()
	if s.waiting {
		reported--
	}
	seen, drawn := s.sizes, s.drawn+reported
	if seen.join(by.sizes); by.length == 0 || drawn == 0 {
		return v
	}
	each := 1 / (float64(seen.goroutines) * math.Pow(float64(by.length), float64(by.depth-1)))
	v.Guarantee = Guarantee{
		Depth: by.depth, Goroutines: seen.goroutines, Transitions: by.length, Drawn: drawn, Choices: seen.choices,
		Each: each, All: -math.Expm1(float64(drawn) * math.Log1p(-each)),
	}
	return v
}

// leg is a part of a sampling whose schedules are known when it begins.
type leg struct {
	all int // schedules
	stretch
	before   seeds // those before the last one
	listed   int   // by Ahead, of those that come next
	foreseen seeds // after them

	by     *priorities // nil: whatever can be picked is as likely as anything else
	rare   *rare
	limits Limits
	drawn  Priorities // of the last schedule
	last   Schedule
}

// done is how many of its schedules have been asked for.
func (l *leg) done() int { return l.all - l.left }

// stretch is a number of schedules, one after the other.
type stretch struct {
	seeds
	left int
}

// seeds is a sequence of seeds.
type seeds struct{ state uint64 }

// seed returns the next one; never 0, which would mean that there is none.
func (s *seeds) seed() uint64 {
	for {
		s.state += 0x9e3779b97f4a7c15
		if seed := mix(s.state); seed != 0 {
			return seed
		}
	}
}

func (l *leg) next() (Schedule, bool) {
	if l.left <= 0 {
		return Schedule{}, false
	}
	l.left--
	l.listed = max(l.listed-1, 0)
	l.before = l.seeds
	seed := l.seed()
	l.last = Schedule{Seed: seed, Priorities: l.by.draw(seed, &l.drawn), Rare: l.rare.draw(seed, l.last.Rare[:0]), Limits: l.limits}
	return l.last, true
}

// prefetch lists what comes next: it does not depend on what is reported.
func (l *leg) prefetch(n int) (list []Schedule) {
	if l.listed == 0 {
		l.foreseen = l.seeds
	}
	for ; len(list) < n && l.listed < l.left; l.listed++ {
		seed := l.foreseen.seed()
		list = append(list, Schedule{Seed: seed, Priorities: l.by.draw(seed, &Priorities{}), Rare: l.rare.draw(seed, nil), Limits: l.limits})
	}
	return list
}

// split takes the first n schedules away from a stretch.
func (s *stretch) split(n int) stretch {
	first := stretch{left: n, seeds: s.seeds}
	s.left -= n
	for range n {
		s.seed()
	}
	return first
}

// mix is the finalizer of SplitMix64 (Steele, Lea, Flood: Fast Splittable
// Pseudorandom Number Generators, OOPSLA 2014), a permutation of the 64-bit words.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Package random has the searches whose schedules are drawn at random.
package random

import (
	"fmt"
	"math"

	"github.com/tandem-mc/tandem/explore/internal/core"
)

// New returns a search that runs n executions with pseudo-random schedules, the same ones for the
// same seed. It can find violations but not exclude them. Rare events (core.Rare) come about once
// in an execution, in this search and in PCT, wherever they can.
func New(n int, seed uint64, b core.Bounds) *Search {
	return newSampling("random", n, seed, nil, b)
}

// Search draws schedules at random. It proceeds in legs. The schedules of a leg depend on what was
// measured in the legs before it and on nothing else, so all of them are known when it begins.
type Search struct {
	core.Tally
	name   string
	all    int     // schedules, of the whole search
	rest   stretch // after the present leg
	leg    *leg
	length int    // schedules that the leg has if there are as many
	sizes  maxima // before the leg
	drawn  int    // executions of earlier legs with the same number of transitions
	rare   rare
	events *events // of interest; nil if none are
	order  core.Order
	probes Probes
	biased bool // probes are not known: alternatives were not picked uniformly
}

// The first leg is one execution, to find out how long they are. The numbers of schedules of the
// others grow between these two.
const (
	FirstLeg = 16
	lastLeg  = 4096
)

func newSampling(name string, n int, seed uint64, by *priorities, b core.Bounds) *Search {
	s := &Search{Tally: core.Tally{Bounds: b}, name: name, all: n,
		rest: stretch{left: n, Seeds: Seeds{seed}}, length: 1}
	s.begin(by)
	return s
}

// Next implements core.Search.
func (s *Search) Next() (core.Schedule, bool) {
	s.Expect()
	schedule, more := s.leg.next()
	if !more && s.rest.left > 0 {
		s.goOn()
		schedule, more = s.leg.next()
	}
	if !more {
		return s.End()
	}
	return schedule, true
}

// goOn begins the next leg.
func (s *Search) goOn() {
	by := s.leg.by
	if by != nil {
		s.sizes.merge(by.sizes)
		if s.drawn += s.leg.done(); s.sizes.transitions != by.length {
			s.drawn = 0
		}
		by = by.anew()
		by.length = s.sizes.transitions
	}
	if s.length < FirstLeg {
		s.length = FirstLeg
	} else {
		s.length = min(4*s.length, lastLeg)
	}
	s.rare.goOn()
	s.events.goOn()
	s.begin(by)
}

func (s *Search) begin(by *priorities) {
	n := min(s.length, s.rest.left)
	s.leg = &leg{all: n, stretch: s.rest.split(n), by: by, order: s.order, events: s.events, rare: &s.rare,
		limits: s.Bounds.Limits}
}

// Report implements core.Search.
func (s *Search) Report(e core.Execution) error {
	if err := s.Count(e); err != nil {
		return err
	}
	if s.biased = s.biased || e.HasRarePoints(); !s.biased {
		s.probes.Add(e.Weight)
	}
	s.leg.by.measure(e)
	s.rare.measure(&s.leg.last, e)
	s.events.measure(e)
	return nil
}

// Learn has a search that has run nothing yet begin with what an execution of another one has
// shown: it need not find out first how long executions are.
func (s *Search) Learn(e core.Execution) {
	s.leg.by.measure(e)
	s.events.measure(e)
	s.goOn()
}

// Prefetch sees to the end of the leg.
func (s *Search) Prefetch(n int) []core.Schedule { return s.leg.prefetch(n) }

// Verdict implements core.Search.
func (s *Search) Verdict() core.Verdict {
	by := s.leg.by
	if by == nil {
		v := s.Conclude(fmt.Sprintf("%d %s show nothing about the others", s.Counts.Executions,
			drawnBy[s.order]))
		if !s.biased {
			v.Estimate = s.probes.Estimate()
		}
		return v
	}
	v := s.Conclude(fmt.Sprintf("%d schedules of PCT make nothing certain about the "+
		"others", s.Counts.Executions))
	reported := s.leg.done()
	if s.Waiting {
		reported--
	}
	seen, drawn := s.sizes, s.drawn+reported
	if seen.merge(by.sizes); by.length == 0 || drawn == 0 {
		return v
	}
	each := 1 / (float64(seen.goroutines) * math.Pow(float64(by.length), float64(by.depth-1)))
	v.Guarantee = core.Guarantee{
		Depth: by.depth, Goroutines: seen.goroutines, Transitions: by.length, Drawn: drawn,
		Choices: seen.choices,
		Each:    each, All: -math.Expm1(float64(drawn) * math.Log1p(-each)),
	}
	return v
}

// drawnBy says in words how schedules were drawn.
var drawnBy = [core.Orders]string{
	core.Uniform: "random schedules", core.PartialOrder: "schedules of POS", core.Walk: "schedules of SURW",
}

// leg is a number of consecutive schedules that are all known when it begins.
type leg struct {
	all int // schedules
	stretch
	before   Seeds // those before the last one
	listed   int   // by prefetch, of those that come next
	foreseen Seeds // after them

	by     *priorities // nil: goroutines are picked in the order
	order  core.Order
	events *events
	rare   *rare
	limits core.Limits
	drawn  core.Priorities // of the last schedule
	last   core.Schedule
}

// done is how many of its schedules have been asked for.
func (l *leg) done() int { return l.all - l.left }

// stretch is a number of schedules, one after the other.
type stretch struct {
	Seeds
	left int
}

// Seeds is a sequence of seeds.
type Seeds struct{ state uint64 }

// NewSeeds returns the sequence that follows from a seed.
func NewSeeds(seed uint64) Seeds { return Seeds{seed} }

// Seed returns the next one; never 0, which would mean that there is none.
func (s *Seeds) Seed() uint64 {
	for {
		s.state += 0x9e3779b97f4a7c15
		if seed := core.Mix(s.state); seed != 0 {
			return seed
		}
	}
}

func (l *leg) next() (core.Schedule, bool) {
	if l.left <= 0 {
		return core.Schedule{}, false
	}
	l.left--
	l.listed = max(l.listed-1, 0)
	l.before = l.Seeds
	seed := l.Seed()
	l.last = l.schedule(seed, &l.drawn, l.last.Rare[:0])
	return l.last, true
}

// schedule is that with a seed. It uses the memory of priorities and rare events.
func (l *leg) schedule(seed uint64, priorities *core.Priorities, rare []core.Rare) core.Schedule {
	s := core.Schedule{Seed: seed, Priorities: l.by.draw(seed, priorities), Order: l.order,
		Rare: l.rare.draw(seed, rare), Limits: l.limits}
	l.events.draw(seed, &s)
	return s
}

// prefetch lists what comes next: it does not depend on what is reported.
func (l *leg) prefetch(n int) (list []core.Schedule) {
	if l.listed == 0 {
		l.foreseen = l.Seeds
	}
	for ; len(list) < n && l.listed < l.left; l.listed++ {
		seed := l.foreseen.Seed()
		list = append(list, l.schedule(seed, &core.Priorities{}, nil))
	}
	return list
}

// split takes the first n schedules away from a stretch.
func (s *stretch) split(n int) stretch {
	first := stretch{left: n, Seeds: s.Seeds}
	s.left -= n
	for range n {
		s.Seed()
	}
	return first
}

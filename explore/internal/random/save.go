package random

import (
	"github.com/tandem-mc/tandem/explore/internal/codec"
	"github.com/tandem-mc/tandem/explore/internal/core"
)

// Save: however many schedules there were, there are more.
func (s *Search) Save(e *codec.Encoder) {
	s.Tally.SaveCounts(e, s.name)
	e.Ended = false
	for _, n := range s.saved() {
		e.Count(*n)
	}
	e.Fixed(s.rest.state)
	s.sizes.save(e)
	s.rare.save(e)
	s.events.save(e)
	s.probes.save(e)
	e.Truth(s.biased)
	s.leg.save(e, s.Waiting)
}

// Resume: there may be more schedules than before, first in the leg, if that was cut short.
func (s *Search) Resume(d *codec.Decoder) {
	all := s.all
	s.Tally.ResumeCounts(d, s.name)
	for _, n := range s.saved() {
		*n = d.Count(core.MaxCount)
	}
	more := max(0, all-s.all)
	s.rest = stretch{Seeds: Seeds{d.Fixed()}, left: s.rest.left + more}
	s.sizes.resume(d)
	s.rare.resume(d)
	s.events.resume(d)
	s.probes.resume(d)
	s.biased = d.Truth()
	s.all += more
	grow := max(0, min(more, s.length-s.leg.all, lastLeg))
	s.rest.split(grow)
	s.leg.resume(d, grow)
}

func (s *Search) saved() []*int {
	return []*int{&s.all, &s.rest.left, &s.length, &s.drawn, &s.leg.all}
}

// save of a leg: what is being executed is still to do.
func (l *leg) save(e *codec.Encoder, waiting bool) {
	now := l.stretch
	if waiting {
		now = stretch{left: l.left + 1, Seeds: l.before}
	}
	e.Fixed(now.state)
	e.Count(now.left)
	l.by.save(e)
}

// resume has a leg go on with so many schedules more than it had.
func (l *leg) resume(d *codec.Decoder, more int) {
	l.all += more
	l.stretch = stretch{Seeds: Seeds{d.Fixed()}, left: d.Count(core.MaxCount) + more}
	l.by.resume(d)
}

// save writes nothing for a search without priorities.
func (b *priorities) save(e *codec.Encoder) {
	if b != nil {
		e.Count(b.length)
		b.sizes.save(e)
	}
}

func (b *priorities) resume(d *codec.Decoder) {
	if b != nil {
		b.length = d.Count(core.MaxTransitions)
		b.sizes.resume(d)
	}
}

func (s *maxima) save(e *codec.Encoder) {
	e.Count(s.goroutines)
	e.Count(s.transitions)
	e.Truth(s.choices)
}

func (s *maxima) resume(d *codec.Decoder) {
	*s = maxima{goroutines: d.Count(core.MaxCount), transitions: d.Count(core.MaxTransitions),
		choices: d.Truth()}
}

package explore

import (
	"errors"
	"fmt"
	"slices"
)

// stateVersion is that of the format of Save. States of other versions are refused.
const stateVersion = 7

// Save returns the state of a search, from which Resume can go on, in this process
// or another one: what is left to do, and the counts. It may be called at any time;
// of an execution that was asked for and is not reported, it knows nothing yet. When
// the search has ended, and not by a Stop, there is nothing to go on with: the state is nil.
// The error is ErrNotSaveable.
//
// The state takes memory in proportion to the depth of the search, not to the
// executions so far.
func (s *Search) Save() ([]byte, error) {
	if s.saved == nil {
		return nil, ErrNotSaveable
	}
	e := &encoder{}
	e.number(stateVersion)
	for _, within := range slices.Backward(s.bounds.within) { // what is left to do depends on it
		e.text(within)
	}
	s.saved.save(e)
	if e.ended {
		return nil, nil
	}
	return e.data, nil
}

// Resume has a search go on where the one was whose state Save returned. It must be
// new, and made with the same configuration; what it stops at may be different. Its first execution has to be of
// the same program: if it is not, Report returns a DivergenceError. The error is
// ErrNotSaveable or a *StateError; after it the search must not be used.
func (s *Search) Resume(state []byte) error {
	if s.saved == nil {
		return ErrNotSaveable
	}
	d := &decoder{data: state}
	if version := d.number(); d.problem == "" && version != stateVersion {
		return &StateError{fmt.Sprintf("it is of version %d, and this program reads version %d", version, stateVersion)}
	}
	for _, own := range slices.Backward(s.bounds.within) {
		if within := d.text(); within != own {
			d.fail("it is that of a search for executions with %.40q, and this one is for %q", within, own)
		}
	}
	s.saved.resume(d)
	if len(d.data) > 0 {
		d.fail("%d bytes follow its end", len(d.data))
	}
	if d.problem != "" {
		return &StateError{d.problem}
	}
	return nil
}

// saveable is an algorithm whose state can be saved.
type saveable interface {
	save(*encoder)
	resume(*decoder)
}

// ErrNotSaveable is the error of saving a search of which there is no state.
var ErrNotSaveable = errors.New("a search of this kind cannot be saved")

// StateError says what is wrong with the state of a search.
type StateError struct{ Problem string }

func (e *StateError) Error() string {
	return "the saved state of the search cannot be used: " + e.Problem
}

// save writes which search it is, and the counts.
func (t *tally) save(e *encoder, search string) {
	e.ended = t.ended
	e.text(search)
	for _, n := range t.saved() {
		e.number(uint64(*n))
	}
}

func (t *tally) resume(d *decoder, search string) {
	if saved := d.text(); saved != search {
		d.fail("it is that of a search %.20q, and this one is %q", saved, search)
	}
	for _, n := range t.saved() {
		*n = d.count(maxCount)
	}
}

// maxCount bounds the counts of a search.
const maxCount = 1 << 56

func (t *tally) saved() []*int {
	c := &t.counts
	return []*int{&c.Executions, &c.Redundant, &c.Limited, &c.Violations, &c.Transitions, &c.Last, &c.Deepest}
}

// save: however many schedules there were, there are more.
func (s *sampling) save(e *encoder) {
	s.tally.save(e, s.name)
	e.ended = false
	for _, n := range s.saved() {
		e.count(*n)
	}
	e.fixed(s.rest.state)
	s.sizes.save(e)
	s.rare.save(e)
	s.probes.save(e)
	e.truth(s.biased)
	s.leg.save(e, s.waiting)
}

// resume: there may be more schedules than before, first in the leg, if that was cut short.
func (s *sampling) resume(d *decoder) {
	all := s.all
	s.tally.resume(d, s.name)
	for _, n := range s.saved() {
		*n = d.count(maxCount)
	}
	more := max(0, all-s.all)
	s.rest = stretch{seeds: seeds{d.fixed()}, left: s.rest.left + more}
	s.sizes.resume(d)
	s.rare.resume(d)
	s.probes.resume(d)
	s.biased = d.truth()
	s.all += more
	grow := max(0, min(more, s.length-s.leg.all, lastLeg))
	s.rest.split(grow)
	s.leg.resume(d, grow)
}

func (s *sampling) saved() []*int {
	return []*int{&s.all, &s.rest.left, &s.length, &s.drawn, &s.leg.all}
}

// save of a leg: what is being executed is still to do.
func (l *leg) save(e *encoder, waiting bool) {
	now := l.stretch
	if waiting {
		now = stretch{left: l.left + 1, seeds: l.before}
	}
	e.fixed(now.state)
	e.count(now.left)
	l.by.save(e)
}

// resume has a leg go on with so many schedules more than it had.
func (l *leg) resume(d *decoder, more int) {
	l.all += more
	l.stretch = stretch{seeds: seeds{d.fixed()}, left: d.count(maxCount) + more}
	l.by.resume(d)
}

// save writes nothing for a search without priorities.
func (b *priorities) save(e *encoder) {
	if b != nil {
		e.count(b.length)
		b.sizes.save(e)
	}
}

func (b *priorities) resume(d *decoder) {
	if b != nil {
		b.length = d.count(maxTransitions)
		b.sizes.resume(d)
	}
}

func (s *sizes) save(e *encoder) {
	e.count(s.goroutines)
	e.count(s.transitions)
	e.truth(s.choices)
}

func (s *sizes) resume(d *decoder) {
	*s = sizes{goroutines: d.count(maxCount), transitions: d.count(maxTransitions), choices: d.truth()}
}

func (d *dfs) save(e *encoder) { d.saveAs(e, "dfs") }

// saveAs writes the stack up to the last state where something is left to do, and returns how many states that are.
func (d *dfs) saveAs(e *encoder, search string) int {
	d.tally.save(e, search)
	d.sizes.save(e)
	top := len(d.stack) - 1
	left := func(i int) []Action {
		if d.waiting && i == top { // what is being executed
			return append([]Action{d.prefix[i]}, d.stack[i].todo...)
		}
		return d.stack[i].todo
	}
	last := top
	for last >= 0 && len(left(last)) == 0 {
		last--
	}
	e.count(last + 1)
	for i := range last + 1 {
		b := &d.stack[i]
		e.action(d.prefix[i])
		e.alternatives(b.enabled)
		e.actions(left(i))
	}
	return last + 1
}

func (d *dfs) resume(from *decoder) { d.resumeAs(from, "dfs") }

func (d *dfs) resumeAs(from *decoder, search string) {
	d.tally.resume(from, search)
	d.sizes.resume(from)
	for range from.length() {
		d.prefix = append(d.prefix, from.action())
		d.stack = append(d.stack, branching{enabled: from.alternatives(), todo: from.actions()})
	}
	d.begun = d.begun || d.counts.Executions > 0
}

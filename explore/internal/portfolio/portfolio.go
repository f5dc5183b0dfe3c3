// Package portfolio combines searches: aimed schedules find what the log of an execution hints at,
// samples find what is frequent, and a systematic search finds the rest. Only the systematic one
// can say that nothing is left.
package portfolio

import (
	"github.com/tandem-mc/tandem/explore/internal/core"
)

// Search runs the executions of a systematic search, and aside from these aimed schedules and
// samples. The order depends on nothing but what the executions show.
type Search struct {
	core.Tally // of all executions
	tree       core.Tree
	planned    core.Schedule // of the tree
	asked      bool          // the tree waits for that to be executed
	explored   bool          // nothing is left of the tree
	late       int           // samples since then
	cutOff     int           // of the executions of the tree: StepLimit
	weighed    int           // how many there were of the tree at the last weighing
	leeway     int           // that samples make up: how many executions there are to be aside
	turn       core.Phase
	aims       aims
	samples    samples
	phases     core.Phases
	// Rest is after how many executions of the tree there are to have been as many aside, and then
	// after twice, four times ... as many, unless the tree will end within Most.
	Rest int
	// Most is how many executions there may be in all; 0: nobody knows.
	Most int
	// Opening is how many samples there are among the first executions.
	Opening int
}

// New returns a search around a systematic one within the same bounds. Equal seeds give equal
// samples. In some of the executions aside the clock may advance early so many times.
func New(tree core.Tree, seed uint64, earlyTimers int, b core.Bounds) *Search {
	return &Search{Tally: core.Tally{Bounds: b}, tree: tree, aims: newAims(b.Limits, earlyTimers),
		samples: newSamples(seed, earlyTimers, b), Rest: 1000, Opening: 150}
}

// Next implements core.Search. The tree is asked first: where nothing is left of it, nothing is
// left to find, but for what happens when time passes early.
func (s *Search) Next() (core.Schedule, bool) {
	s.Expect()
	if !s.asked && !s.explored {
		if s.planned, s.asked = s.tree.Next(); !s.asked {
			s.finishTree()
		} else if s.phases.Systematic == s.weighing() {
			s.weigh()
		}
	}
	switch {
	case s.explored && s.lateLeft() <= 0:
		return s.End()
	case !s.explored && !s.owes(s.phases.Systematic):
		s.turn = core.Systematic
		return s.planned, true
	}
	if s.aims.left() > 0 && !s.prefersSample() {
		s.turn = core.Aimed
		return s.aims.next(), true
	}
	s.turn = core.Sampled
	return s.samples.next(s.explored), true
}

// finishTree notes that nothing is left of the tree.
func (s *Search) finishTree() {
	s.explored = true
	s.aims.onlyEarly()
}

// lateSamples is how many samples in which time may pass early there are when nothing else is left.
const lateSamples = 30

// lateLeft is how many executions are left when nothing is left of the tree.
func (s *Search) lateLeft() int {
	if s.Counts.Timed == 0 || s.aims.early == 0 {
		return 0
	}
	return s.aims.left() + lateSamples - s.late
}

// Report implements core.Search.
func (s *Search) Report(e core.Execution) error {
	if err := s.Count(e); err != nil {
		return err
	}
	s.phases.Note(s.turn, e.Outcome.Violation())
	switch s.turn {
	case core.Systematic:
		if e.Outcome == core.StepLimit {
			s.cutOff++
		}
		if s.asked = false; s.phases.Systematic == 1 {
			s.aims.learn(&e)
			s.samples.learn(e)
		}
		return s.tree.Report(e)
	case core.Sampled:
		if s.explored {
			s.late++
		} else {
			s.aims.learn(&e)
		}
		return s.samples.report(e)
	}
	s.aims.learn(&e)
	return nil
}

// Verdict implements core.Search.
func (s *Search) Verdict() core.Verdict {
	v := s.Counted()
	if s.explored {
		all := float64(v.Executions + s.lateLeft())
		v.Estimate = core.Estimate{Executions: all, Low: all, High: all}
		return v
	}
	if v.Estimate = s.tree.Verdict().Estimate; v.Estimate.Executions > 0 {
		aside := float64(s.phases.Aside())
		v.Estimate.Executions += aside
		v.Estimate.Low += aside
		v.Estimate.High += aside
		v.Estimate.Planned += aside
	}
	return v
}

// Counted implements core.Search. What was cut off aside does not matter where the tree covers it;
// and when nothing is left of the tree, nothing that is left to run can change what it covers.
func (s *Search) Counted() core.Verdict {
	t := s.Tally
	t.Counts.Limited, t.Ended = s.cutOff, s.Ended || s.explored
	v := t.Conclude("")
	v.Limited = s.Counts.Limited
	v.Phases = s.phases
	v.Phases.CutOff = s.cutOff
	return v
}

// perTurn is how many executions are run aside for each of the tree in the opening, as long as
// there are to be any: an aimed one, a sample, and an aimed one. The first two are of the tree.
// That was the best order for the programs of examples/finders.
const perTurn = 3

// aimedTurns is after how many turns two of three are samples: the best aims come first.
const aimedTurns = 3

// quota is how many executions there are to be aside before the one of the tree that comes after so
// many. It grows with that number, and depends on nothing that depends on who explores subtrees.
func (s *Search) quota(systematic int) int {
	quota := max(perTurn*(systematic-1), s.aims.urgent)
	quota = min(quota, len(s.aims.queue)+s.Opening)
	return max(quota, s.leeway)
}

// weighing is after how many executions of the tree it is weighed whether samples make up leeway.
func (s *Search) weighing() int { return max(s.Rest, 2*s.weighed) }

// weigh has samples make up leeway, unless the tree can be expected to end within the bound: then
// they could only keep it from that. It is asked at the same moments for any number of workers.
func (s *Search) weigh() {
	s.weighed = s.phases.Systematic
	all := s.tree.Verdict().Estimate.Executions + float64(s.phases.Aside())
	if s.Most == 0 || all > float64(s.Most) {
		s.leeway = s.weighed
	}
}

// prefersSample reports whether the next execution aside is a sample although there are aims left.
func (s *Search) prefersSample() bool {
	n := s.phases.Aside() - s.aims.urgent
	return !s.explored && n >= 0 && (n%perTurn == 1 || n%perTurn == 2 && n >= aimedTurns*perTurn)
}

// owes reports whether an execution aside comes before the next one of the tree.
func (s *Search) owes(systematic int) bool { return s.phases.Aside() < s.quota(systematic) }

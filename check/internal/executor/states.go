package executor

import (
	"fmt"

	"github.com/tandem-mc/tandem/sut"
)

// recorder notes the states that an execution has named, and whether it was to end at the last.
// What is known changes with each execution, so a self-check cannot ask again: the states of the
// execution itself are known by then, and it would end at the first of them. That the answers are
// repeated makes the logs comparable. That the states are compared as well finds a program whose
// state has something that is not controlled, such as an address.
type recorder struct {
	states sut.States
	named  []sut.NamedState
	ends   bool
}

// record has the states of a schedule noted; nil if there is nobody who is told of them.
func record(s *sut.Schedule) *recorder {
	if s.States == nil {
		return nil
	}
	r := &recorder{states: s.States}
	s.States = r
	return r
}

// Named implements sut.States.
func (r *recorder) Named(s sut.NamedState) bool {
	r.named = append(r.named, s)
	r.ends = r.states.Named(s)
	return r.ends
}

// repeater answers as a recorder has, and sees that the same states are named.
type repeater struct {
	was    *recorder
	at     int             // how many states there were so far
	differ *sut.NamedState // the first that was another one, or none
}

// repeat has the states of a schedule that were recorded answered as they were. The result says
// afterwards whether they were the same.
func repeat(s *sut.Schedule) *repeater {
	switch was := s.States.(type) { // the second repetition finds the first one there
	case *recorder:
		again := &repeater{was: was}
		s.States = again
		return again
	case *repeater:
		again := &repeater{was: was.was}
		s.States = again
		return again
	}
	return nil
}

// Named implements sut.States. An execution that names more states than were recorded would not
// have ended where it did, so it ends at once.
func (r *repeater) Named(s sut.NamedState) bool {
	i := r.at
	r.at++
	if r.differ == nil && (i >= len(r.was.named) || r.was.named[i] != s) {
		r.differ = &s
	}
	return r.was.ends && i >= len(r.was.named)-1
}

// problem is for a self-check, which compares logs event by event. What was named is not in them.
// It says how the states differ from those that were recorded; empty: they do not.
func (r *repeater) problem(p *sut.Program) string {
	if r == nil || r.differ == nil {
		return ""
	}
	where := ""
	if at, ok := p.Position(r.differ.PC); ok {
		where = fmt.Sprintf("at %v ", at)
	}
	return fmt.Sprintf("tandem.State %snames another state in transition %d", where, r.differ.Step)
}

package global

import (
	"bytes"
	"errors"
	"slices"

	"github.com/tandem-mc/tandem/protocol/internal/forms"
	"github.com/tandem-mc/tandem/protocol/internal/space"
	"github.com/tandem-mc/tandem/protocol/internal/system"
	"github.com/tandem-mc/tandem/protocol/internal/table"
)

// run finds the steps that lead to a finding. States know what they were reached from; which step
// it was is found by expanding that state once more.
func (w *worker) run(f *finding) (*Violation, error) {
	v := f.Violation
	if f.at == space.None {
		return &v, nil
	}
	states := f.states
	if states == nil {
		var err error
		if states, err = statesBefore(w.search, f.at); err != nil {
			return nil, err
		}
	}
	slices.Reverse(states)
	// The first state is not reached by a step.
	from, err := w.startOf(states[0])
	if err != nil {
		return nil, err
	}
	w.Unpack(&w.Cur, from)
	v.First, v.Start = slices.Clone(w.Cur.Locals), slices.Clone(from)
	for _, to := range states[1:] {
		var step *system.Step
		if step, from, err = w.stepBetween(from, to); err != nil {
			return nil, err
		}
		v.Steps = append(v.Steps, *step)
	}
	if f.step != nil {
		if f.step, err = w.failingStep(from, f.step); err != nil {
			return nil, err
		}
		v.Steps = append(v.Steps, *f.step)
	}
	return &v, nil
}

// statesBefore are a state and those before it, up to the start. Each state has the one that it was
// first reached from.
func statesBefore(s *search, at space.Ref) (states [][]byte, err error) {
	for state := (system.State{}); at != space.None; at = s.form.Parent(at) {
		s.form.Look(at, &state)
		states = append(states, s.Pack(nil, &state))
		if s.disk != nil {
			before, err := s.disk.statesBefore(at)
			return append(states, before...), err
		}
	}
	return states, nil
}

// stepBetween is the first step that leads from one state to another, or to one that differs from
// it in the names of alike nodes. It returns that one, too.
func (w *worker) stepBetween(from, to []byte) (found *system.Step, at []byte, err error) {
	err = w.stepFrom(from, func(s system.Step) (bool, error) {
		// Steps that fail lead to no state.
		if s.Outcome != nil && s.Outcome.Failure != "" {
			return false, nil
		}
		chosen, err := w.alike.choose(&w.Next)
		if err != nil || !bytes.Equal(w.Pack(nil, chosen), to) {
			return false, err
		}
		found, at = &s, w.Pack(nil, &w.Next)
		return true, nil
	})
	return found, at, err
}

// startOf is a state in which a run begins, and for which a state is visited.
func (w *worker) startOf(visited []byte) (start []byte, err error) {
	if w.alike == nil {
		return visited, nil
	}
	starts := w.starts
	defer func() { w.metFirst, w.starts = nil, starts }()
	w.metFirst = func(at space.Ref) error {
		w.form.Look(at, &w.Cur)
		if start == nil && bytes.Equal(w.Pack(nil, &w.Cur), visited) {
			start = w.Pack(nil, &w.Next)
		}
		return nil
	}
	return start, w.first()
}

// failingStep is a step from a state that fails like one from the state that was visited for it.
func (w *worker) failingStep(from []byte, like *system.Step) (found *system.Step, err error) {
	if w.alike == nil {
		return like, nil
	}
	// The state of the run has other names than the one that was visited, and so has its step. The
	// text may name a node, so any failure of such an event will do.
	err = w.stepFrom(from, func(s system.Step) (bool, error) {
		found = &s
		return s.Outcome != nil && s.Outcome.Failure != "" && s.Kind == like.Kind, nil
	})
	return found, err
}

// stepFrom visits the steps from a state until one is the right one.
func (w *worker) stepFrom(from []byte, isIt func(system.Step) (bool, error)) error {
	w.Unpack(&w.Cur, from)
	err := w.Expand(func(s system.Step) error {
		found, err := isIt(s)
		if found && err == nil {
			err = errEnded
		}
		return err
	})
	switch {
	case err == nil:
		return errors.New("a state is not reached from the one that is said to come before it")
	case errors.Is(err, errEnded):
		return nil
	}
	return err
}

// Walk walks through states one step after the other: for replays, and for people.
type Walk struct{ w *worker }

// NewWalk returns a Walk that stands nowhere.
func NewWalk(c Config) *Walk {
	// A walk has few states, so one shard is enough. Its runs are real ones, with all names.
	c.Workers, c.Alike = 1, nil
	s := &search{Config: &c, form: forms.NewBytes(&c.System, c.shards())}
	return &Walk{s.newWorker(0)}
}

// First returns the states in which a run may begin, in a fixed order. Failures of a start are not
// seen here: Search finds them.
func (k *Walk) First() ([][]byte, error) {
	if err := k.w.first(); err != nil && !errors.Is(err, errEnded) {
		return nil, err
	}
	var all [][]byte
	for _, at := range k.w.starts {
		k.w.form.Look(at, &k.w.Cur)
		all = append(all, k.w.Pack(nil, &k.w.Cur))
	}
	return all, nil
}

// Steps returns the steps from a state, and the states that they lead to.
func (k *Walk) Steps(state []byte) (steps []system.Step, states [][]byte, err error) {
	k.w.Unpack(&k.w.Cur, state)
	err = k.w.Expand(func(s system.Step) error {
		steps = append(steps, s)
		states = append(states, k.w.Pack(nil, &k.w.Next))
		return nil
	})
	return steps, states, err
}

// Look returns what a state is made of.
func (k *Walk) Look(state []byte) (locals []table.Local, messages []table.Message) {
	k.w.Unpack(&k.w.Cur, state)
	return slices.Clone(k.w.Cur.Locals), slices.Clone(k.w.Cur.Messages)
}

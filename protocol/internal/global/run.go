package global

import (
	"bytes"
	"errors"
	"slices"

	"github.com/tandem-mc/tandem/protocol/internal/space"
	"github.com/tandem-mc/tandem/protocol/internal/table"
)

// run finds the steps that lead to a finding. States know what they were reached from; which step
// it was is found by expanding that state once more.
func (w *worker) run(f *finding) (*Violation, error) {
	v := f.Violation
	if f.at == space.None {
		return &v, nil
	}
	var states [][]byte
	// Each state has the one that it was first reached from.
	for at := f.at; at != space.None; {
		w.form.look(at, &w.cur)
		states = append(states, w.config.pack(nil, &w.cur))
		at = w.form.Parent(at)
	}
	slices.Reverse(states)
	// The first state is not reached by a step.
	w.config.unpack(&w.cur, states[0])
	v.First, v.Start = slices.Clone(w.cur.locals), slices.Clone(states[0])
	for i := range states[1:] {
		step, err := w.stepBetween(states[i], states[i+1])
		if err != nil {
			return nil, err
		}
		v.Steps = append(v.Steps, *step)
	}
	if f.step != nil {
		v.Steps = append(v.Steps, *f.step)
	}
	return &v, nil
}

// stepBetween is the first step that leads from one state to another.
func (w *worker) stepBetween(from, to []byte) (*Step, error) {
	var found *Step
	w.config.unpack(&w.cur, from)
	err := w.expand(func(s Step) error {
		// Steps that fail lead to no state.
		if s.Outcome != nil && s.Outcome.Failure != "" || !bytes.Equal(w.config.pack(nil, &w.next), to) {
			return nil
		}
		found = &s
		return errEnded
	})
	if found == nil && err == nil {
		err = errors.New("a state is not reached from the one that is said to come before it")
	}
	if found != nil {
		err = nil
	}
	return found, err
}

// Walk walks through states one step after the other: for replays, and for people.
type Walk struct{ w *worker }

// NewWalk returns a Walk that stands nowhere.
func NewWalk(c Config) *Walk {
	// A walk has few states, so one shard is enough.
	c.Workers = 1
	s := &search{Config: &c, form: newByteForm(&c)}
	return &Walk{s.newWorker()}
}

// First returns the states in which a run may begin, in a fixed order. Failures of a start are not
// seen here: Search finds them.
func (k *Walk) First() ([][]byte, error) {
	if err := k.w.first(); err != nil && !errors.Is(err, errEnded) {
		return nil, err
	}
	var all [][]byte
	for _, at := range k.w.starts {
		k.w.form.look(at, &k.w.cur)
		all = append(all, k.w.config.pack(nil, &k.w.cur))
	}
	return all, nil
}

// Steps returns the steps from a state, and the states that they lead to.
func (k *Walk) Steps(state []byte) (steps []Step, states [][]byte, err error) {
	k.w.config.unpack(&k.w.cur, state)
	err = k.w.expand(func(s Step) error {
		steps = append(steps, s)
		states = append(states, k.w.config.pack(nil, &k.w.next))
		return nil
	})
	return steps, states, err
}

// Look returns what a state is made of.
func (k *Walk) Look(state []byte) (locals []table.Local, messages []table.Message) {
	k.w.config.unpack(&k.w.cur, state)
	return slices.Clone(k.w.cur.locals), slices.Clone(k.w.cur.messages)
}

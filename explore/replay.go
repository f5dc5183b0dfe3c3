package explore

import "slices"

// replay runs one execution, which begins with a prefix.
type replay struct {
	tally
	prefix []Action
	asked  bool
}

func newReplay(prefix []Action) *replay { return &replay{prefix: slices.Clone(prefix)} }

func (r *replay) Next() (Schedule, bool) {
	r.ask()
	if r.asked {
		return r.end()
	}
	r.asked = true
	return Schedule{Prefix: r.prefix}, true
}

func (r *replay) Report(e Execution) error {
	if err := r.take(e); err != nil {
		return err
	}
	return checkActions(r.prefix, e.Transitions)
}

func (r *replay) Verdict() Verdict {
	return r.verdict("one replayed schedule shows nothing about the others")
}

// checkActions reports the first transition that is not the prescribed action.
func checkActions(prefix []Action, transitions []Transition) error {
	for i, want := range prefix {
		if i >= len(transitions) {
			return &DivergenceError{Step: i, Want: want.String(), Got: "the end of the execution"}
		}
		if got := transitions[i].Action; got != want {
			return &DivergenceError{Step: i, Want: want.String(), Got: got.String()}
		}
	}
	return nil
}

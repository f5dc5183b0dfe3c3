package core

import "slices"

// replay runs one execution, which begins with a prefix.
type replay struct {
	Tally
	prefix []Action
	asked  bool
}

// NewReplay returns a search that runs one execution, which begins with a prefix.
func NewReplay(prefix []Action) *replay { return &replay{prefix: slices.Clone(prefix)} }

func (r *replay) Next() (Schedule, bool) {
	r.Expect()
	if r.asked {
		return r.End()
	}
	r.asked = true
	return Schedule{Prefix: r.prefix}, true
}

func (r *replay) Report(e Execution) error {
	if err := r.Count(e); err != nil {
		return err
	}
	return CheckActions(r.prefix, e.Transitions)
}

func (r *replay) Verdict() Verdict {
	return r.Conclude("one replayed schedule shows nothing about the others")
}

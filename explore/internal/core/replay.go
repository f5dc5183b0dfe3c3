package core

import "slices"

// replay runs one execution, which begins with a prefix.
type replay struct {
	Tally
	prefix []Action
	early  int
	asked  bool
}

// NewReplay returns a search that runs one execution, which begins with a prefix, and in which the
// clock may advance early so many times.
func NewReplay(prefix []Action, early int) *replay {
	return &replay{prefix: slices.Clone(prefix), early: early}
}

func (r *replay) Next() (Schedule, bool) {
	r.Expect()
	if r.asked {
		return r.End()
	}
	r.asked = true
	return Schedule{Prefix: r.prefix, EarlyTimers: r.early}, true
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

package explore

import (
	"fmt"
	"slices"

	"github.com/tandem-mc/tandem/explore/internal/codec"
)

// stateVersion is that of the format of Save. States of other versions are refused.
const stateVersion = 10

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
	e := &codec.Encoder{}
	e.Number(stateVersion)
	for _, within := range slices.Backward(s.bounds.Within) { // what is left to do depends on it
		e.Text(within)
	}
	s.saved.Save(e)
	if e.Ended {
		return nil, nil
	}
	s.naming.save(e)
	return e.Data, nil
}

// Resume has a search go on where the one was whose state Save returned. It must be new, and made
// with the same configuration; what it stops at may be different. Its first execution has to be of
// the same program: if it is not, Report returns a DivergenceError. The error is ErrNotSaveable or
// a *StateError; after it the search must not be used.
func (s *Search) Resume(state []byte) error {
	if s.saved == nil {
		return ErrNotSaveable
	}
	d := &codec.Decoder{Data: state}
	if version := d.Number(); d.Problem == "" && version != stateVersion {
		return &StateError{fmt.Sprintf("it is of version %d, and this program reads version "+
			"%d", version, stateVersion)}
	}
	for _, own := range slices.Backward(s.bounds.Within) {
		if within := d.Text(); within != own {
			d.Fail("it is that of a search for executions with %.40q, and this one is for %q", within, own)
		}
	}
	s.saved.Resume(d)
	s.naming.resume(d)
	if len(d.Data) > 0 {
		d.Fail("%d bytes follow its end", len(d.Data))
	}
	if d.Problem != "" {
		return &StateError{d.Problem}
	}
	return nil
}

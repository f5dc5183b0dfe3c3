package executor

import (
	"testing"

	"github.com/tandem-mc/tandem/sut"
)

// endsAt ends an execution at a state.
type endsAt int

func (n endsAt) Named(s sut.NamedState) bool { return s.Step >= int(n) }

// TestRecorder: an execution that is repeated gets the answers that it got, although nobody is
// asked again, and it shows if other states are named.
func TestRecorder(t *testing.T) {
	if s := (sut.Schedule{}); record(&s) != nil || repeat(&s) != nil || s.States != nil {
		t.Error("nobody is told of states, and they are recorded")
	}
	named := func(steps ...int) (list []sut.NamedState) {
		for _, step := range steps {
			list = append(list, sut.NamedState{Step: step})
		}
		return list
	}
	for _, c := range []struct {
		was, is []sut.NamedState
		problem string
	}{
		{named(1, 3, 9), named(1, 3, 9), ""},
		{named(1, 3), named(1, 3), ""},
		{named(1, 3, 9), named(1, 4, 9), "tandem.State names another state in transition 4"},
		{named(1, 3), named(1, 3, 5), "tandem.State names another state in transition 5"},
	} {
		s := sut.Schedule{Naming: sut.Naming{States: endsAt(9)}}
		record(&s)
		for _, n := range c.was {
			s.States.Named(n)
		}
		for range 2 { // a repetition can be repeated
			again := repeat(&s)
			for i, n := range c.is {
				want := i == len(c.was)-1 && c.was[i].Step >= 9
				if got := s.States.Named(n); got != want {
					t.Errorf("state %d of %v: ends: %v", i, c.was, got)
				}
			}
			if got := again.problem(&sut.Program{}); got != c.problem {
				t.Errorf("%v, then %v: %q", c.was, c.is, got)
			}
		}
	}
}

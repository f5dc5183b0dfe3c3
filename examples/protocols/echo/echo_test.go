package echo

import (
	"testing"

	"github.com/tandem-mc/tandem/protocol"
)

// TestModel: honest receivers deliver the same, if few enough others are Byzantine. The numbers are
// those of the search without a reduction.
func TestModel(t *testing.T) {
	for _, c := range []struct {
		Config
		states, depth int
		transitions   int64
	}{
		{Config{3, 0, 1, 1, true}, 769, 11, 2284},
		{Config{3, 0, 1, 1, false}, 2053, 15, 7168},
		{Config{2, 1, 0, 1, true}, 189, 12, 435},
		{Config{2, 1, 0, 1, false}, 442, 14, 1189},
		{Config{3, 1, 1, 1, true}, 111_505, 21, 608_789},
	} {
		r := protocol.Test(t, Model(c.Config), protocol.Options{})
		if r.States != c.states || r.Transitions != c.transitions || r.Depth != c.depth {
			t.Errorf("%+v: %v; want %d states, %d transitions, depth %d", c.Config, r, c.states,
				c.transitions, c.depth)
		}
	}
}

// TestTooManyTraitors: two Byzantine receivers of four are too many. The shortest run has one
// multicast, the arrival of two values at two traitors each and of one at each honest receiver,
// then enough echoes of both values, and two deliveries.
func TestTooManyTraitors(t *testing.T) {
	for quorums, steps := range map[bool]int{true: 1 + 6 + 2 + 2, false: 1 + 6 + 6 + 2} {
		r, err := protocol.Check(Model(Config{2, 1, 2, 1, quorums}), protocol.Options{})
		if err != nil || r.Violation == nil {
			t.Fatalf("%v, error %v; want a violation", r, err)
		}
		if r.Violation.What != "honest receivers deliver the same" || r.Violation.Steps != steps {
			t.Errorf("%v; want two values after %d steps\n%s", r, steps, r.Violation.Chart)
		}
	}
}

// TestEnough: any two sets of echoes have an honest receiver in common, if fewer than a third of
// the receivers are Byzantine; and the honest ones are enough.
func TestEnough(t *testing.T) {
	for n := 1; n < 20; n++ {
		traitors := (n - 1) / 3
		c := Config{HonestReceivers: n - traitors, ByzantineReceivers: traitors}
		if common := 2*c.enough() - n; common <= traitors || c.enough() > n-traitors {
			t.Errorf("%d receivers, %d of them Byzantine: %d echoes are enough", n, traitors, c.enough())
		}
	}
}

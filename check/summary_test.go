package check

import (
	"testing"

	"github.com/tandem-mc/tandem/sut"
)

// TestAssumedOfTime: a verdict says how far timers that fire early were looked at.
func TestAssumedOfTime(t *testing.T) {
	const last = "timers fire only when nothing else can go on"
	for _, test := range []struct {
		timers, early, cutOff int
		want                  string
	}{
		{0, 0, 0, last + "; --early-timers explores earlier ones"},
		{2, 9, 0, "timers fire early only among the first 2 advances of the clock"},
		{0, 30, 0, last + "; in 30 of 40 executions, a sample, some fire early"},
		{0, 30, 29, last + "; in 30 of 40 executions, a sample, some fire early, " +
			"and 29 of these were cut off"},
	} {
		o := Options{World: sut.Environment{EarlyTimers: test.timers}}
		if got := assumedOfTime(o, 40, test.early, test.cutOff); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}

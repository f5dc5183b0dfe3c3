package check

import (
	"testing"
	"time"

	"github.com/tandem-mc/tandem/check/internal/execution"
)

// TestLeftOf: a run that goes on has what earlier ones have left of the time. Where an execution
// that was ended has used up more, nothing is left: an execution gets its overtime all the same.
func TestLeftOf(t *testing.T) {
	for elapsed, want := range map[time.Duration]time.Duration{
		0: time.Minute, 20 * time.Second: 40 * time.Second, time.Minute: 0, 2 * time.Minute: 0,
	} {
		c := clock{resumed: execution.Counts{Elapsed: elapsed}}
		if got := c.leftOf(time.Minute); got != want {
			t.Errorf("%v are over: %v left, want %v", elapsed, got, want)
		}
	}
}

package check

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tandem-mc/tandem/check/internal/execution"
)

// clock says how long a check has taken, before it was resumed included.
type clock struct {
	started time.Time
	told    time.Time        // when Progress last was
	resumed execution.Counts // of the check before it was resumed
}

// startClock begins with the check. Progress is told for the first time after a while.
func startClock() clock { return clock{started: time.Now(), told: time.Now()} }

// elapsed is the time of this process and of those before it that the saved run counts.
func (c *clock) elapsed() time.Duration { return c.resumed.Elapsed + time.Since(c.started) }

// leftOf is how much of the time for a search is left when it begins. A run that goes on may have
// used up more than there is: an execution was under way when the time was over.
func (c *clock) leftOf(most time.Duration) time.Duration { return max(0, most-c.resumed.Elapsed) }

// isResumed reports whether the check goes on with a saved run. A saved run has taken some time in
// any case, so zero means that there was none.
func (c *clock) isResumed() bool { return c.resumed.Elapsed != 0 }

// isTimeToTell reports whether progress is to be told, and takes it as told.
func (c *clock) isTimeToTell(now time.Time) bool {
	if now.Sub(c.told) < progressInterval {
		return false
	}
	c.told = now
	return true
}

// overtime is how long an execution may go on when the time of the search is over. One execution
// takes milliseconds in most checks. It can take minutes where it waits for timers of peers that
// have the machine's clock.
const overtime = 5 * time.Second

// errOutOfTime is why a run is ended whose search does not come to its end in time.
var errOutOfTime = errors.New("the time is over: give the search more with --time")

// whyInterrupted is the reason of a verdict when the context of a run has ended. Most is the time
// that the run was given.
func whyInterrupted(run context.Context, most time.Duration) string {
	if errors.Is(context.Cause(run), errOutOfTime) {
		return fmt.Sprintf("the time of %v is over, in the middle of an execution", most)
	}
	return "it was interrupted"
}

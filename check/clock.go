package check

import (
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

package wire

import "time"

// MarginOf is how much earlier than the checker the daemon gives up.
func MarginOf(patience time.Duration) time.Duration { return min(patience/4, 3*time.Second) }

// Deadline is how long a request may take.
func Deadline(r Request) time.Duration {
	if r.TimeoutMillis > 0 {
		return min(DefaultTimeout, time.Duration(r.TimeoutMillis)*time.Millisecond)
	}
	return DefaultTimeout
}

package wire

import "time"

// MarginOf is how much earlier than the checker the daemon gives up. The daemon knows more than the
// client about what takes so long, and has this much time to say it.
func MarginOf(patience time.Duration) time.Duration { return min(patience/4, 3*time.Second) }

// Deadline is how long a request may take. A client cannot have more than there is for anybody.
func Deadline(r Request) time.Duration {
	if r.TimeoutMillis > 0 {
		return min(DefaultTimeout, time.Duration(r.TimeoutMillis)*time.Millisecond)
	}
	return DefaultTimeout
}

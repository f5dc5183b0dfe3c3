package wire

import "time"

// Limits are how much each client of a shared daemon may have.
type Limits struct {
	MaxBytes  int64 // as in Options
	MaxImages int
}

// DefaultTimeout is how long a request may take where the checker does not say.
const DefaultTimeout = 60 * time.Second

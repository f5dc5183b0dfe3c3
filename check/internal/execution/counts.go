package execution

import (
	"time"

	"github.com/tandem-mc/tandem/check/internal/driver"
)

// PeerCounts says how much work with the peers was done.
type PeerCounts = driver.Counts

// Counts says how much work was done beside the search itself.
// Elapsed is real time, of all processes that have worked at the check.
type Counts struct {
	PeerCounts
	SelfChecked int // executions that were run twice more, and were the same
	Audits      int // executions with random orders of the requests, to audit scope connection
	Compared    int // answers of the peers in them that were known
	Ahead       int // executions that were under way before the search asked for them
	InVain      int // executions that it then did not ask for
	Early       int // executions in which timers could fire although goroutines could go on
	EarlyCutOff int // of them, that were cut off
	Elapsed     time.Duration
}

// Add adds what an execution has counted.
// The remaining fields are those of the search, which counts them itself.
func (c *Counts) Add(other Counts) {
	c.PeerCounts.Add(other.PeerCounts)
	c.Audits += other.Audits
	c.Compared += other.Compared
	c.Early += other.Early
	c.EarlyCutOff += other.EarlyCutOff
}

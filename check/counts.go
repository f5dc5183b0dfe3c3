package check

import (
	"time"

	"github.com/tandem-mc/tandem/peers/watch"
)

// Counts says how much work was done beside the search itself.
type Counts struct {
	Hits, Misses   int // inputs that the cache answered, or could not
	Checkpoints    int
	InMemory       int // of the checkpoints: those that CRIU was not needed for
	Unstored       int // checkpoints that could not be kept
	MadeRoom       int // checkpoints that were dropped for others
	Skipped        int // checkpoints that were not tried, since something waited that they cannot hold
	Disturbed      int // how often a timer of the peers ended too early, and they were brought back and given an input again
	Killed         int // how often the peers were lost, as if they had been killed, and brought back
	Restores       int
	Restarts       int // of the peers, from nothing
	Replayed       int // inputs given again after a restore or restart
	Waits, Cuts    int // for the peers to be quiescent; looks at all of their threads that it took
	ReadInputs     int // inputs after which the peers have read the time or random numbers
	ImageBytes     int64
	CheckpointTime time.Duration
	RestoreTime    time.Duration
	CutTime        time.Duration
	SelfChecked    int // executions that were run twice more, and were the same
	Audits         int // executions with random orders of the requests, to audit scope connection
	Compared       int // answers of the peers in them that were known
	Ahead          int // executions that were under way before the search asked for them
	InVain         int // executions that it then did not ask for
	Elapsed        time.Duration
}

// note adds what it has taken to find the peers quiescent.
func (c *Counts) note(e watch.Effort) {
	c.Waits += e.Waits
	c.Cuts += e.Cuts
	c.CutTime += e.Time
}

// add adds what an execution has counted.
func (c *Counts) add(other Counts) {
	c.Hits += other.Hits
	c.Misses += other.Misses
	c.Checkpoints += other.Checkpoints
	c.InMemory += other.InMemory
	c.Unstored += other.Unstored
	c.Skipped += other.Skipped
	c.MadeRoom += other.MadeRoom
	c.Killed += other.Killed
	c.Disturbed += other.Disturbed
	c.Restores += other.Restores
	c.Restarts += other.Restarts
	c.Replayed += other.Replayed
	c.ReadInputs += other.ReadInputs
	c.ImageBytes += other.ImageBytes
	c.CheckpointTime += other.CheckpointTime
	c.RestoreTime += other.RestoreTime
	c.Waits += other.Waits
	c.Cuts += other.Cuts
	c.CutTime += other.CutTime
	c.Audits += other.Audits
	c.Compared += other.Compared
}

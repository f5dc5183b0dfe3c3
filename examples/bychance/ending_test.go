package bychance_test

import "bytes"

// ending is how a run of a program ends.
type ending int

const (
	ends   ending = iota // with exit code 0
	races                // the race detector has reported something, however the run went on
	panics               // so that the runtime has ended it
	// The runtime says so. It does not where there is C in the program, as the race detector is:
	// then a deadlock hangs.
	deadlock
	hangs // it had to be ended
	fails // in another way
)

// endings says how often a program has run, and how often each of the endings was seen.
type endings struct {
	Runs      int `json:"runs"`
	Races     int `json:"races"`
	Panics    int `json:"panics"`
	Deadlocks int `json:"deadlocks"`
	Hangs     int `json:"hangs"`
	Fails     int `json:"fails"`
}

func (c *endings) add(e ending) {
	c.Runs++
	switch e {
	case races:
		c.Races++
	case panics:
		c.Panics++
	case deadlock:
		c.Deadlocks++
	case hangs:
		c.Hangs++
	case fails:
		c.Fails++
	}
}

// endingOf is told by the exit code and the output. The race detector has an exit code of its own,
// but a program that ends by itself, or by a panic, may have had a race before. Maps that are
// written at the same time are a data race, too, that the runtime itself may see first.
func endingOf(code int, output []byte) ending {
	switch {
	case bytes.Contains(output, []byte("WARNING: DATA RACE")),
		bytes.Contains(output, []byte("fatal error: concurrent map")):
		return races
	case code == 0:
		return ends
	case bytes.Contains(output, []byte("fatal error: all goroutines are asleep - deadlock!")):
		return deadlock
	case bytes.Contains(output, []byte("panic: ")), bytes.Contains(output, []byte("fatal error: ")):
		return panics
	}
	return fails
}

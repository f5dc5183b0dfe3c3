// Package strategy decides after which inputs a physical checkpoint of the peer
// group is taken. Everywhere else the place in the cache is a logical checkpoint,
// which costs nothing, and is reached by replaying inputs from the nearest
// physical one. A strategy changes what a search costs, never what it finds.
//
// After an ND notification every strategy but never takes one.
//
// Strategies are pure: they hold no state and may be used concurrently.
package strategy

import (
	"fmt"
	"time"
)

// Strategy decides whether to take a physical checkpoint.
type Strategy interface {
	// Checkpoint is asked when the peers have been started, after each input that reached them for
	// the first time, and when they were brought back by giving inputs again, before the search
	// goes on there. They are quiescent. True asks for a physical checkpoint of the state after the
	// step.
	Checkpoint(Step) bool
}

// Step describes one input to the peer group and where it happened.
type Step struct {
	Kind          Kind
	ResponseBytes int // what the peers sent until they were quiescent, in bytes
	// Answered says that they did something that the program can notice: sent something, ended,
	// broke, refused or opened a connection, or ended.
	Answered      bool
	Depth         int // inputs since the peers were started, this one included
	SincePhysical int // inputs since the nearest physical checkpoint, this one included
	// Reads counts the calls by which the peers have read the time or random numbers since
	// the input (ND notifications): given the input again, they may do something else.
	Reads int
	// Uninstrumented says that there is a peer of which nobody knows what it has read.
	Uninstrumented bool
	// What was measured so far. Replay is how long it takes to give the inputs since the nearest
	// physical checkpoint again, or after a Start, to start the peers; Cost how long it takes to
	// take one, as far as that is known.
	Replay, Cost time.Duration
	Inputs       int // that the peers were given for the first time, this one included
	Returns      int // how often the peers had to be taken back
	Images       int // physical checkpoints that there are
	// Forecast is, for a Return, how many more executions the search expects to go through there.
	Forecast float64
}

// mustSave says that the peers may do something else when they are started or given the input
// again.
func (s Step) mustSave() bool { return s.Reads > 0 || s.Uninstrumented }

// Kind is the kind of an input.
type Kind uint8

// The kinds of input.
const (
	Connect  Kind = iota // the SUT opened a connection
	Send                 // the SUT sent bytes
	Shutdown             // the SUT closed its sending half of a connection
	Close                // the SUT closed a connection
	Pass                 // the peers' time passed until a timer of theirs was due
	Start                // no input: the peers were started
	// no input: they were brought back by giving inputs again, to where the search goes on
	Return
	kinds // their number
)

var kindNames = [kinds]string{Connect: "connect", Send: "send", Shutdown: "shutdown", Close: "close",
	Pass: "pass", Start: "start", Return: "return"}

func (k Kind) String() string {
	if k >= kinds {
		return fmt.Sprintf("kind %d", uint8(k))
	}
	return kindNames[k]
}

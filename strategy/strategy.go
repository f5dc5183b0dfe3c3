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
	"strings"
)

// Strategy decides whether to take a physical checkpoint.
type Strategy interface {
	// Checkpoint is asked after each input that reached the peers, when they are
	// quiescent. True asks for a physical checkpoint of the state after the step.
	Checkpoint(Step) bool
}

// Step describes one input to the peer group and where it happened.
type Step struct {
	Kind          Kind
	ResponseBytes int // what the peers sent until they were quiescent, in bytes
	Depth         int // inputs since the peers were started, this one included
	SincePhysical int // inputs since the nearest physical checkpoint, this one included
	// Reads counts the calls by which the peers have read the time or random numbers since
	// the input (ND notifications): given the input again, they may do something else.
	Reads int
	// Blind says that there is a peer of which nobody knows what it has read.
	Blind bool
}

// Kind is the kind of an input.
type Kind uint8

// The kinds of input.
const (
	Connect  Kind = iota // the SUT opened a connection
	Send                 // the SUT sent bytes
	Shutdown             // the SUT closed its sending half of a connection
	Close                // the SUT closed a connection
	kinds                // their number
)

var kindNames = [kinds]string{Connect: "connect", Send: "send", Shutdown: "shutdown", Close: "close"}

func (k Kind) String() string {
	if k >= kinds {
		return fmt.Sprintf("kind %d", uint8(k))
	}
	return kindNames[k]
}

// named are the strategies in the order of how often they checkpoint.
var named = []struct {
	name     string
	strategy Strategy
}{
	{"never", Never{}},
	{"after-nd", AfterND{}},
	{"after-io", AfterIO{}},
	{"always", Always{}},
}

// Names returns the names that ByName knows.
func Names() []string {
	names := make([]string, len(named))
	for i := range named {
		names[i] = named[i].name
	}
	return names
}

// ByName returns the strategy of that name. The error lists the names there are.
func ByName(name string) (Strategy, error) {
	for i := range named {
		if named[i].name == name {
			return named[i].strategy, nil
		}
	}
	return nil, fmt.Errorf("there is no checkpoint strategy %q: choose one of %s", name, strings.Join(Names(), ", "))
}

// Package pick says how executions of several programs are picked at random.
//
// Which way finds a violation soonest depends on the program, and nobody knows it before. So each
// node has one of several ways in an execution, and another one in the next.
package pick

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/tandem-mc/tandem/sut"
)

// Walks says that executions of all nodes together are picked at random, and how.
type Walks struct {
	Seed uint64 // equal seeds give equal walks
	// Picks are the ways in which goroutines of a node are picked, one of which a node has in a
	// walk.
	Picks []Pick
	// Beside says that they are made in turns with an exploration (package portfolio).
	Beside bool
}

// Pick is a way to pick goroutines at random.
type Pick uint8

// The ways to pick.
const (
	Uniformly Pick = iota
	// ByPriority is by random priorities of goroutines, which change a few times (Burckhardt,
	// Kothari, Musuvathi, Nagarakatte: A Randomized Scheduler with Probabilistic Guarantees of
	// Finding Bugs, ASPLOS 2010).
	ByPriority
	// ByOperation is by random priorities of pending operations (Yuan, Yang, Gu: Partial Order
	// Aware Concurrency Sampling, CAV 2018).
	ByOperation
)

// mostChanges is how often priorities of goroutines change in an execution.
const mostChanges = 3

// Schedule has the goroutines of a node be picked at random in its next execution, and gives it
// random numbers of its own. Length is the longest one so far, in transitions.
func (w *Walks) Schedule(random *rand.Rand, length int) sut.Schedule {
	s := sut.Schedule{Seed: random.Uint64() | 1, Beginning: sut.Beginning{Draws: random.Uint64()}}
	// What suits one program is not what suits another one, and nobody knows before.
	switch w.Picks[random.IntN(len(w.Picks))] {
	case ByPriority:
		s.Priorities = &sut.Priorities{}
		for range random.IntN(mostChanges + 1) {
			s.Priorities.Changes = append(s.Priorities.Changes, 1+random.IntN(max(length, 1)))
		}
	case ByOperation:
		s.PartialOrder = true
	}
	return s
}

// Asked is what a check asks for that decides whether there are walks, an exploration, or both.
type Asked struct {
	Delays *int // a bound, which only explorations have
	Peers  bool // real peers beside the nodes
	Pauses bool // nodes are paused, which only walks have
	// Choices: the peers have choices, which only walks have.
	Choices bool
}

// anyhow picks in all ways.
var anyhow = []Pick{Uniformly, ByPriority, ByOperation}

// Of are the walks that a search asks for, by its name; nil: it asks for none. By default there are
// walks beside an exploration, as far as that is possible: with a bound on delays there are none,
// and with real peers both would need these.
func Of(search string, seed uint64, asked Asked) (*Walks, error) {
	picks, isRandom := map[string][]Pick{"random": anyhow, "pct": {ByPriority}, "pos": {ByOperation}}[search]
	notExplored := asked.notExplored()
	switch {
	case isRandom && asked.Delays != nil:
		return nil, errors.New("delays are not counted in executions at random: leave out the bound on " +
			"delays, or --search")
	case isRandom:
		return &Walks{Seed: seed, Picks: picks}, nil
	case search != "" && search != "auto" && search != "dpor":
		return nil, fmt.Errorf("--search %s cannot be used together with nodes: choose auto, dpor, random, "+
			"pct or pos", search)
	case search == "auto" && asked.Delays == nil && (notExplored != nil || !asked.Peers):
		return &Walks{Seed: seed, Picks: anyhow, Beside: notExplored == nil}, nil
	}
	return nil, notExplored
}

// notExplored says what there is that explorations do not have; nil: nothing.
func (a Asked) notExplored() error {
	switch {
	case a.Pauses:
		return errors.New("nodes are only paused in executions at random: add --search random, or leave " +
			"pause out of faults")
	case a.Choices:
		return errors.New("peers with choices beside nodes are only run at random: add --search random, " +
			"or leave choices out")
	}
	return nil
}

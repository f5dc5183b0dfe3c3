// Package pick says how executions of several programs are picked at random.
//
// Which way finds a violation soonest depends on the program, and nobody knows it before. So each
// node has one of several ways in an execution, and another one in the next.
package pick

import (
	"errors"
	"fmt"
)

// Walks says that executions of all nodes together are picked at random, and how.
type Walks struct {
	Seed uint64 // equal seeds give equal walks
	// Picks are the ways in which goroutines of a node are picked, one of which a node has in a
	// walk.
	Picks []Pick
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

// Of are those that a search asks for, by its name; nil: it asks for none. A bound on delays is
// none that walks keep.
func Of(search string, seed uint64, delays *int) (*Walks, error) {
	switch search {
	case "", "auto", "dpor":
		return nil, nil
	case "random", "pct", "pos":
		if delays != nil {
			return nil, errors.New("delays are not counted in executions at random: leave out the bound on " +
				"delays, or --search")
		}
	}
	switch search {
	case "random":
		return &Walks{Seed: seed, Picks: []Pick{Uniformly, ByPriority, ByOperation}}, nil
	case "pct":
		return &Walks{Seed: seed, Picks: []Pick{ByPriority}}, nil
	case "pos":
		return &Walks{Seed: seed, Picks: []Pick{ByOperation}}, nil
	}
	return nil, fmt.Errorf("--search %s cannot be used together with nodes: choose auto, random, pct or pos",
		search)
}
